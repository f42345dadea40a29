"""Lists what the tree has changed against the laid commit, with sizes, before git reads any content.

Limits: memory is bounded by the cap on files; reads content only where the commit's attributes convert it.
"""

from __future__ import annotations

import heapq
import os
import stat
from dataclasses import dataclass, field
from itertools import groupby, islice
from typing import Iterable, Iterator, NamedTuple

from .aslaid import as_laid
from .leftovers import Leftovers
from .sealed import Git, GitError

BIGGEST = 3
_GITLINK = b"160000"
_LINK_IN_INDEX = b"\0\0\xe0\0"
"""Its mode as git's index holds it; most trees have none, and need not be listed to know."""
_GONE = b"000000"
_FILES = (b"100644", b"100755")
_AT_ONCE = 1000
_NEW = b"?"
_SAME = ord(".")
# One look at every file: it finds what is the same for all that its time changed, and names what is not.
# `dirty`: asking whether a nested repository is dirty would run git on its own configuration.
_STATUS = ("status", "--porcelain=v2", "-z", "--no-renames", "--ignore-submodules=dirty")


@dataclass
class Changes:
    """Paths as bytes; `keep` bounds each of the lists, the totals count everything."""

    keep: int
    base_tree: str = ""
    """Of the commit as laid."""
    removed: list[bytes] = field(default_factory=list)
    written: list[bytes] = field(default_factory=list)
    """Tracked and new files whose content or mode is to be taken."""
    nested: list[bytes] = field(default_factory=list)
    refused: list[bytes] = field(default_factory=list)
    """Names that git takes into no tree."""
    untracked: int = 0
    total_files: int = 0
    total_bytes: int = 0
    """New files whole, tracked ones by how much they grew."""
    biggest: list[tuple[int, bytes]] = field(default_factory=list)
    """Largest first in the end, at most three."""

    def _add(self, names: list[bytes], path: bytes) -> None:
        self.total_files += 1
        if len(names) <= self.keep:
            names.append(path)

    def add_removed(self, path: bytes) -> None:
        """A tracked file that is gone."""
        self._add(self.removed, path)

    def add_written(self, path: bytes, size: int, grown: int) -> None:
        """A file or link to be taken."""
        self._add(self.written, path)
        self.total_bytes += grown
        heapq.heappush(self.biggest, (size, path))
        if len(self.biggest) > BIGGEST:
            heapq.heappop(self.biggest)


def list_changes(git: Git, left: Leftovers, keep: int, commit: str) -> Changes:
    """Compare the work tree with the capture's index, which holds the commit.

    Raises:
        GitError: A command failed, or its time was over.
    """
    changes = Changes(keep)
    grown: list[tuple[bytes, bytes, int]] = []
    records = git.records(*_STATUS, "--untracked-files=all")
    for kind, some in groupby(records, key=lambda record: record[:1]):
        if kind == _NEW:
            _list_new(git, left, some, changes)
        else:
            _list_tracked(git, some, changes, grown)
    changes.base_tree, sizes = _ask(git, commit, [blob for _, blob, _ in grown])
    for (path, _, size), old_size in zip(grown, sizes):  # noqa: B905 - no `strict` on Python 3.9
        changes.add_written(path, size, max(0, size - old_size))
    _list_filled(git, changes)
    changes.biggest.sort(reverse=True)
    return changes


def touched_files(git: Git) -> Iterator[bytes]:
    """Tracked paths that are not as laid; any order."""
    for file in _differing(git, git.records(*_STATUS, "--untracked-files=no")):
        yield file.path


def untracked_paths(git: Git) -> Iterator[bytes]:
    """Everything beside the commit, ignored or not; a folder without a tracked file ends in a slash."""
    return git.records("ls-files", "-z", "--others", "--directory")


class _Tracked(NamedTuple):
    """A tracked file that differs; the new mode is all zeros where it is gone."""

    old_mode: bytes
    new_mode: bytes
    old_blob: bytes
    path: bytes


