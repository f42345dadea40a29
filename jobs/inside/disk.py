"""Measures what this job wrote to disk, now and then.

Limits: a watch, not a wall: what is written and removed between two looks is not seen.
"""

from __future__ import annotations

import os
import time
from typing import Iterable

from .watch import Limit

_LOOK_S = 2.0
_FULL_LOOK_S = 30.0
_WALK_S = 1.5


class Disk:
    """A limit on the bytes of files changed since `since` (seconds of the wall clock)."""

    def __init__(self, folders: Iterable[str], cap_bytes: int, since: float, name: str) -> None:
        self._folders = [folder for folder in folders if os.path.isdir(folder)]
        self._cap = cap_bytes
        self._since = since
        self._name = name
        self._next_look = time.monotonic() + _LOOK_S
        self._next_walk = time.monotonic() + _FULL_LOOK_S
        self._free = self._free_bytes()

    def as_limit(self) -> Limit:
        """To be asked often; walks only when the disk lost a good part of the cap, or after a while."""
        return self._look

    def _look(self) -> str | None:
        now = time.monotonic()
        if now < self._next_look:
            return None
        self._next_look = now + _LOOK_S
        free = self._free_bytes()
        if self._free - free < self._cap // 8 and now < self._next_walk:
            return None
        self._free, self._next_walk = free, now + _FULL_LOOK_S
        used = used_bytes(self._folders, self._since, now + _WALK_S)
        return self._name if used > self._cap else None

    def _free_bytes(self) -> int:
        if not self._folders:
            return 0
        stat = os.statvfs(self._folders[0])
        return stat.f_bavail * stat.f_frsize


def used_bytes(folders: Iterable[str], since: float, until: float) -> int:
    """Blocks of what changed since then, each file once by its links; a lower bound once `until` has passed.

    By the time of the last change, which only the kernel sets: what the image brought is not counted.
    """
    total = 0
    waiting = list(folders)
    while waiting and time.monotonic() < until:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                        continue
                    stat = entry.stat(follow_symlinks=False)
                    if stat.st_ctime >= since:
                        total += stat.st_blocks * 512 // max(stat.st_nlink, 1)
        except OSError:
            continue  # gone, or too deep to name: a watch goes on
    return total
