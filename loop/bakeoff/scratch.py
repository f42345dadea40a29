"""Scratch clones: a bake-off's own copy of the history, and a cell's clone with an origin of its own.

Limits: writes below the bake-off's folder only; nothing in it knows the real remote.
"""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from loop.atomic import PRIVATE_FOLDER
from loop.bakeoff.plan import Cell, Plan
from loop.git.bare import NO_BRANCH, borrow_objects, init_bare
from loop.git.checkout import BRANCH
from loop.git.process import run_git
from loop.git.profiles import SEALED
from loop.git.store import Store
from loop.git.tips import FETCH, NETWORK_TIMEOUT_S
from loop.git.trees import Signature, commit_tree, open_index
from loop.home import make_private

SOURCE = "source.git"
FILE_MODE = "100644"


def source_of(folder: Path) -> Store:
    """The bake-off's own repository: it holds what every cell begins on."""
    return Store.alone(folder / SOURCE)


def make_source(folder: Path, store: Store, commits: Mapping[str, str]) -> Store:
    """Make it of our copy of the person's repository.

    Args:
        folder: The bake-off's.
        store: Has the commits.
        commits: Full ref name to the commit that it keeps, with its history.
    """
    source = source_of(folder)
    _init(source.path, NO_BRANCH)
    refspecs = [f"{commit}:{ref}" for ref, commit in commits.items()]
    args = [*FETCH, str(store.path), *refspecs]
    run_git(args, profile=SEALED, git_dir=source.path, timeout_s=NETWORK_TIMEOUT_S)
    return source


def commit_files(
    source: Store, base: str, files: Mapping[str, bytes], *, author: str, ref: str, message: str
) -> str:
    """The base with some files replaced, as one commit kept under `ref`; the base where nothing differs.

    It bears the base's date, so that the same files always give the same commit.
    """
    files = {path: data for path, data in files.items() if source.read_blob(base, path) != data}
    if not files:
        source.set_ref(ref, base)
        return base
    with open_index(source, base) as index:
        for path, data in files.items():
            blob = source.git(["hash-object", "-w", "--stdin"], stdin=data).out.decode().strip()
            index.git(["update-index", "--add", "--cacheinfo", f"{FILE_MODE},{blob},{path}"])
        tree = index.write_tree()
    signature = Signature(message, author, commit_time(source, base))
    return commit_tree(source, tree=tree, parent=base, signature=signature, ref=ref)


def commit_time(store: Store, commit: str) -> datetime:
    """When it was made, by its committer."""
    return datetime.fromisoformat(store.git(["log", "-1", "--format=%cI", commit]).out.decode().strip())


@dataclass(frozen=True, slots=True)
class Scratch:
    """One cell's places."""

    folder: Path

    @property
    def clone(self) -> Path:
        """What the loop takes for the person's repository; bare, so that no file of it is ever executed."""
        return self.folder / "clone.git"

    @property
    def origin(self) -> Path:
        """What is pushed to, where the repo pushes."""
        return self.folder / "origin.git"

    @property
    def home(self) -> Path:
        """`$FACTORY_HOME` of the cell."""
        return self.folder / "home"


def open_scratch(folder: Path, plan: Plan, cell: Cell) -> Scratch:
    """The cell's clone, made where it is not there whole."""
    scratch = Scratch(make_private(folder / cell.folder))
    if not scratch.clone.exists():
        start = plan.starts[cell.subject][cell.variant]
        source = folder / SOURCE
        if plan.remote is not None:
            shutil.rmtree(scratch.origin, ignore_errors=True)
            _clone(source, scratch.origin, plan.branch, start)
        part = scratch.clone.with_suffix(".new")
        shutil.rmtree(part, ignore_errors=True)
        _clone(source, part, plan.branch, start)
        if plan.remote is not None:
            args = ["config", f"remote.{plan.remote}.url", str(scratch.origin)]
            run_git(args, profile=SEALED, git_dir=part)
        part.rename(scratch.clone)
    return scratch


def tidy(scratch: Scratch) -> None:
    """Take the clones away; records and diffs stay. May be called twice."""
    for path in (scratch.clone, scratch.origin, scratch.home / "repos"):
        shutil.rmtree(path, ignore_errors=True)


def _clone(source: Path, path: Path, branch: str, start: str) -> None:
    """A bare repository with one branch, which borrows the source's objects."""
    _init(path, branch)
    borrow_objects(path, source / "objects")
    run_git(["update-ref", f"{BRANCH}{branch}", start], profile=SEALED, git_dir=path)


def _init(path: Path, branch: str) -> None:
    path.mkdir(mode=PRIVATE_FOLDER)
    init_bare(path, branch)
