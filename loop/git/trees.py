"""Make trees and commits in an index of ours: no work tree, no file of a diff on this disk.

Limits: writes objects and one ref of our repository; the index lives in a folder that is removed.
"""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from loop.git.author import commit_env, message_bytes
from loop.git.process import GitEnd, run_git
from loop.git.profiles import SEALED
from loop.git.reading import check_oid
from loop.git.store import Store

ALLOC_LIMIT_BYTES = 1024 * 1024 * 1024
"""What git may ask for in one piece: a few bytes of a binary patch can stand for many gigabytes."""


@dataclass(frozen=True, slots=True)
class Index:
    """A temporary index file in front of the store's objects."""

    store: Store
    file: Path

    def git(self, args: Sequence[str], *, stdin: bytes = b"", check: bool = True) -> GitEnd:
        """Run git on this index."""
        env = {"GIT_INDEX_FILE": str(self.file), "GIT_ALLOC_LIMIT": str(ALLOC_LIMIT_BYTES)}
        return run_git(args, profile=SEALED, git_dir=self.store.path, stdin=stdin, env=env, check=check)

    def write_tree(self) -> str:
        """Write the index as a tree; return its id."""
        return self.git(["write-tree"]).out.decode().strip()


@contextmanager
def open_index(store: Store, treeish: str) -> Iterator[Index]:
    """An index filled with the tree of a commit, or with a tree."""
    with tempfile.TemporaryDirectory(prefix="factory-index-") as folder:
        index = Index(store, Path(folder) / "index")
        index.git(["read-tree", check_oid(treeish)])
        yield index


@dataclass(frozen=True, slots=True)
class Signature:
    """What a commit of ours says beside its tree: the same values give the same commit id."""

    message: str
    author: str
    when_utc: datetime

    def env(self) -> Mapping[str, str]:
        """The variables for `git commit-tree`."""
        return commit_env(self.author, self.when_utc)


def commit_tree(store: Store, *, tree: str, parent: str, signature: Signature, ref: str) -> str:
    """Commit a tree on one parent and keep it under `ref`; return the commit."""
    end = run_git(
        ["commit-tree", check_oid(tree), "-p", check_oid(parent)],
        profile=SEALED,
        git_dir=store.path,
        stdin=message_bytes(signature.message),
        env=signature.env(),
    )
    commit = end.out.decode().strip()
    store.set_ref(ref, commit)
    return commit
