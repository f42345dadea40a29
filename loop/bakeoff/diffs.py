"""A candidate's diff as a file with its proof, and the commit rebuilt of it.

Limits: writes below the bake-off's folder; nothing of a diff is executed.
"""

import hashlib
from datetime import datetime
from pathlib import Path

from loop.atomic import write_atomic
from loop.bakeoff.plan import Saved
from loop.git.candidate import build_candidate
from loop.git.store import Store
from loop.home import make_private

FLAGS = (
    *("diff-tree", "-p", "-r", "-O/dev/null", "--binary", "--full-index", "--no-color", "--no-ext-diff"),
    *("--no-textconv", "--no-renames", "--src-prefix=a/", "--dst-prefix=b/"),
    *("--ignore-submodules=none", "--submodule=short", "-U3"),
)
"""As the capture in a job makes one, between two commits."""


def save_diff(folder: Path, name: str, store: Store, *, start: str, commit: str) -> Saved:
    """Write what `commit` changes against `start` to a file of the bake-off's folder."""
    data = store.git([*FLAGS, start, commit]).out
    path = folder / name
    make_private(path.parent)
    write_atomic(path, data)
    return Saved(path=name, sha256=hashlib.sha256(data).hexdigest(), tree=store.tree_of(commit))


def rebuild(
    folder: Path, saved: Saved, source: Store, *, start: str, author: str, when_utc: datetime, ref: str
) -> str:
    """The commit that the saved diff makes of its start, kept under `ref`.

    Raises:
        ChangeError: It is not the diff that was saved, or gives another tree.
        OSError: The file is gone.
    """
    made = build_candidate(
        source,
        base=start,
        start=start,
        diff=(folder / saved.path).read_bytes(),
        sha256=saved.sha256,
        tree=saved.tree,
        message="Rebuild a diff of a bake-off",
        author=author,
        when_utc=when_utc,
        ref=ref,
    )
    return made.commit
