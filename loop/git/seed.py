"""Makes a repository with a bare `origin` out of a folder, for demos and canaries.

Limits: writes below the target only.
"""

import shutil
from pathlib import Path

from loop.git.process import run_git
from loop.git.profiles import SEALED

AUTHOR = ("-c", "user.name=factory demo", "-c", "user.email=demo@localhost")
IGNORED = shutil.ignore_patterns("__pycache__", "*.pyc", "build")


def seed_repository(source: Path, checkout: Path, origin: Path) -> None:
    """Copy `source` to `checkout`, commit it on `main`, push it to a new bare `origin`.

    Raises:
        FileExistsError: The checkout is there already.
        GitError: Git refused.
    """
    shutil.copytree(source, checkout, ignore=IGNORED)

    def git(*args: str) -> None:
        run_git([*AUTHOR, "-C", str(checkout), *args], profile=SEALED)

    run_git(["init", "--quiet", "--bare", "--initial-branch=main", str(origin)], profile=SEALED)
    git("init", "--quiet", "--initial-branch=main")
    git("add", "--all")
    git("commit", "--quiet", "--no-verify", "--message", "Write a package with a failing test")
    git("remote", "add", "origin", str(origin))
    git("push", "--quiet", "--no-verify", "--set-upstream", "origin", "main")
