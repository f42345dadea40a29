"""A process that kills itself at a chosen point of one effect, by what a run is given from outside.

Limits: wraps injected objects only; the program under test has no hook for it.
"""

import os
import signal
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from instrument.schema.job import JobEnd
from instrument.schema.state import TaskState
from jobs.order import JobOrder, SetupOrder
from jobs.ports import Jobs, Objects
from loop.progress import Progress
from loop.store import save_state
from support.ends import START
from support.repos import Desk

BEFORE_INTENT, AFTER_INTENT = "before intent is saved", "after intent is saved"
AFTER_EFFECT, AMID_RECORD, AFTER_RECORD = "after effect", "amid record", "after record"
AFTER_STATE = "after state is saved"
POINTS = (BEFORE_INTENT, AFTER_INTENT, AFTER_EFFECT, AFTER_RECORD, AFTER_STATE)


@dataclass
class Wire:
    """Tells `reach` of every point that a run comes to; `clock_calls` counts within one effect."""

    reach: Callable[[str], None]
    clock_calls: int = 0
    last_clock_call: int | None = None
    """The one that stamps the transition, the last line of the record; none: not watched for."""
    is_under_way: bool = False

    def save(self, folder: Path, state: TaskState) -> None:
        if state.attempt is not None:
            self.reach(BEFORE_INTENT)
            save_state(folder, state)
            self.reach(AFTER_INTENT)
            return
        if self.is_under_way:
            self.reach(AFTER_RECORD)
        save_state(folder, state)

    def now(self) -> datetime:
        if self.is_under_way:
            self.clock_calls += 1
            if self.clock_calls == self.last_clock_call:
                self.reach(AMID_RECORD)
        return START


@dataclass
class WiredJobs:
    """The jobs of a run, told of as well."""

    inner: Jobs
    wire: Wire

    @property
    def objects(self) -> Objects:
        return self.inner.objects

    def set_up(self, order: SetupOrder) -> str:
        image = self.inner.set_up(order)
        self.wire.reach(AFTER_EFFECT)
        return image

    def run(self, order: JobOrder, *, resumed: bool) -> JobEnd:
        end = self.inner.run(order, resumed=resumed)
        self.wire.reach(AFTER_EFFECT)
        return end

    def cancel(self, order: JobOrder) -> JobEnd:
        return self.inner.cancel(order)

    def release(self, run_id: str, key: str) -> None:
        self.wire.reach(AFTER_STATE)
        self.inner.release(run_id, key)

    def reap(self, run_id: str, *, keep: str | None) -> int:
        return self.inner.reap(run_id, keep=keep)


class WiredProgress(Progress):
    """The watcher of a run, which knows when an effect is under way."""

    def __init__(self, desk: Desk, wire: Wire, ended: Callable[[Any], None]) -> None:
        super().__init__(desk.said)
        self._wire = wire
        self._done = ended
        self._effect: Any = None

    def began(self, state: TaskState, effect: Any, *, resumed: bool) -> None:
        super().began(state, effect, resumed=resumed)
        self._wire.is_under_way = True
        self._wire.clock_calls = 0
        self._effect = effect

    def ended(self, *args: Any) -> None:
        super().ended(*args)
        self._wire.is_under_way = False
        self._done(self._effect)


def run_wired(
    desk: Desk, wire: Wire, ended: Callable[[Any], None] = lambda _: None, *, rulings: tuple[str, ...] = ()
) -> None:
    """The command once, with everything that it is given from outside wrapped."""
    world = desk.world(
        jobs=WiredJobs(desk.jobs, wire),
        progress=WiredProgress(desk, wire, ended),
        now=wire.now,
        save=wire.save,
    )
    desk.run(world, auto_merge=True, rulings=rulings)


def die() -> None:
    """End this process as a power cut would."""
    os.kill(os.getpid(), signal.SIGKILL)


def run_killed(desk: Desk, point: str, *, last_clock_call: int | None, rulings: tuple[str, ...] = ()) -> bool:
    """Run the command in a child that dies at the first point of this name; whether it came there.

    Args:
        desk: Where it runs.
        point: One of this module's, or a container's status.
        last_clock_call: Of the calm run's effect; a git effect has no other line, so it is done by then.
        rulings: The command's.
    """

    def reach(reached: str) -> None:
        if reached == point:
            die()

    def at(status: str, order: JobOrder) -> None:
        told(status, order)
        reach(status)

    with warnings.catch_warnings():
        # Python says that a fork beside threads may hang: the child takes no lock of theirs.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        try:
            told = desk.jobs.at
            desk.jobs.at = at
            run_wired(desk, Wire(reach, last_clock_call=last_clock_call), rulings=rulings)
        finally:
            os._exit(70)
    status = os.waitpid(child, 0)[1]
    return os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL


@dataclass
class Calm:
    """A life without a crash: what it came to, and the desk as it was before each effect."""

    desk: Desk
    rulings: tuple[str, ...] = ()
    """What the command says beside the authority to merge."""
    before: list[Path] = field(default_factory=list)
    effects: list[Any] = field(default_factory=list)
    clock_calls: list[int] = field(default_factory=list)
