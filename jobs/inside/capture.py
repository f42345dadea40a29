"""Makes the diff of the tree that the agent left, with the tree id that proves it.

Content is converted as `git add` converts it under the attributes of the commit that was laid. What the diff
changes in a `.gitattributes` holds from the next round on, whose tree is laid under it. A file with the very
bytes that were laid is no change, even where `git add` would convert them anew.

Limits: never asks the agent's `.git`; refuses by size before git takes any content; leaves the tree alone
but for special files, which it removes.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, field
from itertools import chain
from typing import Iterable, Iterator

from .changes import Changes, list_changes
from .leftovers import Leftovers
from .order import Order
from .places import Places
from .sealed import Git, GitError
from .settings import unhide
from .walk import Survey, clear_special, survey

MOST_NAMED = 100
_ADD = ("update-index", "-z", "--add", "--remove", "--replace", "--stdin")
_FATAL = 128
# The flags under which a diff survived every hostile attribute and setting that was tried.
DIFF = (
    "diff", "--cached", "--raw", "-O/dev/null", "--binary", "--full-index", "--no-color", "--no-ext-diff",
    "--no-textconv", "--no-renames", "--src-prefix=a/", "--dst-prefix=b/", "--ignore-submodules=none",
    "--submodule=short", "-U3",
)  # fmt: skip


@dataclass
class Captured:
    """The report's `tree`; names are texts, a byte that is no UTF-8 is written in hexadecimal."""

    base_commit: str
    base_tree: str
    tree: str | None = None
    diff_bytes: int = 0
    diff_sha256: str = ""
    changed_paths: int = 0
    nested_repos: list[str] = field(default_factory=list)
    untracked: int = 0
    oversized: bool = False
    total_files: int = 0
    total_bytes: int = 0
    biggest: list[dict[str, object]] = field(default_factory=list)
    special: list[str] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)
    unencodable: list[str] = field(default_factory=list)
    """Files whose bytes are not in the encoding that the commit's attributes name."""


def capture(order: Order, places: Places, left: Leftovers, until: float) -> Captured:
    """Take the tree; without `tree` there is no diff, and the rest says why.

    Every process of the agent must have ended.

    Raises:
        GitError: git failed, or the time was over.
        WalkError: The tree cannot be looked at.
        ChildError: A special file cannot be removed.
    """
    git = Git(places.git, places.repo, until)
    repo = os.fsencode(places.repo)
    found = survey(repo, left)
    report = Captured(order.commit, "")
    report.special = names(found.special)
    report.unreadable = names(found.unreadable)
    clear_special(repo, found.special, places.user)
    if order.agent:
        unhide(git, places, order.agent.hidden)
    changes = list_changes(git, left, order.patch_files, order.commit)
    report.base_tree = changes.base_tree
    nested = set(_captured_nested(git, found)) | set(changes.nested)
    report.nested_repos = names(nested)
    report.unreadable += names(changes.refused)
    report.untracked = changes.untracked
    report.total_files, report.total_bytes = changes.total_files, changes.total_bytes
    report.changed_paths = changes.total_files
    report.biggest = [{"path": show(path), "size_bytes": size} for size, path in changes.biggest]
    report.oversized = changes.total_files > order.patch_files or changes.total_bytes > order.patch_bytes
    if report.oversized or nested or report.unreadable:
        return report
    _take(git, changes, report, os.path.join(places.out, "diff.patch"), order.patch_bytes)
    return report


def _take(git: Git, changes: Changes, report: Captured, target: str, cap_bytes: int) -> None:
    report.unencodable = names(_update(git, changes))
    if report.unencodable:
        return
    tree = git.run("write-tree").decode("ascii").strip()
    if not _write_diff(git, report, target, cap_bytes):
        report.oversized = True
        return
    report.tree = tree


def _update(git: Git, changes: Changes) -> list[bytes]:
    """Bring the index to the work tree; the files at which git gave up, where their encoding is to blame."""
    if changes.removed:
        try:
            git.feed(*_ADD, records=changes.removed + changes.written)
        except GitError as error:
            if error.code != _FATAL:
                raise
            # Git looks for each, and at none beyond a link: a folder may have become one.
            git.feed("update-index", "-z", "--force-remove", "--stdin", records=changes.removed)
        else:
            return []
    return _add(git, changes.written) if changes.written else []


def _add(git: Git, paths: list[bytes]) -> list[bytes]:
    """Take these files into the index; the same of them."""
    try:
        git.feed(*_ADD, records=paths)
    except GitError as error:
        if error.code != _FATAL or not git.converts:
            raise
        refused = _refused(git, paths)
        if not refused:
            raise
        return refused
    return []


def _refused(git: Git, paths: list[bytes]) -> list[bytes]:
    """Git names one file, in a sentence; each that has an encoding is tried by itself."""
    fields = git.feed("check-attr", "-z", "--stdin", "working-tree-encoding", records=paths).split(b"\0")
    refused: list[bytes] = []
    for path, value in zip(fields[0::3], fields[2::3]):  # noqa: B905 - no `strict` on Python 3.9
        if value != b"unspecified" and len(refused) < MOST_NAMED:
            try:
                git.feed(*_ADD, records=[path])
            except GitError as error:
                if error.code != _FATAL:
                    raise
                # What cannot be kept unconverted either is not its encoding's fault.
                git.run("hash-object", "-w", "--no-filters", "--", os.fsdecode(path))
                refused.append(path)
    return refused


def _write_diff(git: Git, report: Captured, target: str, cap_bytes: int) -> bool:
    digest, size = hashlib.sha256(), 0
    chunks = git.stream(*DIFF, report.base_tree)
    with open(target, "wb") as file:
        report.changed_paths, rest = _count_raw(chunks)
        for chunk in chain([rest], chunks):
            size += len(chunk)
            if size > cap_bytes:
                break
            digest.update(chunk)
            file.write(chunk)
    if size > cap_bytes:
        os.unlink(target)
        return False
    report.diff_bytes, report.diff_sha256 = size, digest.hexdigest()
    return True


def _count_raw(chunks: Iterator[bytes]) -> tuple[int, bytes]:
    """How many lines, a path each, go before the diff; and what of the diff came with them."""
    head = b""
    for chunk in chunks:
        head += chunk
        if b"\n\n" in head:
            break
    lines, _, rest = head.partition(b"\n\n")
    return (lines.count(b"\n") + 1 if lines else 0), rest


def _captured_nested(git: Git, found: Survey) -> list[bytes]:
    """Those that no ignore rule keeps out of the capture anyway."""
    if not found.nested:
        return []
    records = [b"./" + path for path in found.nested]
    try:
        ignored = git.feed("check-ignore", "-z", "--stdin", records=records, ok=(0, 1)).split(b"\0")
    except GitError:
        return found.nested
    return [path for path in found.nested if b"./" + path not in ignored]


def show(path: bytes) -> str:
    """A path as a text that every JSON reader takes."""
    return path.decode("utf-8", "backslashreplace")


def names(paths: Iterable[bytes]) -> list[str]:
    """The first hundred, sorted; the top is `.`."""
    return [show(path) or "." for path in sorted(paths)[:MOST_NAMED]]
