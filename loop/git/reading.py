"""Read commits and the metadata of blobs from a repository of ours, as text, by GitPython.

Limits: our own bare repositories only; bytes and whole listings go through `loop.git.process`.
"""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from loop.git.errors import CommitMissingError
from loop.git.profiles import SEALED

if TYPE_CHECKING:
    from git import Repo

OID = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True, slots=True)
class CommitText:
    """What a commit says; `parents` in its order, may be empty."""

    commit: str
    tree: str
    parents: tuple[str, ...]
    message: str
    author: str
    """`Name <mail>`."""

    @property
    def subject(self) -> str:
        """The first line of the message; empty where there is none."""
        return self.message.lstrip().partition("\n")[0].strip()


def check_oid(text: str) -> str:
    """The text, if it is a whole object id: anything else could be read as an option or a ref.

    Raises:
        CommitMissingError: It is none.
    """
    if OID.fullmatch(text) is None:
        raise CommitMissingError(text)
    return text


@lru_cache(maxsize=128)
def read_commit(git_dir: Path, commit: str) -> CommitText:
    """The commit with this id.

    Raises:
        CommitMissingError: There is none.
    """
    with _open(git_dir) as repo:
        try:
            found = repo.commit(check_oid(commit))
            message = (
                found.message if isinstance(found.message, str) else found.message.decode("utf-8", "replace")
            )
            return CommitText(
                commit=found.hexsha,
                tree=found.tree.hexsha,
                parents=tuple(parent.hexsha for parent in found.parents),
                message=message,
                author=f"{found.author.name} <{found.author.email}>",
            )
        except ValueError as error:
            raise CommitMissingError(commit) from error


@lru_cache(maxsize=128)
def read_blob_id(git_dir: Path, commit: str, path: str) -> str | None:
    """The id of the file (or link) at `path`; none where there is no such file.

    Raises:
        CommitMissingError: There is no such commit.
    """
    with _open(git_dir) as repo:
        try:
            tree = repo.commit(check_oid(commit)).tree
        except ValueError as error:
            raise CommitMissingError(commit) from error
        try:
            entry = tree.join(path)
        except KeyError:
            return None
        return entry.hexsha if entry.type == "blob" else None


@contextmanager
def _open(git_dir: Path) -> Iterator["Repo"]:
    """A GitPython repository whose helpers see ours, whatever the environment says."""
    # Importing it starts git, and fails where there is none: not before `require_git` could say so.
    from git import Repo  # noqa: PLC0415

    repo = Repo(git_dir, expand_vars=False)
    try:
        # It cannot unset a variable, so those that point elsewhere are set to what they should be.
        seen = SEALED.environment(os.environ)
        repo.git.update_environment(
            **{name: value for name, value in seen.items() if name.startswith("GIT_")},
            GIT_DIR=str(git_dir),
            GIT_COMMON_DIR=str(git_dir),
            GIT_OBJECT_DIRECTORY=str(git_dir / "objects"),
        )
        yield repo
    finally:
        repo.close()
