"""Waiting for a condition, with one line about what for.

Limits: sleeps by the function it is given, says by the function it is given.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TypeVar

from instrument.schema.vocabulary import WaitedFor
from loop.errors import BusyError

T = TypeVar("T")

SAY_AGAIN_S = 600
SAY_OTHER_S = 60
"""Two who change places in a slot would otherwise get a line at every look."""
SLICE_S = 0.5
LOOK_AGAIN_S = 30
"""Where a look asks a remote, or reads a whole configuration."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """Why a task cannot go on now: a value, which becomes a `BusyError` where nobody waits."""

    line: str
    """One sentence that names whom or what it waits for."""
    what: WaitedFor
    poll_s: float = SLICE_S
    """How long until another look is worth its price."""


def wait_for(
    condition: Callable[[], T | Waiting],
    *,
    say: Callable[[str], None],
    timeout_s: float | None = None,
    sleep: Callable[[float], None] = time.sleep,
    interrupted: Callable[[], None] = lambda: None,
    waited: Callable[[WaitedFor, float], None] = lambda *_: None,
    clock: Callable[[], float] = time.monotonic,
) -> T:
    """Look again and again until the condition gives something else than `Waiting`; return that.

    The line is said at once, again every ten minutes, and a minute after the last where it
    became another one.

    Args:
        condition: Takes what is waited for, or says why it cannot be had.
        say: Tells the person.
        timeout_s: None: as long as it takes; 0: look once, which is a run without `--wait`.
        sleep: Called with half a second at most; it may raise to end the waiting.
        interrupted: Called before each sleep; raises where the process is to end.
        waited: Called with what was waited for and how many seconds, when that is over, however it ends.
        clock: Seconds that never go back.

    Raises:
        BusyError: Time is up; the text is the line.
    """
    began = since = clock()
    said, said_at = "", began
    what: WaitedFor | None = None
    try:
        while True:
            found = condition()
            if not isinstance(found, Waiting):
                return found
            now = clock()
            if what is not None and found.what is not what:
                waited(what, now - since)
            if found.what is not what:
                what, since = found.what, now
            left_s = None if timeout_s is None else began + timeout_s - now
            if left_s is not None and left_s <= 0:
                raise BusyError(found.line if timeout_s else f"{found.line}; --wait waits for it")
            if not said or now - said_at >= (SAY_AGAIN_S if found.line == said else SAY_OTHER_S):
                said, said_at = found.line, now
                say(found.line)
            pause_s = found.poll_s if left_s is None else min(found.poll_s, left_s)
            _sleep(pause_s, sleep=sleep, interrupted=interrupted)
    finally:
        if what is not None:
            waited(what, clock() - since)


def _sleep(seconds: float, *, sleep: Callable[[float], None], interrupted: Callable[[], None]) -> None:
    """Sleep in slices, so that a signal which only sets a mark is seen within half a second."""
    left_s = seconds
    while left_s > 0:
        interrupted()
        sleep(min(left_s, SLICE_S))
        left_s -= SLICE_S


def busy_as_waiting(go: Callable[[], T], poll_s: float = LOOK_AGAIN_S) -> T | Waiting:
    """Call what raises `BusyError` where the task has to wait, and take that for `Waiting`."""
    try:
        return go()
    except BusyError as error:
        return Waiting(str(error), WaitedFor.TASK, poll_s)


def until_reset(task_id: str, reset_utc: datetime, now: datetime) -> Waiting | None:
    """Wait for the time at which the provider said that its limit resets; none: it is past.

    By the wall clock at each look: a laptop that slept wakes up late, not hours later still.
    """
    left_s = (reset_utc - now).total_seconds()
    if left_s <= 0:
        return None
    when = reset_utc.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    line = (
        f"{task_id} waits for the provider's rate limit, which resets at {when}; nothing is spent until then"
    )
    return Waiting(line, WaitedFor.PROVIDER, poll_s=min(left_s, LOOK_AGAIN_S))
