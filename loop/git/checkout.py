"""Find the person's repository, its default branch and its remote.

Reads only. Discovery runs under the person's own configuration, so that their `safe.directory` decides.
"""

from dataclasses import dataclass
from pathlib import Path

from loop.git.errors import (
    BranchMissingError,
    CheckoutUnfitError,
    GitCommandError,
    NoRepositoryError,
    RemoteMissingError,
)
from loop.git.paths import split_paths
from loop.git.process import run_git
from loop.git.profiles import CHECKOUT, SEALED

BRANCH = "refs/heads/"
USUAL_BRANCHES = ("main", "master")


@dataclass(frozen=True, slots=True)
class Checkout:
    """The repository that a person works in; never written to but by the merge."""

    root: Path
    """The top of the working copy; a bare repository's own folder."""
    git_dir: Path
    """Of this working copy: a linked worktree has one of its own."""
    common_dir: Path
    """Where refs and objects are."""
    is_bare: bool


def find_checkout(start: Path) -> Checkout:
    """The repository that holds the folder or file `start`.

    Raises:
        CheckoutUnfitError: There is none, or git does not trust it; git's own words are in the text.
    """
    cwd = start if start.is_dir() else start.parent
    if not cwd.is_dir():
        raise CheckoutUnfitError(f"There is no folder {cwd}: name a file or folder of a git repository.")

    def ask(*args: str) -> list[str]:
        args = ("rev-parse", "--path-format=absolute", *args)
        out = run_git(args, profile=CHECKOUT, cwd=cwd).out.decode("utf-8", "surrogateescape")
        return out.removesuffix("\n").split("\n")

    try:
        bare, git_dir, common_dir = ask("--is-bare-repository", "--git-dir", "--git-common-dir")
        (root,) = [git_dir] if bare == "true" else ask("--show-toplevel")
    except GitCommandError as error:
        raise NoRepositoryError(cwd, error.err) from error
    except ValueError as error:
        raise CheckoutUnfitError(
            f"The repository at {str(cwd)!r} has a line break in its path: move it."
        ) from error
    return Checkout(Path(root), Path(git_dir), Path(common_dir), bare == "true")


def read_settings(checkout: Checkout) -> tuple[tuple[str, str], ...]:
    """The person's whole configuration as it holds in this repository: (key, value), in order of effect.

    Section and name of a key are lower case. It may hold tokens: never print it.
    """
    end = run_git(
        ["config", "--list", "--null"], profile=CHECKOUT, cwd=checkout.root, git_dir=checkout.git_dir
    )
    settings = []
    for entry in end.out.decode("utf-8", "surrogateescape").split("\0"):
        key, newline, value = entry.partition("\n")
        if key:
            settings.append((key, value if newline else "true"))
    return tuple(settings)


def default_remote(checkout: Checkout, configured: str | None) -> str | None:
    """The remote to fetch from and push to: the configured one, else `origin`, else the only one.

    Raises:
        RemoteMissingError: The configured remote is not there.
    """
    names = {
        key.removeprefix("remote.").removesuffix(".url")
        for key, _ in read_settings(checkout)
        if key.startswith("remote.") and key.endswith(".url")
    }
    if configured is not None:
        if configured not in names:
            raise RemoteMissingError(configured, checkout.root)
        return configured
    if "origin" in names:
        return "origin"
    return names.pop() if len(names) == 1 else None


def default_branch(checkout: Checkout, configured: str | None) -> str:
    """The branch that tasks land on: the configured one, else the remote's, `main` or `master`, else HEAD's.

    HEAD comes last: a person may start the loop from a working copy on any branch.

    Raises:
        BranchMissingError: The configured branch does not exist, or none can be told.
    """
    if configured is not None:
        if not has_branch(checkout, configured):
            raise BranchMissingError(configured, str(checkout.root))
        return configured
    remote = default_remote(checkout, None)
    prefix = f"refs/remotes/{remote}/"
    pointed = symbolic_ref(checkout, prefix + "HEAD") if remote else None
    head = (symbolic_ref(checkout, "HEAD") or "").removeprefix(BRANCH)
    candidates = [(pointed or "").removeprefix(prefix), *([head] if checkout.is_bare else [])]
    for name in (*candidates, *USUAL_BRANCHES, head):
        if name and has_branch(checkout, name):
            return name
    raise BranchMissingError(None, str(checkout.root))


def has_branch(checkout: Checkout, branch: str) -> bool:
    """Whether the person's repository has this local branch."""
    return branch_tip(checkout, branch) is not None


def branch_tip(checkout: Checkout, branch: str) -> str | None:
    """The commit of a local branch of the person's repository."""
    args = ["show-ref", "--verify", "--hash", BRANCH + branch]
    end = run_git(args, profile=SEALED, git_dir=checkout.common_dir, check=False)
    return end.out.decode().strip() if end.code == 0 else None


def symbolic_ref(checkout: Checkout, name: str) -> str | None:
    """What a symbolic ref such as HEAD points to; none where it is detached or absent."""
    end = run_git(["symbolic-ref", "-q", name], profile=SEALED, git_dir=checkout.git_dir, check=False)
    return end.out.decode("utf-8", "surrogateescape").removesuffix("\n") if end.code == 0 else None


def read_committed(checkout: Checkout, branch: str, path: str) -> bytes | None:
    """The bytes of a file as committed on a local branch; none where it is not."""
    args = ["cat-file", "blob", f"{BRANCH}{branch}:{path}"]
    end = run_git(args, profile=SEALED, git_dir=checkout.common_dir, check=False)
    return end.out if end.code == 0 else None


def committed_paths(checkout: Checkout, branch: str, folder: str) -> tuple[str, ...]:
    """The paths below a folder as committed on a local branch; empty where there is no such folder."""
    args = ["ls-tree", "-r", "-z", "--name-only", "--full-tree", f"{BRANCH}{branch}", "--", f"{folder}/"]
    end = run_git(args, profile=SEALED, git_dir=checkout.common_dir, check=False)
    return split_paths(end.out) if end.code == 0 else ()
