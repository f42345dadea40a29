"""Lists what the tree has changed against the laid commit, with sizes, before git reads any content.

Limits: memory is bounded by the cap on files; reads content only where the commit's attributes convert it.
"""

from __future__ import annotations

import heapq
import os
import stat
from dataclasses import dataclass, field
from itertools import islice
from typing import Iterator, NamedTuple

from .aslaid import as_laid
from .leftovers import Leftovers
from .sealed import Git

BIGGEST = 3
_GITLINK = b"160000"
_GONE = b"000000"
_FILES = (b"100644", b"100755")
_AT_ONCE = 1000


@dataclass
class Changes:
    """Paths as bytes; `keep` bounds each of the lists, the totals count everything."""

    keep: int
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


def list_changes(git: Git, left: Leftovers, keep: int) -> Changes:
    """Compare the work tree with the capture's index.

    Raises:
        GitError: A command failed, or its time was over.
    """
    git.run("update-index", "-q", "--refresh", ok=(0, 1))
    changes = Changes(keep)
    _list_tracked(git, changes)
    _list_filled(git, changes)
    _list_new(git, left, changes)
    changes.biggest.sort(reverse=True)
    return changes


def touched_files(git: Git) -> Iterator[bytes]:
    """Tracked paths that are not as laid; any order."""
    git.run("update-index", "-q", "--refresh", ok=(0, 1))
    for file in _differing(git):
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


def _differing(git: Git) -> Iterator[_Tracked]:
    """Every tracked file that differs from what was laid."""
    files = _raw(git)
    if not git.converts:
        yield from files
        return
    while some := list(islice(files, _AT_ONCE)):
        alike = [file.path for file in some if file.old_mode == file.new_mode and file.old_mode in _FILES]
        laid = as_laid(git, alike) if alike else ()
        yield from (file for file in some if file.path not in laid)


def _raw(git: Git) -> Iterator[_Tracked]:
    """Every tracked file that differs by what git makes of it.

    `dirty`: asking whether a nested repository is dirty would run git on its own configuration.
    """
    records = git.records(
        "diff-files", "-z", "--raw", "--no-renames", "--abbrev=40", "--ignore-submodules=dirty"
    )
    for head in records:
        old_mode, new_mode, old_blob, _, _ = head.split(b" ")
        yield _Tracked(old_mode.lstrip(b":"), new_mode, old_blob, next(records))


def _list_tracked(git: Git, changes: Changes) -> None:
    grown: list[tuple[bytes, bytes, int]] = []
    for mode, new_mode, blob, path in _differing(git):
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
    sizes = _blob_sizes(git, [blob for _, blob, _ in grown])
    for (path, _, size), old_size in zip(grown, sizes):  # noqa: B905 - no `strict` on Python 3.9
        changes.add_written(path, size, max(0, size - old_size))


def _list_filled(git: Git, changes: Changes) -> None:
    """A submodule's folder with anything in it: without a repository there, git names those files nowhere."""
    for record in git.records("ls-files", "-z", "--stage"):
        if not record.startswith(_GITLINK):
            continue
        _, _, path = record.partition(b"\t")
        if _has_entries(git, path):
            changes.nested.append(path)


def _list_new(git: Git, left: Leftovers, changes: Changes) -> None:
    for path in git.records("ls-files", "-z", "--others", "--exclude-standard"):
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


def _blob_sizes(git: Git, blobs: list[bytes]) -> list[int]:
    if not blobs:
        return []
    file = os.memfd_create("blobs")
    try:
        with os.fdopen(os.dup(file), "wb") as writer:
            writer.writelines(blob + b"\n" for blob in blobs)
        os.lseek(file, 0, os.SEEK_SET)
        lines = git.run("cat-file", "--batch-check=%(objectsize)", stdin=file).splitlines()
    finally:
        os.close(file)
    return [int(line) if line.isdigit() else 0 for line in lines]
