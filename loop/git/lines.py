"""Which lines of a file a difference touches, read from git's own text of it.

Pure: no I/O.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from loop.git.paths import show_path

HUNK = re.compile(rb"@@ -\d+(?:,\d+)? \+(\d+)(?:,(\d+))? @@")
SECTION = re.compile(rb"^diff --git ", re.MULTILINE)
"""A line of content begins with its sign, so that none can pass for the head of a section."""


@dataclass(frozen=True, slots=True)
class LineChange:
    """What changed in one path."""

    numbers: frozenset[int] = frozenset()
    """Lines of the new file, from 1: those added, and the neighbours of those removed."""
    texts: tuple[str, ...] = ()
    """Lines added and removed, without their sign; bytes that are no UTF-8 as escapes."""
    whole: bool = False
    """Any place in the path counts: it is new, gone, of another kind, or its lines cannot be told."""


WHOLE = LineChange(whole=True)


def split_sections(diff: bytes) -> tuple[bytes, ...]:
    """The parts of a difference, in its order; a path whose kind changed has two."""
    return tuple(b"diff --git " + part for part in SECTION.split(diff)[1:])


def parse_section(section: bytes, *, whole: bool = False) -> LineChange:
    """One path's difference, made without lines of context.

    A NUL makes all of it count: a file must not escape by looking binary.
    """
    if b"\0" in section:
        return WHOLE
    numbers: set[int] = set()
    texts: list[str] = []
    in_hunk = False
    for line in section.split(b"\n"):
        hunk = HUNK.match(line)
        if hunk:
            in_hunk = True
            numbers.update(_lines_of(int(hunk[1]), 1 if hunk[2] is None else int(hunk[2])))
        elif in_hunk and line[:1] in (b"+", b"-"):
            texts.append(line[1:].decode("utf-8", "backslashreplace"))
    return LineChange(frozenset(numbers), tuple(texts), whole or not in_hunk)


def _lines_of(start: int, count: int) -> range:
    """The lines of a hunk; where it only removes, git names the line before the gap."""
    return range(start, start + count) if count else range(max(1, start), start + 2)


def show_changes(changes: Mapping[str, LineChange]) -> tuple[str, ...]:
    """Each path with its lines, for a reader: `src/a.py, lines 3-7, 12`."""
    return tuple(
        f"{show_path(path)}, {'all of it' if change.whole else f'lines {_show(change.numbers)}'}"
        for path, change in changes.items()
    )


def _show(numbers: Collection[int]) -> str:
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)
