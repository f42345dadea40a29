from datetime import UTC, datetime, timedelta

from engine.messages import TurnAsk
from engine.turns import in_order

NOON = datetime(2026, 12, 1, 12, tzinfo=UTC)


def ask(task_id: str, minutes: int, *, urgent: bool = False) -> TurnAsk:
    return TurnAsk(
        task_id=task_id,
        n=1,
        asked_utc=NOON + timedelta(minutes=minutes),
        urgent=urgent,
        checkout="/a",
        task="tasks/001-a.md",
        files=("src/**",),
        generated=(),
        must_pass=(),
        count=2,
    )


def ids(*asks: TurnAsk) -> list[str]:
    return [each.task_id for each in in_order(asks)]


def test_who_asked_first_is_looked_at_first() -> None:
    assert ids(ask("a-002", 5), ask("a-001", 9), ask("a-003", 1)) == ["a-003", "a-002", "a-001"]


def test_an_urgent_one_is_looked_at_before_all_that_are_not() -> None:
    assert ids(ask("a-001", 1), ask("a-002", 9, urgent=True), ask("a-003", 5, urgent=True)) == [
        "a-003",
        "a-002",
        "a-001",
    ]


def test_of_those_that_asked_at_once_the_lower_number_is_first() -> None:
    assert ids(ask("a-002", 1), ask("a-001", 1)) == ["a-001", "a-002"]
