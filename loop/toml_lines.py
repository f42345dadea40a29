"""Where a key stands in a TOML text, which the standard parser does not tell.

Expects a text that `tomllib` accepts. Pure: no I/O.
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count

_PIECE = re.compile(
    r'"""(?:\\.|[^\\])*?"{3,5}'  # texts first: what looks like a key inside of one is none
    r"|'''.*?'{3,5}"
    r'|"(?:\\.|[^"\\\n])*"'
    r"|'[^'\n]*'"
    r"|\#[^\n]*"
    r"|[\[\]{}=\n]"
    r"|[^\[\]{}=\n\"'\#]+",
    re.DOTALL,
)
_OPENING, _CLOSING = {"[", "{"}, {"]", "}"}


@dataclass(frozen=True, slots=True)
class TomlLines:
    """The line of every table and of every key outside inline tables."""

    found: Mapping[tuple[str | int, ...], int]
    """A number in a path counts the tables of an array, from 0."""

    def of(self, *keys: str | int) -> int | None:
        """Return the line of a key path, else of the nearest table around it; none where neither stands."""
        for length in range(len(keys), 0, -1):
            if line := self.found.get(keys[:length]):
                return line
        return None


def locate(text: str) -> TomlLines:
    """Find every key; the first place counts, as with `[checks]` and `[checks.unit]`."""
    found: dict[tuple[str | int, ...], int] = {}
    table: tuple[str | int, ...] = ()
    head, depth, in_value, line = "", 0, False, 1
    for match in _PIECE.finditer(text + "\n"):
        piece = match[0]
        if in_value:
            depth += (piece in _OPENING) - (piece in _CLOSING)
            if piece == "\n" and depth <= 0:
                head, depth, in_value = "", 0, False
        elif piece == "=":
            _note(found, table + _key_path(head), line)
            in_value = True
        elif piece == "\n":
            if head.strip():
                table = _key_path(head.strip().lstrip("[").rstrip("]"))
                _note(found, table, line)
                if head.strip().startswith("[["):
                    table = (*table, next(n for n in count() if (*table, n) not in found))
                    _note(found, table, line)
            head = ""
        elif not piece.startswith("#"):
            head += piece
        line += piece.count("\n")
    return TomlLines(found)


def _note(found: dict[tuple[str | int, ...], int], path: tuple[str | int, ...], line: int) -> None:
    for length in range(1, len(path) + 1):
        found.setdefault(path[:length], line)


def _key_path(written: str) -> tuple[str, ...]:
    """Take a dotted key apart; the parser itself knows best about quotes and escapes."""
    inner: object = tomllib.loads(f"{written.strip()} = 0")
    path = []
    while isinstance(inner, dict):
        key, inner = next(iter(inner.items()))
        path.append(key)
    return tuple(path)
