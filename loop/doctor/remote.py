"""The remote that landings are pushed to: whether it answers, and how its branch stands to ours.

Limits: fetches into the examination's own store.
"""

from loop.doctor.finding import Finding, failed, note, ok, skipped
from loop.doctor.surroundings import Surroundings
from loop.git.errors import BranchMissingError, GitTimeoutError, RemoteMissingError, RemoteUnavailableError
from loop.git.process import run_git
from loop.git.settings import network_profile

ANSWER_S = 30
NO_PUSH = "[merge] push is off: the local branch is all there is"
UNREACHABLE = "see that `git fetch` works in the checkout without a question, or set [merge] push = false"


def look_at_remote(surroundings: Surroundings) -> Finding:
    """Whether it can be reached without a prompt, and both branches can be fast-forwarded."""
    if not surroundings.config.merge.push:
        return skipped(NO_PUSH)
    branch = surroundings.branch
    try:
        remote = surroundings.remote
    except RemoteMissingError as error:
        return failed(f"there is no remote {error.remote}", "add it, or change [repo] remote or [merge] push")
    if remote is None:
        return failed("[merge] push is on, but there is no remote", "add one, or set push = false")
    try:
        _must_answer(surroundings, remote)
        tip = surroundings.store.fetch_tips(branch, remote).remote
    except (RemoteUnavailableError, GitTimeoutError) as error:
        return failed(" ".join(str(error).split()), UNREACHABLE)
    except BranchMissingError:
        mend = f"`git push {remote} {branch}`, or set [repo] branch"
        return failed(f"{remote} answers, and has no branch {branch}", mend)
    assert tip is not None, "a remote was named"
    return _compared(surroundings, remote, tip)


def _must_answer(surroundings: Surroundings, remote: str) -> None:
    """Ask for nothing but the refs, so that a host that hangs is given up soon.

    Raises:
        RemoteUnavailableError, GitTimeoutError: It does not answer.
    """
    checkout = surroundings.checkout
    end = run_git(
        ["ls-remote", "--quiet", "--heads", remote, f"refs/heads/{surroundings.branch}"],
        profile=network_profile(checkout, remote),
        git_dir=surroundings.store.path,
        cwd=checkout.root,
        timeout_s=ANSWER_S,
        check=False,
    )
    if end.code != 0:
        raise RemoteUnavailableError(remote, end.err)


def _compared(surroundings: Surroundings, remote: str, tip: str) -> Finding:
    branch = surroundings.branch
    out = surroundings.store.git(["rev-list", "--left-right", "--count", f"{surroundings.tip}...{tip}"]).out
    ahead, behind = map(int, out.split())
    theirs = f"{remote}/{branch}"
    if ahead and behind:
        said = f"{branch} and {theirs} have diverged: {ahead} here, {behind} there"
        return failed(said, f"`git rebase {theirs}`, then push, or set [merge] push = false")
    if ahead:
        said = f"{branch} is {ahead} ahead of {theirs}"
        return failed(said, f"`git push {remote} {branch}`, or set [merge] push = false")
    if behind:
        said = f"{theirs} answers; {branch} is {behind} behind, and a run begins on theirs"
        return note(said, "`git pull`, so that the other checks look at that too")
    return ok(f"{theirs} answers; {branch} is in step")