def _differing(git: Git, records: Iterable[bytes]) -> Iterator[_Tracked]:
    """Every tracked file that differs from what was laid."""
    files = _parsed(records)
    if not git.converts:
        yield from files
        return
    while some := list(islice(files, _AT_ONCE)):
        alike = [file.path for file in some if file.old_mode == file.new_mode and file.old_mode in _FILES]
        laid = as_laid(git, alike) if alike else ()
        yield from (file for file in some if file.path not in laid)


def _parsed(records: Iterable[bytes]) -> Iterator[_Tracked]:
    """Every tracked file that differs from the index by what git makes of it."""
    for record in records:
        _, (_, state), _, _, old_mode, new_mode, _, old_blob, path = record.split(b" ", 8)
        if state != _SAME:
            yield _Tracked(old_mode, new_mode, old_blob, path)


def _list_tracked(
    git: Git, records: Iterable[bytes], changes: Changes, grown: list[tuple[bytes, bytes, int]]
) -> None:
    """Put what is to be taken into `grown`, as path, old blob and new size: the old one is asked later."""
    for mode, new_mode, blob, path in _differing(git, records):
        state = _state(git, path)
        if mode == _GITLINK:
            # An empty or absent folder is how a submodule looks here; anything else is a repository.
            if state and stat.S_ISDIR(state.st_mode):
                changes.nested.append(path)
            else:
                changes.add_removed(path)
        elif state is None or stat.S_ISDIR(state.st_mode) or new_mode == _GONE:
            # Git looks through no link: what lies behind one in the place of a folder is another file.
            changes.add_removed(path)
        elif len(grown) <= changes.keep:
            grown.append((path, blob, state.st_size))
        else:
            changes.add_written(path, state.st_size, 0)


def _list_filled(git: Git, changes: Changes) -> None:
    """A submodule's folder with anything in it: without a repository there, git names those files nowhere."""
    with open(os.path.join(git.git_dir, "index"), "rb") as file:
        if _LINK_IN_INDEX not in file.read():
            return
    for record in git.records("ls-files", "-z", "--stage"):
        if not record.startswith(_GITLINK):
            continue
        _, _, path = record.partition(b"\t")
        if _has_entries(git, path):
            changes.nested.append(path)


def _list_new(git: Git, left: Leftovers, records: Iterable[bytes], changes: Changes) -> None:
    for path in (record[2:] for record in records):
        # An in-tree rule such as `!*/` outweighs the ignore file, so the list is asked again.
        if left.covers(path.rstrip(b"/")):
            continue
        if path.endswith(b"/"):
            changes.nested.append(path.rstrip(b"/"))
            continue
        state = _state(git, path)
        if state is None:
            continue
        changes.untracked += 1
        if stat.S_ISLNK(state.st_mode) and path.lower().endswith(b".gitmodules"):
            changes.refused.append(path)
        else:
            changes.add_written(path, state.st_size, state.st_size)


def _state(git: Git, path: bytes) -> os.stat_result | None:
    try:
        return os.lstat(os.path.join(os.fsencode(git.work_tree), path))
    except (FileNotFoundError, NotADirectoryError):
        return None


def _has_entries(git: Git, path: bytes) -> bool:
    state = _state(git, path)
    if state is None or not stat.S_ISDIR(state.st_mode):
        return False
    with os.scandir(os.path.join(os.fsencode(git.work_tree), path)) as entries:
        return any(True for _ in entries)


def _ask(git: Git, commit: str, blobs: list[bytes]) -> tuple[str, list[int]]:
    """The commit's tree, and the blobs' sizes."""
    file = os.memfd_create("names")
    try:
        with os.fdopen(os.dup(file), "wb") as writer:
            writer.writelines(name + b"\n" for name in (commit.encode("ascii") + b"^{tree}", *blobs))
        os.lseek(file, 0, os.SEEK_SET)
        lines = git.run("cat-file", "--batch-check=%(objectname) %(objectsize)", stdin=file).splitlines()
    finally:
        os.close(file)
    (tree, size), *others = (line.split(b" ") for line in lines)
    if not size.isdigit():
        raise GitError("the commit has no tree")
    return tree.decode("ascii"), [int(size) if size.isdigit() else 0 for _, size in others]
