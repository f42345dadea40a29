from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from instrument.parts import Part
from instrument.schema.events import (
    AttemptStarted,
    Continued,
    RunEnded,
    RunStarted,
    Transition,
    Waited,
)
from instrument.schema.vocabulary import (
    EffectKind,
    Outcome,
    Purpose,
    Stage,
    StopReason,
    WaitedFor,
)
from instrument.timeline import Timeline, to_ms

READY = datetime(2026, 3, 1, 10, 0, tzinfo=UTC)


def stamp(minute: float) -> dict[str, Any]:
    at = READY + timedelta(minutes=minute)
    return {"n": 1, "at_utc": at, "task_id": "api-007", "run_id": "0a1b2c3d", "purpose": Purpose.TASK}


class Told:
    """A timeline that is told events by the minute after READY."""

    def __init__(self, end: float | None) -> None:
        self.timeline = Timeline(READY, None if end is None else READY + timedelta(minutes=end))

    def _tell(self, take: Callable[..., None], event: Any) -> None:
        take(event)
        self.timeline.last = event.at_utc

    def started(self, minute: float) -> None:
        event = RunStarted(**stamp(minute), pid=1, host="box", version="1")
        self._tell(self.timeline.run_started, event)

    def ended(self, minute: float, exit_code: int) -> None:
        self._tell(self.timeline.run_ended, RunEnded(**stamp(minute), exit_code=exit_code))

    def begins(self, minute: float, effect: EffectKind) -> None:
        event = AttemptStarted(**stamp(minute), key="k", effect=effect, round=1)
        self._tell(self.timeline.attempt_started, event)

    def moves(self, minute: float, stop: StopReason | None = None, **fields: Any) -> None:
        values: dict[str, Any] = {"state_seq": 1, "key": "k", "from_stage": Stage.CHECK, "stop": stop}
        values |= {"outcome": Outcome.CHECKS_PASSED, "to_stage": Stage.REVIEW, "spent_microusd": 0}
        event = Transition(**stamp(minute), **values, lower_bound=False, **fields)
        self._tell(self.timeline.transition, event)

    def waited(self, minute: float, what: WaitedFor, minutes: float, ended: float | None = None) -> None:
        ended_utc = None if ended is None else READY + timedelta(minutes=ended)
        ms = round(minutes * 60_000)
        event = Waited(**stamp(minute), what=what, duration_ms=ms, ended_utc=ended_utc)
        self._tell(self.timeline.waited, event)

    def goes_on(self, minute: float) -> None:
        values: dict[str, Any] = {"how": "ruling", "stop": StopReason.BLOCKED, "to_stage": Stage.IMPLEMENT}
        self._tell(self.timeline.continued, Continued(**stamp(minute), state_seq=2, **values))

    def minutes(self) -> dict[Part, float]:
        self.timeline.finish()
        return {part: ms / 60_000 for part, ms in self.timeline.parts.items()}


def test_every_minute_of_a_calm_life_has_its_part() -> None:
    told = Told(end=30)
    told.started(3)
    told.begins(4, EffectKind.IMPLEMENT)
    told.moves(14)
    told.begins(14, EffectKind.CHECK)
    told.moves(17)
    told.begins(17, EffectKind.REVIEW)
    told.moves(22)
    told.begins(23, EffectKind.GATE)
    told.moves(29)

    assert told.minutes() == {
        Part.NOT_BEGUN: 3,
        Part.LANDING: 1 + 1 + 1,
        Part.WORKING: 10,
        Part.CHECKING: 3 + 6,
        Part.REVIEWING: 5,
    }


def test_a_stop_waits_for_a_person_until_the_answer_and_not_until_a_mere_look() -> None:
    told = Told(end=100)
    told.started(0)
    told.moves(10, stop=StopReason.BLOCKED)
    told.ended(10, exit_code=3)
    told.started(40)
    told.ended(40, exit_code=3)
    told.started(70)
    told.goes_on(70)

    assert told.minutes() == {Part.LANDING: 10 + 30, Part.PERSON: 60}
    assert told.timeline.answers_ms == [60 * 60_000]


