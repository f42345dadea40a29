from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta

import pytest

from instrument.schema.vocabulary import WaitedFor
from loop.errors import BusyError
from loop.signals import Interrupted
from loop.waiting import Waiting, busy_as_waiting, until_reset, wait_for

NOW = datetime(2026, 12, 1, 12, 0, tzinfo=UTC)


class Time:
    """A clock that only sleeping moves."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.slept: list[float] = []
        self.said: list[tuple[float, str]] = []

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds

    def say(self, line: str) -> None:
        self.said.append((self.now - 1000, line))

    def wait(self, condition: Callable[[], object], **how: object) -> object:
        return wait_for(condition, say=self.say, sleep=self.sleep, clock=lambda: self.now, **how)


def looks(*each: object) -> Callable[[], object]:
    left = iter(each)
    return lambda: next(left)


def test_what_is_there_is_taken_without_a_word() -> None:
    time = Time()

    assert time.wait(looks("it")) == "it"
    assert time.wait(looks(None)) is None
    assert (time.said, time.slept) == ([], [])


def test_it_is_said_once_and_again_every_ten_minutes() -> None:
    time = Time()

    time.wait(lambda: "it" if time.now >= 1000 + 1500 else Waiting("waits for a", WaitedFor.TASK, poll_s=30))

    assert time.said == [(0, "waits for a"), (600, "waits for a"), (1200, "waits for a")]
    assert max(time.slept) <= 0.5


def test_another_reason_is_said_after_a_minute_and_not_at_every_look() -> None:
    time = Time()

    def flaps() -> object:
        elapsed = time.now - 1000
        return "it" if elapsed >= 130 else Waiting("ab"[int(elapsed / 0.5) % 2], WaitedFor.TASK, poll_s=0.5)

    time.wait(flaps)

    assert [at for at, _ in time.said] == pytest.approx([0, 60.5, 121], abs=1)


def test_no_time_to_wait_is_busy_with_the_line_at_once() -> None:
    time = Time()

    with pytest.raises(BusyError, match=r"^x waits for y; --wait waits for it$"):
        time.wait(looks(Waiting("x waits for y", WaitedFor.TASK)), timeout_s=0)
    assert (time.said, time.slept) == ([], [])


def test_time_runs_out_between_two_looks() -> None:
    time = Time()

    with pytest.raises(BusyError):
        time.wait(lambda: Waiting("x", WaitedFor.TASK, poll_s=30), timeout_s=40)
    assert time.now == 1040


@pytest.mark.parametrize("asked", [True, False])
def test_a_signal_ends_it_within_half_a_second(asked: bool) -> None:  # noqa: FBT001
    time = Time()

    def end_it(*_: float) -> None:
        raise Interrupted(15)

    how = {"interrupted": end_it} if asked else {}
    with pytest.raises(Interrupted):
        wait_for(
            lambda: Waiting("x", WaitedFor.TASK, poll_s=3000),
            say=time.say,
            sleep=time.sleep if asked else end_it,
            **how,
        )
    assert time.slept == []


def test_the_mark_is_looked_at_between_slices() -> None:
    time = Time()

    def interrupted() -> None:
        if time.now > 1002:
            raise Interrupted(2)

    with pytest.raises(Interrupted):
        time.wait(lambda: Waiting("x", WaitedFor.TASK, poll_s=3000), interrupted=interrupted)
    assert time.now <= 1003


def test_busy_becomes_waiting_and_nothing_else_does() -> None:
    def busy(errors: Iterable[Exception]) -> str:
        for error in errors:
            raise error
        return "it"

    assert busy_as_waiting(lambda: busy([BusyError("x waits")]), 7) == Waiting("x waits", WaitedFor.TASK, 7)
    assert busy_as_waiting(lambda: busy([])) == "it"
    with pytest.raises(KeyError):
        busy_as_waiting(lambda: busy([KeyError()]))


def test_a_reset_time_is_kept_by_the_wall_clock() -> None:
    waiting = until_reset("demo-007", NOW + timedelta(hours=3), NOW)
    assert waiting is not None
    assert waiting.line == (
        "demo-007 waits for the provider's rate limit, which resets at 2026-12-01 15:00:00 UTC; "
        "nothing is spent until then"
    )
    near = until_reset("demo-007", NOW + timedelta(seconds=2), NOW)
    assert near is not None
    assert near.poll_s == 2
    assert until_reset("demo-007", NOW, NOW) is None


def test_each_wait_is_told_with_its_length_once_it_is_over() -> None:
    time = Time()
    told: list[tuple[WaitedFor, float]] = []

    def changes() -> object:
        elapsed = time.now - 1000
        if elapsed >= 5:
            return "it"
        return Waiting("x", WaitedFor.TASK if elapsed < 3 else WaitedFor.SLOT, poll_s=0.5)

    time.wait(changes, waited=lambda *what: told.append(what))
    assert told == [(WaitedFor.TASK, 3.0), (WaitedFor.SLOT, 2.0)]


def test_a_wait_that_is_given_up_is_told_too() -> None:
    time = Time()
    told: list[tuple[WaitedFor, float]] = []

    with pytest.raises(BusyError):
        time.wait(looks(Waiting("x", WaitedFor.MAIN)), timeout_s=0, waited=lambda *what: told.append(what))
    assert told == [(WaitedFor.MAIN, 0.0)]
