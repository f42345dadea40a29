"""Move the branch to exactly the commit that was gated: the remote's first, then the local one.

Limits: fast-forward only; may be called again after a crash at any point.
"""

import re
from dataclasses import dataclass

from loop.git import tips
from loop.git.checkout import Checkout
from loop.git.errors import GitError, GitTimeoutError, RemoteUnavailableError
from loop.git.process import GitEnd, run_git
from loop.git.reading import check_oid
from loop.git.settings import network_profile
from loop.git.store import Store
from loop.git.worktrees import bring_along

PUSH = ("push", "--porcelain", "--no-verify", "--no-signed", "--no-follow-tags", "--recurse-submodules=no")
MAX_TEXT = 2000
DENIED = re.compile(
    r"\bdenied\b|\bforbidden\b|not granted|not authori[sz]ed|authentication failed"
    r"|returned error: 40[13]\b|\bread[- ]only\b",
    re.IGNORECASE,
)
"""How servers say on the connection itself that one may read and not write."""


@dataclass(frozen=True, slots=True)
class Merged:
    """The branch holds the landing; each note is one sentence on what a person may still do."""

    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Moved:
    """The branch has other commits than the landing was made on; `tip` is in the store."""

    tip: str


@dataclass(frozen=True, slots=True)
class Refused:
    """The branch is, as far as we know, where it was; `text` is for a person."""

    text: str
    reached: bool = True
    """Whether the branch's side said no. If not, nobody answered: the same again may do."""


MergeEnd = Merged | Moved | Refused


def merge(
    store: Store, checkout: Checkout, *, landing: str, onto: str, branch: str, remote: str | None
) -> MergeEnd:
    """Fast-forward `branch` from `onto` to `landing`; found there already, it is merged.

    Args:
        store: Holds the landing.
        checkout: The person's repository.
        landing: The commit that was gated.
        onto: Its parent, which the branch should be at.
        branch: Short name, on the remote and locally.
        remote: Where to push; none: the local branch is all there is.

    Raises:
        BranchMissingError: The branch is gone; it is not made again.
    """
    check_oid(landing)
    if remote is None:
        return _merge_locally(store, checkout, landing=landing, onto=onto, branch=branch)
    try:
        problem = _land(store, checkout, landing=landing, onto=onto, branch=branch, remote=remote)
    except (RemoteUnavailableError, GitTimeoutError) as error:
        return Refused(str(error), reached=False)
    if problem is not None:
        return problem
    try:
        note = bring_along(store.path, checkout, branch=branch, landing=landing)
    except GitError as error:
        # It has landed: trouble with the working copy must not make it look as if it had not.
        note = f"the local branch stays behind ({error})"
    return Merged() if note is None else Merged((f"{remote} is up to date; {note}.",))


def _land(
    store: Store, checkout: Checkout, *, landing: str, onto: str, branch: str, remote: str
) -> Moved | Refused | None:
    """Push; none: the remote's branch holds the landing, by this push or by one before.

    The tip is looked at first: a push to a branch that was renamed away would make it anew.
    """
    tip = tips.fetch_remote(store.path, checkout, branch, remote)
    if store.is_ancestor(landing, tip):
        return None
    if tip != onto:
        return Moved(tip)
    end = _push(store, checkout, landing, branch, remote)
    if end.code == 0:
        return None
    tip = tips.fetch_remote(store.path, checkout, branch, remote)
    if store.is_ancestor(landing, tip):
        return None
    return Moved(tip) if tip != onto else _refusal(end)


def _merge_locally(store: Store, checkout: Checkout, *, landing: str, onto: str, branch: str) -> MergeEnd:
    tip = tips.fetch_local(store.path, checkout, branch)
    problem = None
    if not store.is_ancestor(landing, tip):
        if tip != onto:
            return Moved(tip)
        problem = bring_along(store.path, checkout, branch=branch, landing=landing)
    if problem is None:
        return Merged()
    tip = tips.fetch_local(store.path, checkout, branch)
    return Moved(tip) if tip != onto else Refused(f"{problem}.")


def _push(store: Store, checkout: Checkout, landing: str, branch: str, remote: str) -> GitEnd:
    return run_git(
        [*PUSH, remote, f"{landing}:refs/heads/{branch}"],
        profile=network_profile(checkout, remote),
        git_dir=store.path,
        cwd=checkout.root,
        timeout_s=tips.NETWORK_TIMEOUT_S,
        check=False,
    )


def _refusal(end: GitEnd) -> Refused:
    """What the remote said, and git's own line on the ref: `[remote rejected] (…)`.

    Without such a line the remote came to no word on the ref, but for a server that denies access.
    """
    lines = end.out.decode("utf-8", "backslashreplace").splitlines()
    rejected = [line.split("\t")[-1] for line in lines if line.startswith("!")]
    text = "\n".join([*rejected, end.err.strip()])[:MAX_TEXT]
    return Refused(text, reached=bool(rejected) or DENIED.search(end.err) is not None)
