"""Reads the counters of the container's own cgroup, version 1 or 2.

Limits: reads only; a counter that the kernel does not have is none.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import Callable

MOUNT = "/sys/fs/cgroup"
MEMBERSHIP = "/proc/self/cgroup"
_LOOK_S = 0.09
"""A little less than the wait's own beat, so that no beat is missed by a hair."""


@dataclass(frozen=True)
class Counters:
    """Since the container's start."""

    oom_kills: int = 0
    peak_memory_bytes: int | None = None
    cpu_ms: int | None = None
    pids_refused: int = 0
    """Times that the limit on processes kept one from being made."""
    peak_pids: int | None = None
    """Threads count like processes; an older kernel keeps no peak."""


class PidsSeen:
    """The most processes at any look: a lower bound, for kernels that keep no peak."""

    def __init__(
        self,
        mount: str = MOUNT,
        membership: str = MEMBERSHIP,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        folder = os.path.join(mount, "pids") if _is_version_1(mount) else _own_folder(mount, membership)
        self._path = os.path.join(folder, "pids.current")
        self._clock = clock
        self._next_look = clock()
        self.most: int | None = None
        """Threads count like processes; none until the kernel told a number."""

    def look(self) -> None:
        """To be called often: reads about ten times a second, however often that is."""
        now = self._clock()
        if now < self._next_look:
            return
        self._next_look = now + _LOOK_S
        number = _number(self._path)
        if number is not None:
            self.most = max(number, self.most or 0)


def read_counters(mount: str = MOUNT, membership: str = MEMBERSHIP) -> Counters:
    """Both versions have them all; a host with both mounts counts memory in version 1."""
    if _is_version_1(mount):
        return _version_1(mount)
    return _version_2(_own_folder(mount, membership))


def _is_version_1(mount: str) -> bool:
    return os.path.isdir(os.path.join(mount, "memory"))


def _version_1(mount: str) -> Counters:
    memory = os.path.join(mount, "memory")
    # `oom_kill` of version 1 counts a group without its children.
    kills = [
        _field(os.path.join(folder, "memory.oom_control"), "oom_kill") for folder, _, _ in os.walk(memory)
    ]
    used_ns = None
    for controller in ("cpuacct", "cpu,cpuacct"):
        used_ns = (
            used_ns if used_ns is not None else _number(os.path.join(mount, controller, "cpuacct.usage"))
        )
    return Counters(
        oom_kills=sum(kill or 0 for kill in kills),
        peak_memory_bytes=_number(os.path.join(memory, "memory.max_usage_in_bytes")),
        cpu_ms=None if used_ns is None else used_ns // 1_000_000,
        pids_refused=_field(os.path.join(mount, "pids", "pids.events"), "max") or 0,
        peak_pids=_number(os.path.join(mount, "pids", "pids.peak")),
    )


def _version_2(folder: str) -> Counters:
    used_us = _field(os.path.join(folder, "cpu.stat"), "usage_usec")
    return Counters(
        oom_kills=_field(os.path.join(folder, "memory.events"), "oom_kill") or 0,
        peak_memory_bytes=_number(os.path.join(folder, "memory.peak")),
        cpu_ms=None if used_us is None else used_us // 1000,
        pids_refused=_field(os.path.join(folder, "pids.events"), "max") or 0,
        peak_pids=_number(os.path.join(folder, "pids.peak")),
    )


def _own_folder(mount: str, membership: str) -> str:
    """The mount itself in a namespace of its own, else the folder that the kernel names."""
    for line in _text(membership).splitlines():
        if line.startswith("0::"):
            folder = os.path.join(mount, line[3:].strip().lstrip("/"))
            if os.path.exists(os.path.join(folder, "memory.events")):
                return folder
    return mount


def _field(path: str, name: str) -> int | None:
    for line in _text(path).splitlines():
        words = line.split()
        if len(words) == 2 and words[0] == name and words[1].isdigit():  # noqa: PLR2004 - a name and its number
            return int(words[1])
    return None


def _number(path: str) -> int | None:
    text = _text(path).strip()
    return int(text) if text.isdigit() else None


def _text(path: str) -> str:
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            return file.read()
    except OSError:
        return ""
