"""Finds the shell calls in what an agent prints, a JSON object a line.

Limits: pure; holds one line at a time, and passes by what is no JSON or longer than 8 MiB.
"""

from __future__ import annotations

import json
import re
from typing import Any, Iterator, Mapping

from .order import ShellCalls

MOST_LINE_BYTES = 8 << 20
_PLAIN = re.compile(r"[A-Za-z0-9_.:-]+")


class Calls:
    """Takes an agent's output in pieces of any length, and gives the commands of the whole lines."""

    def __init__(self, shape: ShellCalls) -> None:
        self._shape = shape
        texts = (*shape.line.values(), *shape.item.values())
        # No JSON writer escapes these: a line without them need not be read, and most are without.
        self._needles = [text.encode("ascii") for text in texts if _PLAIN.fullmatch(text)]
        self._pieces: list[bytes] = []
        self._size = 0

    def feed(self, data: bytes) -> list[str]:
        """The trimmed commands of the lines that end in this piece, in order."""
        *ends, rest = data.split(b"\n")
        commands: list[str] = []
        for end in ends:
            self._hold(end)
            if self._size <= MOST_LINE_BYTES:
                commands += self._read(b"".join(self._pieces))
            self._pieces, self._size = [], 0
        self._hold(rest)
        return commands

    def _hold(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._size > MOST_LINE_BYTES:
            self._pieces = []
        else:
            self._pieces.append(piece)

    def _read(self, line: bytes) -> Iterator[str]:
        if not all(needle in line for needle in self._needles):
            return
        try:
            # Numbers are not needed, and reading one of a million digits takes an older Python minutes.
            value = json.loads(line, parse_int=_nothing, parse_float=_nothing)
        except (ValueError, RecursionError):
            return
        if not _holds(value, self._shape.line):
            return
        items = [value] if self._shape.items is None else _dig(value, self._shape.items)
        for item in items if isinstance(items, list) else ():
            command = _dig(item, self._shape.command)
            if _holds(item, self._shape.item) and isinstance(command, str) and command.strip():
                yield command.strip()


def _holds(value: Any, texts: Mapping[str, str]) -> bool:  # noqa: ANN401 - a foreign payload
    return isinstance(value, dict) and all(_dig(value, path) == text for path, text in texts.items())


def _dig(value: Any, path: str) -> Any:  # noqa: ANN401 - a foreign payload
    """What lies at these keys, joined by dots; none where one of them is missing."""
    for key in path.split("."):
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _nothing(_digits: str) -> None:
    return None