def test_a_providers_limit_and_a_red_main_are_no_waits_for_a_person() -> None:
    for stop, part in (
        (StopReason.PROVIDER_RATE_LIMITED, Part.PROVIDER),
        (StopReason.PROVIDER_UNAVAILABLE, Part.PROVIDER),
        (StopReason.BASELINE_RED, Part.MAIN),
    ):
        told = Told(end=20)
        told.started(0)
        told.moves(5, stop=stop)
        told.ended(5, exit_code=3)
        told.started(15)
        told.goes_on(15)

        assert told.minutes() == {Part.LANDING: 5 + 5, part: 10}


def test_a_wait_is_cut_out_of_what_went_before() -> None:
    told = Told(end=20)
    told.started(0)
    told.waited(8, WaitedFor.TASK, 7)
    told.waited(12, WaitedFor.SLOT, 3)
    told.begins(12, EffectKind.IMPLEMENT)

    assert told.minutes() == {Part.LANDING: 1 + 1, Part.TASK: 7, Part.SLOT: 3, Part.WORKING: 8}


def test_what_a_person_held_back_is_apart_from_every_other_wait() -> None:
    told = Told(end=100)
    # Both are recorded when the task has a record at last.
    told.waited(40, WaitedFor.GATE, 20, ended=25)
    told.waited(40, WaitedFor.TASK, 10, ended=35)
    told.started(40)
    told.waited(70, WaitedFor.HOLD, 25)
    told.begins(70, EffectKind.IMPLEMENT)

    assert told.minutes() == {
        Part.NOT_BEGUN: 5 + 5,
        Part.HELD: 20 + 25,
        Part.TASK: 10,
        Part.LANDING: 5,
        Part.WORKING: 30,
    }


def test_a_run_that_would_not_wait_leaves_the_wait_going_on() -> None:
    told = Told(end=30)
    told.started(0)
    told.waited(0, WaitedFor.MAIN, 0)
    told.ended(0, exit_code=4)
    told.started(25)

    assert told.minutes() == {Part.MAIN: 25, Part.LANDING: 5}


def test_a_killed_loops_task_is_interrupted_from_its_last_event() -> None:
    told = Told(end=30)
    told.started(0)
    told.begins(1, EffectKind.IMPLEMENT)
    told.timeline.last = READY + timedelta(minutes=6)
    told.started(20)
    told.begins(20, EffectKind.IMPLEMENT)

    assert told.minutes() == {Part.LANDING: 1, Part.WORKING: 5 + 10, Part.INTERRUPTED: 14}


def test_a_task_that_is_not_over_ends_with_its_last_event() -> None:
    told = Told(end=None)
    told.started(2)
    told.begins(2, EffectKind.IMPLEMENT)
    told.timeline.last = READY + timedelta(minutes=9)

    assert told.minutes() == {Part.NOT_BEGUN: 2, Part.WORKING: 7}


MOVES = st.one_of(
    st.tuples(st.just("started")),
    st.tuples(st.just("ended"), st.sampled_from([0, 3, 4, 130])),
    st.tuples(st.just("begins"), st.sampled_from(EffectKind)),
    st.tuples(st.just("moves"), st.sampled_from([None, *StopReason])),
    st.tuples(st.just("waited"), st.sampled_from(WaitedFor), st.integers(0, 500)),
    st.tuples(st.just("goes_on")),
)


@given(st.lists(st.tuples(st.integers(-50, 400), MOVES)), st.integers(0, 300))
def test_the_parts_always_add_up_to_the_lead_time(life: list[Any], end: int) -> None:
    """Clocks that go back, events before the ready commit and after the merge included."""
    told = Told(end=end)
    for minute, (name, *rest) in life:
        getattr(told, name)(minute, *rest)
    told.minutes()

    assert sum(told.timeline.parts.values()) == end * 60_000
    assert all(ms >= 0 for ms in told.timeline.parts.values())


def test_milliseconds_are_cut_and_never_rounded_up() -> None:
    assert to_ms(datetime(1970, 1, 1, 0, 0, 1, 999_999, tzinfo=UTC)) == 1999
