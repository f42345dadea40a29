"""Ends processes of the agent's user, all of them or those that one command started.

Limits: only ever signals that one user's processes, and never those of its own user.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from dataclasses import dataclass
from typing import AbstractSet

from .places import User
from .process import ChildError, do_as

_PAUSE_S = 0.003


@dataclass(frozen=True)
class Killed:
    """`seen` counts the processes that were found alive, `left` those that did not go."""

    seen: int
    left: int


def living(user: User) -> frozenset[int]:
    """The process ids of that user, real or effective, that have not ended; zombies have.

    Read from `status`: the owner of /proc/N is root for a process that made itself undumpable.
    """
    return frozenset(
        pid for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if _is_of(pid, user.uid)
    )


def _is_of(pid: int, uid: int) -> bool:
    try:
        with open(f"/proc/{pid}/status", "rb") as file:
            status = file.read()
    except OSError:
        return False
    owner, state = b"", b""
    for line in status.splitlines():
        if line.startswith(b"State:"):
            state = line.split()[1]
        elif line.startswith(b"Uid:"):
            owner = line
            break
    return state not in (b"Z", b"X") and str(uid).encode() in owner.split()[1:]


def end_all(
    user: User, *, spare: AbstractSet[int] = frozenset(), main: int | None = None, patience_s: float = 10
) -> Killed:
    """SIGKILL until /proc shows none of that user but `spare`; `main` is not counted as seen.

    Raises:
        ValueError: That user is root or ourselves.
    """
    if user.uid in (0, os.geteuid()):
        raise ValueError("ending all processes of our own user would end ourselves")
    seen: set[int] = set()
    give_up = time.monotonic() + patience_s
    while alive := living(user) - spare:
        seen |= alive
        if time.monotonic() > give_up:
            return Killed(len(seen - {main}), len(alive))
        if not spare:
            _sweep(user)
        for pid in alive:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(_PAUSE_S)
    return Killed(len(seen - {main}), 0)


def _sweep(user: User) -> None:
    """Signal them in one call: a fork bomb outruns a walk through /proc."""

    def signal_all() -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(-1, signal.SIGKILL)

    # Their processes may have used up the limit that our fork needs: the walk still ends some.
    with contextlib.suppress(ChildError, OSError):
        do_as(user, signal_all)
