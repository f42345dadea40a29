"""Waits for one program while its output is drained and its limits are looked at.

Limits: one thread; ends nothing, it says which limit was passed.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import time
from typing import Callable, Iterable, Optional

from .output import Sink

POLL_S = 0.1
GRACE_S = 0.25
_CHUNK_BYTES = 1 << 16

Limit = Callable[[], Optional[str]]
"""Gives the name of what was passed, or none; asked about ten times a second."""


class Pump:
    """Drains pipes into sinks; one that a background process holds open is drained to the job's end."""

    def __init__(self, look: Callable[[], None] = lambda: None) -> None:
        """Call `look` at each turn: at least ten times a second while a program is waited for."""
        self._look = look
        self._selector = selectors.DefaultSelector()
        self._wake_reader, self._wake_writer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._selector.register(self._wake_reader, selectors.EVENT_READ, None)
        # A program's end wakes the wait at once; without this every command would cost a poll.
        self._handler_before = signal.signal(signal.SIGCHLD, _do_nothing)
        signal.set_wakeup_fd(self._wake_writer, warn_on_full_buffer=False)

    def add(self, reader: int, sink: Sink) -> None:
        """Drain this pipe from now on; the pump closes it at its end."""
        self._selector.register(reader, selectors.EVENT_READ, sink)

    def turn(self, timeout_s: float) -> None:
        """Wait for data or for a program's end, at most so long, and take what is there."""
        self._look()
        for key, _ in self._selector.select(max(timeout_s, 0)):
            if key.data is None:
                with contextlib.suppress(BlockingIOError):
                    os.read(self._wake_reader, _CHUNK_BYTES)
                continue
            data = os.read(key.fd, _CHUNK_BYTES)
            if data:
                key.data.write(data)
            else:
                self._selector.unregister(key.fd)
                os.close(key.fd)

    def settle(self, sinks: Iterable[Sink]) -> None:
        """Take the rest of what went to these sinks: to the pipe's end, or briefly where one stays open."""
        wanted = list(sinks)
        give_up = time.monotonic() + GRACE_S
        while self._is_open(wanted) and time.monotonic() < give_up:
            self.turn(give_up - time.monotonic())
        for sink in wanted:
            sink.close()

    def _is_open(self, sinks: list[Sink]) -> bool:
        return any(key.data in sinks for key in self._selector.get_map().values() if key.data is not None)

    def close(self) -> None:
        """Let go of every pipe."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, self._handler_before)
        for key in list(self._selector.get_map().values()):
            self._selector.unregister(key.fd)
            os.close(key.fd)
        self._selector.close()
        os.close(self._wake_writer)


def wait(
    child: subprocess.Popen[bytes], pump: Pump, limits: Iterable[Limit], poll_s: float = POLL_S
) -> str | None:
    """Wait until it ended (none) or a limit was passed (its name; the child may still run)."""
    asked = list(limits)
    while child.poll() is None:
        for limit in asked:
            passed = limit()
            if passed:
                return passed
        pump.turn(poll_s)
    return None


def past(moment: float, name: str) -> Limit:
    """A limit on the clock: a moment of `time.monotonic()`."""
    return lambda: name if time.monotonic() >= moment else None


def first_call(marker: str | None, moment: float, name: str) -> Limit:
    """A limit that falls away once the marker is there; none: no such limit."""
    seen = marker is None

    def look() -> str | None:
        nonlocal seen
        seen = seen or os.path.lexists(marker or "")
        return name if not seen and time.monotonic() >= moment else None

    return look


def _do_nothing(_number: int, _frame: object) -> None:
    """SIGCHLD needs a handler: one that is ignored or default wakes nobody."""
