"""The one loop that takes a task from effect to effect until it is done or stopped.

Limits: blocking; decides nothing itself. The caller holds the task's lock.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime
from pathlib import Path
from signal import SIGINT
from typing import Protocol

from instrument.schema.state import TaskState
from instrument.schema.vocabulary import EffectKind, Outcome
from loop.journal import Journal
from loop.machine.advance import advance, begin, cancel
from loop.machine.effects import Effect
from loop.machine.facts import CancelledFacts, Facts
from loop.machine.judge import forestall, judge
from loop.machine.plan import plan
from loop.signals import Interrupted, Signals
from loop.store import save_state
from loop.transition import Transitions, round_of


class Perform(Protocol):
    """The imperative shell: does effects, and finds what an earlier process did.

    Order: `perform`, then the caller saves what follows from the facts, then `release`.
    """

    def perform(self, state: TaskState, effect: Effect, *, resumed: bool) -> Facts:
        """Do the effect or find it done; every failure of the machine comes back as facts."""
        ...

    def cancel(self, state: TaskState, effect: Effect, signal: int) -> CancelledFacts:
        """End a job now and say what it cost; within 10 s."""
        ...

    def release(self, state: TaskState, key: str) -> None:
        """Take away what the effect left in the engine; may be called twice."""
        ...


class Watcher(Protocol):
    """Whoever shows a person what goes on."""

    def began(self, state: TaskState, effect: Effect, *, resumed: bool) -> None:
        """An effect is about to be done."""
        ...

    def ended(self, before: TaskState, outcome: Outcome, after: TaskState, facts: Facts | None) -> None:
        """It was judged, and the new state is on disk."""
        ...


class JobSlots(Protocol):
    """Whoever says when this host may run one more job."""

    def __call__(self, key: str, *, has_begun: bool) -> AbstractContextManager[object]:
        """Hold a slot for the job of this key; one that has begun is never made to wait."""
        ...


def unlimited(key: str, *, has_begun: bool) -> AbstractContextManager[object]:  # noqa: ARG001 - `JobSlots` has it
    """Every job at once."""
    return nullcontext()


class Driver:
    """Drives one task; holds what does not change while it does."""

    def __init__(
        self,
        folder: Path,
        *,
        journal: Journal,
        shell: Perform,
        watcher: Watcher,
        signals: Signals,
        now: Callable[[], datetime],
        save: Callable[[Path, TaskState], None] = save_state,
        job_slot: JobSlots = unlimited,
    ) -> None:
        self._writes = Transitions(folder, journal, save)
        self._shell = shell
        self._watcher = watcher
        self._signals = signals
        self._now = now
        self._job_slot = job_slot

    def drive(self, state: TaskState) -> TaskState:
        """Take the task as far as it goes without a person; every state is on disk before the next effect.

        Raises:
            Interrupted: A signal came; with SIGINT the pod is gone and its cost is saved.
        """
        while not state.stage.is_terminal:
            outcome = forestall(state)
            state = self._stop_before(state, outcome) if outcome else self._step(state)
        return state

    def _stop_before(self, state: TaskState, outcome: Outcome) -> TaskState:
        after = self._stamped(advance(state, outcome, None))
        self._writes.settle(state, outcome, None, after)
        self._watcher.ended(state, outcome, after, None)
        return after

    def _step(self, state: TaskState) -> TaskState:
        effect = plan(state)
        is_under_way = state.attempt is not None and state.attempt.key == effect.key
        if not effect.kind.is_job:
            return self._do(state, effect)
        # A wait after the intent was written would look like an interruption if it were killed: only
        # a set-up can stand it, which begins anew and may find its slot given away.
        has_begun = is_under_way and effect.kind is not EffectKind.SET_UP
        with self._job_slot(effect.key, has_begun=has_begun):
            return self._do(state, effect)

    def _do(self, state: TaskState, effect: Effect) -> TaskState:
        begun = begin(state, effect)
        resumed = begun is state
        self._writes.begin(begun, effect, resumed=resumed)
        self._watcher.began(begun, effect, resumed=resumed)
        try:
            with self._signals.interruptible():
                facts = self._shell.perform(begun, effect, resumed=resumed)
        except Interrupted as interrupted:
            self._cancel(begun, effect, interrupted.signal)
            raise
        outcome = judge(begun, facts)
        after = self._stamped(advance(begun, outcome, facts))
        self._writes.settle(begun, outcome, facts, after, round_=round_of(effect))
        if after.attempt is None:
            self._shell.release(begun, effect.key)
        self._watcher.ended(begun, outcome, after, facts)
        return after

    def _cancel(self, begun: TaskState, effect: Effect, signal: int) -> None:
        """SIGINT ends the attempt; on SIGTERM the pod is left to be adopted."""
        if signal != SIGINT:
            return
        facts = self._shell.cancel(begun, effect, signal)
        self._writes.settle_cancelled(cancel(begun, facts), effect, facts)
        self._shell.release(begun, effect.key)

    def _stamped(self, state: TaskState) -> TaskState:
        """The machine knows no clock: the time of an end is put in here."""
        return state.model_copy(update={"ended_utc": self._now()}) if state.stage.is_terminal else state
