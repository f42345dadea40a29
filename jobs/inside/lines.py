"""Reads what an agent prints, a JSON object a line.

Limits: pure; holds one line at a time, and passes by those longer than 8 MiB.
"""

from __future__ import annotations

import json
import re
from typing import Any, Iterable, Iterator, Mapping

MOST_LINE_BYTES = 8 << 20
_PLAIN = re.compile(r"[A-Za-z0-9_.:-]+")


class Lines:
    """Takes an agent's output in pieces of any length, and gives the whole lines."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._size = 0

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The lines that end in this piece, in order, without their ends."""
        *ends, rest = data.split(b"\n")
        for end in ends:
            self._hold(end)
            if self._size <= MOST_LINE_BYTES:
                yield b"".join(self._pieces)
            self._pieces, self._size = [], 0
        self._hold(rest)

    def _hold(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._size > MOST_LINE_BYTES:
            self._pieces = []
        else:
            self._pieces.append(piece)


def needles(texts: Iterable[str]) -> list[bytes]:
    """Those of the texts that no JSON writer escapes: a line without them need not be read."""
    return [text.encode("ascii") for text in texts if _PLAIN.fullmatch(text)]


def load(line: bytes, wanted: Iterable[bytes]) -> Any:  # noqa: ANN401 - a foreign payload
    """The line's JSON value; none where it lacks a needle or is no JSON."""
    if not all(needle in line for needle in wanted):
        return None
    try:
        # Numbers are not needed, and reading one of a million digits takes an older Python minutes.
        return json.loads(line, parse_int=_nothing, parse_float=_nothing)
    except (ValueError, RecursionError):
        return None


def holds(value: Any, texts: Mapping[str, str]) -> bool:  # noqa: ANN401 - a foreign payload
    """Whether the value has these texts at these paths."""
    return isinstance(value, dict) and all(dig(value, path) == text for path, text in texts.items())


def dig(value: Any, path: str) -> Any:  # noqa: ANN401 - a foreign payload
    """What lies at these keys, joined by dots; none where one of them is missing."""
    for key in path.split("."):
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _nothing(_digits: str) -> None:
    return None
