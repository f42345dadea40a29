"""Makes bare repositories of ours, and lets one borrow what another holds.

Limits: runs git sealed; the folder's mode is the caller's.
"""

from pathlib import Path

from loop.git.process import run_git
from loop.git.profiles import SEALED

NO_BRANCH = "factory-none"
"""HEAD never names a branch that exists: newer git reads attributes of a bare repository from HEAD."""


def init_bare(path: Path, branch: str = NO_BRANCH, *options: str) -> None:
    """Make an empty one, whatever templates the machine has.

    Args:
        path: Of the repository; may be there as an empty folder.
        branch: What HEAD names.
        options: Further ones of `git init`.
    """
    args = ["init", "--quiet", "--bare", "--template=", *options, f"--initial-branch={branch}"]
    run_git([*args, "--object-format=sha1", str(path)], profile=SEALED)


def borrow_objects(path: Path, source: Path) -> None:
    """Let a repository read what another one's object folder, `source`, holds; it has to stay there."""
    file = path / "objects" / "info" / "alternates"
    file.parent.mkdir(exist_ok=True)
    file.write_text(f"{source}\n", "utf-8", "surrogateescape")
