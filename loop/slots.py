"""Slots that every loop of a home shares: how many jobs a host runs, how many tasks a repo.

Limits: lock files below `<home>/slots`; a dead process frees its own. Whoever comes first is not
always served first.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from instrument.schema.vocabulary import WaitedFor
from loop.errors import UsageError
from loop.leases import Lease, try_lease
from loop.problems import show
from loop.waiting import Waiting, wait_for

JOBS_VARIABLE = "FACTORY_JOBS"
DEFAULT_JOBS = 2
MOST = 256


def job_count(environment: Mapping[str, str]) -> int:
    """How many containers with work in them run on this host at once, of all repos: `FACTORY_JOBS`, or two.

    Raises:
        UsageError: The variable is no number from 1 to 256.
    """
    text = environment.get(JOBS_VARIABLE)
    if not text:
        return DEFAULT_JOBS
    if not (text.isascii() and text.isdigit() and 1 <= int(text[:4]) <= MOST):
        raise UsageError(f"{JOBS_VARIABLE} is {show(text)}; set it to a whole number from 1 to {MOST}")
    return int(text)


def try_job_slot(home: Path, count: int) -> Lease | None:
    """One of the host's `count` slots, held until it is released; none: all are taken."""
    return _first_free(home, "job", count)


def try_task_slot(home: Path, repo: str, count: int) -> Lease | None:
    """One of the repo's `count` slots, likewise."""
    return _first_free(home, f"task-{repo}", count)


@contextmanager
def job_slot(
    home: Path,
    count: int,
    timeout_s: float | None,
    *,
    say: Callable[[str], None] = lambda _: None,
    sleep: Callable[[float], None] = time.sleep,
    interrupted: Callable[[], None] = lambda: None,
    waited: Callable[[WaitedFor, float], None] = lambda *_: None,
) -> Iterator[None]:
    """Hold one of the host's slots for the block; looks every half a second.

    Args:
        home: The home that all loops of this host share.
        count: How many slots there are.
        timeout_s: How long to wait; None: as long as it takes, 0: not at all.
        say: Is told once that there is a wait, and again every ten minutes.
        sleep: May raise to end the waiting, as a signal's handler does in `time.sleep`.
        interrupted: Called before each sleep; raises where the process is to end.
        waited: See `wait_for`.

    Raises:
        BusyError: No slot became free in time.
    """

    def look() -> Lease | Waiting:
        line = f"waits for a job slot: {count} under way on this host ({JOBS_VARIABLE} sets how many)"
        return try_job_slot(home, count) or Waiting(line, WaitedFor.SLOT)

    with wait_for(look, say=say, timeout_s=timeout_s, sleep=sleep, interrupted=interrupted, waited=waited):
        yield


def _first_free(home: Path, name: str, count: int) -> Lease | None:
    for n in range(1, count + 1):
        if lease := try_lease(home / "slots" / f"{name}-{n}.lock"):
            return lease
    return None
