"""The lines of a unified diff, hunk by hunk, with the path and the number of each.

Pure: no I/O. Reads what git writes with `a/` and `b/` prefixes; what is no hunk of text is passed over.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from loop.git.paths import decode_path

_HUNK = re.compile(rb"@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_ESCAPE = re.compile(rb"\\([0-7]{3}|.)", re.DOTALL)
_LETTERS = {b"a": b"\a", b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v"}
_MINUS, _PLUS, _NOTE = b"-", b"+", b"\\"


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a hunk without its sign and line feed."""

    path: str
    """Of the new file; of a deleted one, its old path."""
    hunk: int
    """Which hunk of the diff it is in, from 1: lines of one stand together."""
    number: int
    """In the new file, from 1; of a removed line, where it would stand."""
    sign: bytes
    """`+`, `-` or a space."""
    content: bytes = field(repr=False)


def read_lines(diff: bytes) -> Iterator[Line]:
    """The lines of all hunks in the diff's order; binary parts have none.

    A hunk's length is taken from its head, so that no content can pass for the head of a file.
    """
    lines = _lines(diff)
    old = new = ""
    hunk = 0
    for line in lines:
        if line.startswith(b"diff --git "):
            old = new = ""
        elif line.startswith(b"--- "):
            old = _path(line[4:], b"a/")
        elif line.startswith(b"+++ "):
            new = _path(line[4:], b"b/")
        elif head := _HUNK.match(line):
            hunk += 1
            for number, sign, content in _hunk(lines, head):
                yield Line(new or old, hunk, number, sign, content)


def _lines(diff: bytes) -> Iterator[bytes]:
    """Lines one at a time: a list of all would need several times the diff's size."""
    start = 0
    while start < len(diff):
        end = diff.find(b"\n", start)
        end = len(diff) if end < 0 else end
        yield diff[start:end]
        start = end + 1


def _hunk(lines: Iterator[bytes], head: re.Match[bytes]) -> Iterator[tuple[int, bytes, bytes]]:
    """Number, sign and content of what a hunk holds; takes just its lines from `lines`."""
    old, number, new = (1 if part is None else int(part) for part in head.groups())
    while old > 0 or new > 0:
        line = next(lines, None)
        if line is None:
            return
        sign = line[:1] or b" "
        if sign == _NOTE:
            continue
        yield number, sign, line[1:]
        old -= sign != _PLUS
        new -= sign != _MINUS
        number += sign != _MINUS


def _path(name: bytes, prefix: bytes) -> str:
    """Read the name of a `---` or `+++` line; empty for `/dev/null`.

    Git ends a name that holds a space with a tab, and quotes one with odd bytes as C would.
    """
    name = name.removesuffix(b"\t")
    if len(name) > 1 and name.startswith(b'"') and name.endswith(b'"'):
        name = _ESCAPE.sub(_unescape, name[1:-1])
    return decode_path(name.removeprefix(prefix)) if name.startswith(prefix) else ""


def _unescape(match: re.Match[bytes]) -> bytes:
    code = match[1]
    return bytes([int(code, 8) & 0xFF]) if len(code) > 1 else _LETTERS.get(code, code)
