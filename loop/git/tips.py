"""The two tips of the default branch: the checkout's and the remote's.

Limits: only under the repository's lock.
"""

import contextlib
import time
from dataclasses import dataclass
from pathlib import Path

from loop.git.checkout import Checkout, branch_tip
from loop.git.errors import (
    BranchMissingError,
    GitCommandError,
    LocalAheadError,
    RemoteMissingError,
    RemoteUnavailableError,
)
from loop.git.process import run_git
from loop.git.profiles import SEALED
from loop.git.reading import check_oid
from loop.git.settings import network_profile

LOCAL_REF = "refs/base/local"
REMOTE_REF = "refs/base/remote"
NETWORK_TIMEOUT_S = 600
FETCH = (
    "fetch",
    "--quiet",
    "--no-tags",
    "--no-prune",
    "--no-write-fetch-head",
    "--no-recurse-submodules",
    "--no-auto-maintenance",
    "--refmap=",
)


@dataclass(frozen=True, slots=True)
class Tips:
    """Commits of the default branch; `remote` is none where no remote was asked."""

    branch: str
    local: str
    remote: str | None


def fetch_tips(git_dir: Path, checkout: Checkout, branch: str, remote: str | None) -> Tips:
    """Fetch both; see `Store.fetch_tips`."""
    local = fetch_local(git_dir, checkout, branch)
    return Tips(branch, local, None if remote is None else fetch_remote(git_dir, checkout, branch, remote))


def fetch_local(git_dir: Path, checkout: Checkout, branch: str) -> str:
    """Fetch the checkout's branch by its path; return its commit."""
    tip = branch_tip(checkout, branch)
    if tip is None:
        raise BranchMissingError(branch, str(checkout.root))
    # A fetch with nothing to bring takes five times as long as this look.
    if _read_ref(git_dir, LOCAL_REF) == tip:
        return tip
    refspec = f"+refs/heads/{branch}:{LOCAL_REF}"
    args = [*FETCH, str(checkout.common_dir), refspec]
    run_git(args, profile=SEALED, git_dir=git_dir, timeout_s=NETWORK_TIMEOUT_S)
    return _must_read_ref(git_dir, LOCAL_REF)


def fetch_remote(git_dir: Path, checkout: Checkout, branch: str, remote: str) -> str:
    """Fetch the remote's branch as the checkout is set up for it; return its commit."""
    end = run_git(
        [*FETCH, remote, f"+refs/heads/{branch}:{REMOTE_REF}"],
        profile=network_profile(checkout, remote),
        git_dir=git_dir,
        cwd=checkout.root,
        timeout_s=NETWORK_TIMEOUT_S,
        check=False,
    )
    if "couldn't find remote ref" in end.err:
        raise BranchMissingError(branch, f"the remote {remote!r}")
    if end.code != 0:
        raise RemoteUnavailableError(remote, end.err)
    return _must_read_ref(git_dir, REMOTE_REF)


def choose_base(git_dir: Path, checkout: Checkout, found: Tips, *, push: bool) -> str:
    """Pick one of the two; see `Store.choose_base`."""
    if not push:
        return found.local
    if found.remote is None:
        raise RemoteMissingError(None, checkout.root)
    if not is_ancestor(git_dir, found.local, found.remote):
        raise LocalAheadError(found.branch, diverged=not is_ancestor(git_dir, found.remote, found.local))
    return found.remote


def is_ancestor(git_dir: Path, ancestor: str, commit: str) -> bool:
    """Whether `commit` is, or descends from, `ancestor`."""
    if check_oid(ancestor) == check_oid(commit):
        return True
    args = ["merge-base", "--is-ancestor", ancestor, commit]
    end = run_git(args, profile=SEALED, git_dir=git_dir, check=False)
    if end.code > 1:
        raise GitCommandError("merge-base", end.code, end.err)
    return end.code == 0


def remove_stale_locks(git_dir: Path, age_s: float) -> None:
    """Remove ref locks that a killed git left: they would refuse every later fetch.

    No lock on a ref is held for longer than one write, and only we write here.
    """
    for lock in (*git_dir.glob("*.lock"), *(git_dir / "refs").rglob("*.lock")):
        with contextlib.suppress(FileNotFoundError):
            if time.time() - lock.stat().st_mtime > age_s:
                lock.unlink()


def _read_ref(git_dir: Path, ref: str) -> str | None:
    end = run_git(["rev-parse", "--verify", "--quiet", ref], profile=SEALED, git_dir=git_dir, check=False)
    return end.out.decode().strip() if end.code == 0 else None


def _must_read_ref(git_dir: Path, ref: str) -> str:
    return run_git(["rev-parse", "--verify", ref], profile=SEALED, git_dir=git_dir).out.decode().strip()
