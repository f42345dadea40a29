"""A host's job slots, which every loop of a home shares: how many containers with work in them run.

Counted from the leases of living processes and from the containers that run without one, as those of
a killed loop do. Limits: lease files, and the engine as the caller knows it. Whoever comes first is
not always served first.
"""

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from instrument.schema.vocabulary import WaitedFor
from jobs.errors import JobsError
from jobs.load import Load
from loop.errors import BusyError, UsageError
from loop.home import mark_of
from loop.problems import show
from loop.slotfiles import JobLease, Need, door, held_needs, take_lease
from loop.waiting import Waiting, wait_for

JOBS_VARIABLE = "FACTORY_JOBS"
HOST_VARIABLE = "FACTORY_HOST"
DEFAULT_JOBS = 2
MOST = 256
LABEL = re.compile(r"[A-Za-z0-9._-]{1,63}")
GIB = 1024**3

LookAtLoad = Callable[[str, str], Load | None]
"""From the mark of a home and the label of a host to what runs there; none: there is no engine to ask."""


def leases_alone(_home: str, _host: str) -> None:
    """No engine to ask."""


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


def host_label(environment: Mapping[str, str]) -> str:
    """The label of the host among those of a home, `FACTORY_HOST`; empty: the plain one.

    Raises:
        UsageError: The variable is no label.
    """
    text = environment.get(HOST_VARIABLE, "")
    if text and not LABEL.fullmatch(text):
        raise UsageError(f"{HOST_VARIABLE} is {show(text)}; use 1 to 63 of: letters a-z, digits, . - _")
    return text


@dataclass(frozen=True, slots=True)
class Host:
    """Whose slots."""

    home: Path
    """The home that all its loops share."""
    count: int
    """How many slots there are."""
    label: str = ""
    """Two labels of one home have slots of their own; empty: the plain host."""
    load: LookAtLoad = leases_alone


def host_of(home: Path, environment: Mapping[str, str], load: LookAtLoad) -> Host:
    """The host as its environment describes it.

    Raises:
        UsageError: A variable is not what it should be.
    """
    return Host(home, job_count(environment), host_label(environment), load)


@contextmanager
def job_slot(
    host: Host,
    need: Need,
    timeout_s: float | None,
    *,
    has_begun: bool = False,
    say: Callable[[str], None] = lambda _: None,
    sleep: Callable[[float], None] = time.sleep,
    interrupted: Callable[[], None] = lambda: None,
    waited: Callable[[WaitedFor, float], None] = lambda *_: None,
) -> Iterator[None]:
    """Hold one of the host's slots for the block; looks every half a second.

    Args:
        host: Whose slots.
        need: What the job that the slot is for takes.
        timeout_s: How long to wait; None: as long as it takes, 0: not at all.
        has_begun: An earlier process began this very job: there is no wait, whatever the count.
        say: Is told once that there is a wait, and again every ten minutes.
        sleep: May raise to end the waiting, as a signal's handler does in `time.sleep`.
        interrupted: Called before each sleep; raises where the process is to end.
        waited: See `wait_for`.

    Raises:
        BusyError: No slot became free in time.
    """

    def look() -> AbstractContextManager[object] | Waiting:
        found = _look(host, need, has_begun=has_begun)
        return nullcontext() if has_begun and isinstance(found, Waiting) else found

    with wait_for(look, say=say, timeout_s=timeout_s, sleep=sleep, interrupted=interrupted, waited=waited):
        yield


def try_job_slot(host: Host, need: Need) -> JobLease | Waiting:
    """One look: a slot, held until it is released, or why there is none."""
    return _look(host, need, has_begun=False)


def _look(host: Host, mine: Need, *, has_begun: bool) -> JobLease | Waiting:
    try:
        # The engine is asked behind the door: between two looks a process may begin a job, and die.
        with door(host.home):
            line = None if has_begun else _refusal(host, mine)
            return take_lease(host.home, host.label, mine) if line is None else Waiting(line, WaitedFor.SLOT)
    except BusyError:
        return Waiting("waits for a job slot: other loops look at them all the time", WaitedFor.SLOT)


def _refusal(host: Host, mine: Need) -> str | None:
    """Why the job may not begin now; none: it may."""
    others = held_needs(host.home, host.label)
    try:
        load = host.load(mark_of(host.home), host.label)
    except JobsError:
        load = None
    if (used := used_slots(others, load, mine.key)) >= host.count:
        where = f"on host {host.label}" if host.label else "on this host"
        return f"waits for a job slot: {used} under way {where} ({JOBS_VARIABLE} sets how many)"
    return None if load is None else memory_refusal(others, load, mine)


def used_slots(others: Sequence[Need | None], load: Load | None, key: str) -> int:
    """Leases that are held, and running jobs that none of them stands for; the job of `key` is left out."""
    named = {need.key for need in others if need is not None}
    return len(others) + len((load.jobs if load else frozenset()) - named - {key})


def memory_refusal(others: Sequence[Need | None], load: Load, mine: Need) -> str | None:
    """Why the engine's host has no memory for the job; none: it has, or nothing else of ours runs there."""
    if not mine.memory_bytes:
        return None
    # A job that has its slot is about to run: its memory is promised.
    promised = {need.key: need.memory_bytes for need in others if need is not None}
    own = {**promised, **load.own_bytes}
    taken_bytes = load.other_bytes + sum(size for key, size in own.items() if key != mine.key)
    if not taken_bytes or not load.total_bytes or load.total_bytes - taken_bytes >= mine.memory_bytes:
        return None
    return (
        f"waits for memory: the job may take {_gib(mine.memory_bytes)} ([limits] memory), and what runs "
        f"may take {_gib(taken_bytes)} of the engine's {_gib(load.total_bytes)}"
    )


def _gib(size_bytes: int) -> str:
    return f"{size_bytes / GIB:.1f} GiB"
