"""Finds the shell calls in what an agent prints, a JSON object a line.

Limits: pure; what is no JSON is passed by.
"""

from __future__ import annotations

from typing import Iterator

from .lines import Lines, dig, holds, load, needles
from .order import ShellCalls


class Calls:
    """Finds the commands of the shell calls in an agent's output."""

    def __init__(self, shape: ShellCalls) -> None:
        self._shape = shape
        self._needles = needles((*shape.line.values(), *shape.item.values()))
        self._lines = Lines()

    def feed(self, data: bytes) -> list[str]:
        """The trimmed commands of the lines that end in this piece, in order."""
        return [command for line in self._lines.feed(data) for command in self._read(line)]

    def _read(self, line: bytes) -> Iterator[str]:
        value = load(line, self._needles)
        if value is None or not holds(value, self._shape.line):
            return
        items = [value] if self._shape.items is None else dig(value, self._shape.items)
        for item in items if isinstance(items, list) else ():
            command = dig(item, self._shape.command)
            if holds(item, self._shape.item) and isinstance(command, str) and command.strip():
                yield command.strip()
