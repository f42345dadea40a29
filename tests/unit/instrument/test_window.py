from datetime import UTC, datetime

import pytest

from instrument.window import Window, parse_window, week_of


def day(year: int, month: int, number: int) -> datetime:
    return datetime(year, month, number, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "begin", "end"),
    [
        ("2026-11-30", day(2026, 11, 30), day(2026, 12, 1)),
        ("2026-11", day(2026, 11, 1), day(2026, 12, 1)),
        ("2026-12", day(2026, 12, 1), day(2027, 1, 1)),
        # ISO 8601: week 1 of 2026 begins on a Monday of 2025.
        ("2026-W01", day(2025, 12, 29), day(2026, 1, 5)),
        ("2026-W53", day(2026, 12, 28), day(2027, 1, 4)),
        ("2026-11-01..2026-11-03", day(2026, 11, 1), day(2026, 11, 4)),
        ("2026-10..2026-W45", day(2026, 10, 1), day(2026, 11, 9)),
    ],
)
def test_every_form_has_its_first_moment_and_the_first_after_it(
    text: str, begin: datetime, end: datetime
) -> None:
    assert parse_window(text) == Window(begin, end)


@pytest.mark.parametrize("text", ["", "yesterday", "2026-13", "2026-02-30", "2025-W53", "2026-11-01..", "7d"])
def test_anything_else_is_refused_with_what_to_write(text: str) -> None:
    with pytest.raises(ValueError, match=r"is no span of time: write a day \(2026-11-30\)"):
        parse_window(text)


def test_an_end_before_its_beginning_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^'2026-12..2026-11' ends before it begins"):
        parse_window("2026-12..2026-11")


def test_the_end_is_not_inside_and_no_time_is_only_in_all_times() -> None:
    window = parse_window("2026-11-30")

    assert window.has(day(2026, 11, 30))
    assert not window.has(day(2026, 12, 1))
    assert not window.has(None)
    assert Window().has(None)


def test_a_times_week_can_be_typed_again() -> None:
    at = day(2027, 1, 3)

    assert week_of(at) == "2026-W53"
    assert parse_window(week_of(at)).has(at)
