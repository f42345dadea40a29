"""Bring the person's local branch along to a commit, without losing a file of theirs.

The only module that writes to the person's repository. Its hooks never run and its configuration is
never changed.
"""

from pathlib import Path

from loop.git import tips
from loop.git.checkout import BRANCH, Checkout, branch_tip, symbolic_ref
from loop.git.paths import show_path, show_paths
from loop.git.process import GitEnd, run_git
from loop.git.profiles import CHECKOUT, SEALED

MERGE = (
    "merge",
    "--ff-only",
    "--quiet",
    "--no-stat",
    "--no-autostash",
    "--no-verify-signatures",
    # Git's default overwrites ignored files silently: a person's .env would be gone.
    "--no-overwrite-ignore",
)
MERGE_TIMEOUT_S = 600
MAX_TEXT = 300
REBASES = ("rebase-merge/head-name", "rebase-apply/head-name")


def bring_along(store_dir: Path, checkout: Checkout, *, branch: str, landing: str) -> str | None:
    """Fast-forward the local `branch` to `landing`, or say in one sentence why it stays where it is.

    Args:
        store_dir: Our repository, which holds `landing`.
        checkout: Where the branch is.
        branch: Its short name.
        landing: The commit; a branch that already holds it is left alone.
    """
    old = branch_tip(checkout, branch)
    if old is None:
        return f"there is no local branch {branch!r} any more"
    tips.fetch_local(store_dir, checkout, branch)
    if tips.is_ancestor(store_dir, landing, old):
        return None
    if not tips.is_ancestor(store_dir, old, landing):
        return f"the local branch {branch!r} has commits of its own: rebase it by hand"
    rebasing = _find_rebase(checkout, branch)
    if rebasing is not None:
        return f"a rebase of {branch!r} is under way in {rebasing}: finish or abort it"
    worktree = find_worktree(checkout, branch)
    if worktree is not None:
        return _fast_forward_files(store_dir, checkout, worktree, landing)
    return _fast_forward_ref(store_dir, checkout, branch, old=old, landing=landing)


def find_worktree(checkout: Checkout, branch: str) -> Path | None:
    """The working copy that has the branch checked out, of all that share this repository."""
    ref = BRANCH + branch
    if not checkout.is_bare and symbolic_ref(checkout, "HEAD") == ref:
        return checkout.root
    args = ["worktree", "list", "--porcelain", "-z"]
    out = run_git(args, profile=SEALED, git_dir=checkout.common_dir).out.decode("utf-8", "surrogateescape")
    for record in out.split("\0\0"):
        lines = record.split("\0")
        path = Path(lines[0].removeprefix("worktree "))
        if f"branch {ref}" in lines and path.is_dir():
            return path
    return None


def drop_refs(checkout: Checkout, prefix: str) -> int:
    """Remove refs of ours below `prefix` from the person's repository; return how many there were."""
    args = ["for-each-ref", "--format=%(refname)", prefix.rstrip("/")]
    names = run_git(args, profile=SEALED, git_dir=checkout.common_dir).out.splitlines()
    if names:
        feed = b"".join(b"delete %s\0\0" % name for name in names)
        run_git(["update-ref", "--stdin", "-z"], profile=SEALED, git_dir=checkout.common_dir, stdin=feed)
    return len(names)


def _find_rebase(checkout: Checkout, branch: str) -> Path | None:
    """The git folder of a rebase of this branch: git shows its HEAD as detached meanwhile."""
    for folder in (checkout.common_dir, *(checkout.common_dir / "worktrees").glob("*")):
        for name in REBASES:
            file = folder / name
            if file.is_file() and file.read_text(errors="replace").strip() == BRANCH + branch:
                return folder
    return None


def _fetch_landing(store_dir: Path, checkout: Checkout, landing: str) -> None:
    """Get the objects into the person's repository; no ref of theirs moves by it."""
    args = [*tips.FETCH, str(store_dir), landing]
    run_git(args, profile=SEALED, git_dir=checkout.common_dir, timeout_s=tips.NETWORK_TIMEOUT_S)


def _fast_forward_ref(
    store_dir: Path, checkout: Checkout, branch: str, *, old: str, landing: str
) -> str | None:
    _fetch_landing(store_dir, checkout, landing)
    args = ["update-ref", "-m", "factory: fast-forward", BRANCH + branch, landing, old]
    end = run_git(args, profile=SEALED, git_dir=checkout.common_dir, check=False)
    return None if end.code == 0 else f"the local branch {branch!r} could not be moved: {_one_line(end)}"


def _fast_forward_files(store_dir: Path, checkout: Checkout, worktree: Path, landing: str) -> str | None:
    _fetch_landing(store_dir, checkout, landing)
    args = [*MERGE, landing]
    end = run_git(args, profile=CHECKOUT, cwd=worktree, timeout_s=MERGE_TIMEOUT_S, check=False)
    if end.code == 0:
        return None
    in_the_way = tuple(line.strip() for line in end.err.splitlines() if line.startswith("\t"))
    where = show_path(str(worktree))
    if in_the_way:
        return f"files in {where} are in the way: commit, move or stash {show_paths(in_the_way)}"
    return f"the working copy in {where} could not be brought along: {_one_line(end)}"


def _one_line(end: GitEnd) -> str:
    return " ".join(end.err.split())[:MAX_TEXT] or f"exit code {end.code}"
