"""What set-up left in the tree beside the commit; it is neither removed nor captured.

Limits: reads and writes one NUL-separated list; knows nothing of git but its ignore patterns.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Iterable


@dataclass(frozen=True)
class Leftovers:
    """Paths in the tree as bytes; a folder stands for everything below it."""

    paths: frozenset[bytes] = frozenset()

    def covers(self, path: bytes) -> bool:
        """Whether it or a folder above it is in the list."""
        if not self.paths:
            return False
        end = len(path)
        while end != -1:
            if path[:end] in self.paths:
                return True
            end = path.rfind(b"/", 0, end)
        return False

    def plus(self, paths: Iterable[bytes]) -> Leftovers:
        """These as well; a folder's slash at the end falls away."""
        return Leftovers(self.paths | {path.rstrip(b"/") for path in paths} - {b""})

    def as_patterns(self) -> bytes:
        """The same for an ignore file, which spares git the way into those folders."""
        return b"".join(b"/" + _escaped(path) + b"\n" for path in sorted(self.paths))


def _escaped(path: bytes) -> bytes:
    """A line break cannot be written in an ignore file; `?` stands for any one character."""
    for special in (b"\\", b"*", b"?", b"[", b"]", b" ", b"!", b"#"):
        path = path.replace(special, b"\\" + special)
    return path.replace(b"\n", b"?").replace(b"\r", b"?")


def read_leftovers(path: str) -> Leftovers:
    """The list that set-up wrote; empty where there was none."""
    try:
        with open(path, "rb") as file:
            return Leftovers().plus(file.read().split(b"\0"))
    except FileNotFoundError:
        return Leftovers()


def write_leftovers(path: str, left: Leftovers) -> None:
    """Replace the list; readable by everyone."""
    with open(path + ".new", "wb") as file:
        file.write(b"\0".join(sorted(left.paths)))
    os.chmod(path + ".new", 0o644)
    os.replace(path + ".new", path)
