"""Where a task's time went, from the times of its events.

Pure: no I/O. Every millisecond between the ready commit and the end belongs to exactly one part, so that the
parts add up to the lead time. Limits: a loop that was killed leaves no last word, so that what its job still
did until the next run counts as interrupted.
"""

from collections import Counter
from datetime import UTC, datetime, timedelta

from instrument.parts import Part
from instrument.schema.events import (
    AttemptStarted,
    Continued,
    RunEnded,
    RunStarted,
    Transition,
    Waited,
)
from instrument.schema.vocabulary import EffectKind, StopReason, WaitedFor

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MS = timedelta(milliseconds=1)
EXIT_BUSY = 4
"""The exit code of a run that would have to wait, and was not told to."""


_EFFECTS: dict[EffectKind, Part] = {
    EffectKind.FIND_BASE: Part.LANDING,
    EffectKind.SET_UP: Part.SETTING_UP,
    EffectKind.BASELINE: Part.CHECKING,
    EffectKind.IMPLEMENT: Part.WORKING,
    EffectKind.COMMIT_CANDIDATE: Part.LANDING,
    EffectKind.CHECK: Part.CHECKING,
    EffectKind.COMPARE_TESTS: Part.CHECKING,
    EffectKind.REVIEW: Part.REVIEWING,
    EffectKind.REBASE: Part.LANDING,
    EffectKind.GATE: Part.CHECKING,
    EffectKind.MERGE: Part.LANDING,
    EffectKind.RESOLVE: Part.WORKING,
}
_STOPS: dict[StopReason, Part] = {
    StopReason.PROVIDER_RATE_LIMITED: Part.PROVIDER,
    StopReason.PROVIDER_UNAVAILABLE: Part.PROVIDER,
    StopReason.BASELINE_RED: Part.MAIN,
}
"""Stops that wait for something else than a person's word."""
_WAITS: dict[WaitedFor, Part] = {
    WaitedFor.SLOT: Part.SLOT,
    WaitedFor.TASK: Part.TASK,
    WaitedFor.MAIN: Part.MAIN,
    WaitedFor.PROVIDER: Part.PROVIDER,
    WaitedFor.GATE: Part.HELD,
    WaitedFor.HOLD: Part.HELD,
    WaitedFor.FAULT: Part.PERSON,
}


def to_ms(time: datetime) -> int:
    """Milliseconds since 1970, cut."""
    return (time - _EPOCH) // _MS


class Timeline:
    """Order of calls: one of the methods for each event in order, of all runs, then `finish` once."""

    def __init__(self, ready: datetime | None, end: datetime | None) -> None:
        """Both ends as the state knows them; times of events outside of them are moved to the nearer one."""
        self._since_ms = None if ready is None else to_ms(ready)
        self._end_ms = None if end is None else to_ms(end)
        self._part = Part.NOT_BEGUN
        self._stopped_ms: int | None = None
        self._is_alive = False
        self.last: datetime | None = None
        """The time of the last event, of any kind: a loop lived until then at least. The caller sets it."""
        self._waits_for = Part.INTERRUPTED
        self.parts: Counter[Part] = Counter()
        """Milliseconds by part; none of them negative."""
        self.answers_ms: list[int] = []
        """From each stop to what a person did about it."""

    def run_started(self, event: RunStarted) -> None:
        """A loop takes the task up; one before it that left no last word was killed after its last event."""
        if self._stopped_ms is None:
            if self._is_alive:
                self._move(self.last or event.at_utc, Part.INTERRUPTED)
            self._move(event.at_utc, Part.LANDING)
        self._is_alive = True

    def run_ended(self, event: RunEnded) -> None:
        """A loop leaves the task; a stop's time goes on."""
        self._is_alive = False
        if self._stopped_ms is None:
            is_busy = event.exit_code == EXIT_BUSY
            self._move(event.at_utc, self._waits_for if is_busy else Part.INTERRUPTED)

    def attempt_started(self, event: AttemptStarted) -> None:
        """An effect begins."""
        self._move(event.at_utc, _EFFECTS[event.effect])

    def waited(self, event: Waited) -> None:
        """A wait is over: its length is cut out of what went before."""
        ended = event.ended_utc or event.at_utc
        began = ended - timedelta(milliseconds=event.duration_ms)
        going_on, self._waits_for = self._part, _WAITS[event.what]
        self._move(began, self._waits_for)
        self._move(ended, going_on)

    def transition(self, event: Transition) -> None:
        """An effect is over; after a stop somebody is waited for."""
        if event.stop is not None:
            self._move(event.at_utc, _STOPS.get(event.stop, Part.PERSON))
            self._stopped_ms = to_ms(event.at_utc)
        elif event.done is None:
            # A task's end itself is the state's: it may be a moment before this line's time.
            self._move(event.at_utc, Part.LANDING)

    def continued(self, event: Continued) -> None:
        """Somebody took a stopped task on."""
        if self._stopped_ms is not None:
            self.answers_ms.append(max(0, to_ms(event.at_utc) - self._stopped_ms))
        self._stopped_ms = None
        self._move(event.at_utc, Part.LANDING)

    def finish(self) -> None:
        """Close the last part: at the end, or at the last event where the task is not over."""
        if self._end_ms is not None:
            self._close(self._end_ms)
        elif self.last is not None:
            self._close(to_ms(self.last))

    def _move(self, at: datetime, part: Part) -> None:
        """Close the part so far and begin another."""
        self._close(to_ms(at))
        self._part = part

    def _close(self, at_ms: int) -> None:
        if self._end_ms is not None:
            at_ms = min(at_ms, self._end_ms)
        if self._since_ms is None:
            self._since_ms = at_ms
        if at_ms > self._since_ms:
            self.parts[self._part] += at_ms - self._since_ms
            self._since_ms = at_ms
