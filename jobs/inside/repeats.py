"""Counts how often an agent ran the same command without a change of the tree.

Limits: pure; whether the tree changed is asked of the caller, and only where a count would grow.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import Callable, Iterable, Optional

MOST_COMMANDS = 10_000
# What may stand around a gate's line for it to be run as it is: `cd x && LINE 2>&1 | tail` is a run of it,
# `LINE --only this` is not.
_BEFORE = r"(?<![^\s;&|({`\"'!])"
_AFTER = r"(?=[ \t]*(?:\Z|[\r\n;&|)}`\"'<>#]|[0-9]>))"

Look = Callable[[], Optional[bool]]
"""Whether the tree changed since it was asked last; none: it was not looked at, for it was just before."""


@dataclass(frozen=True)
class Stall:
    """A command, or a line of the gate, that came again and again."""

    command: str
    count: int


class Repeats:
    """A count for each command since the last change of the tree.

    Args:
        limit: How often one may come; the next time is a stall.
        gate: The gate's lines: a command that runs one counts as that line, whatever is around it.
    """

    def __init__(self, limit: int, gate: Iterable[str] = ()) -> None:
        self._limit = limit
        lines = dict.fromkeys(line.strip() for line in gate)
        self._gate = {line: re.compile(_BEFORE + re.escape(line) + _AFTER) for line in lines if line}
        self._counts: dict[bytes, int] = {}

    def note(self, commands: Iterable[str], look: Look) -> Stall | None:
        """Count what came since the last call, each command once: it is all of one moment."""
        names = list(dict.fromkeys(name for command in commands for name in self._names(command)))
        most = max((self._counts.get(_key(name), 0) for name in names), default=0)
        has_changed = look() if most else None
        if has_changed:
            self._counts.clear()
        elif has_changed is None and most >= self._limit:
            return None  # nothing ends on a tree that was not looked at: the next time decides
        stalls = [stall for stall in map(self._add, names) if stall.count > self._limit]
        return stalls[0] if stalls else None

    def _names(self, command: str) -> list[str]:
        return [line for line, run in self._gate.items() if run.search(command)] or [command]

    def _add(self, name: str) -> Stall:
        if len(self._counts) >= MOST_COMMANDS:
            self._counts.clear()
        key = _key(name)
        self._counts[key] = self._counts.get(key, 0) + 1
        return Stall(name, self._counts[key])


def _key(name: str) -> bytes:
    """A command may be megabytes long, and is kept for as long as the tree stays the same."""
    return hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=16).digest()
