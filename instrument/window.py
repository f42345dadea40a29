"""Spans of time as a person types them: `2026-W48`, `2026-11`, `2026-11-30`, `2026-11-01..2026-11-30`.

Pure: no I/O. Days, weeks (ISO 8601: from Monday) and months are UTC's.
"""

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

_WEEK = re.compile(r"(\d{4})-W(\d{2})")
_MONTH = re.compile(r"(\d{4})-(\d{2})")
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_DECEMBER = 12
FORMS = "a day (2026-11-30), a week (2026-W48), a month (2026-11) or two days (2026-11-01..2026-11-30)"


@dataclass(frozen=True, slots=True)
class Window:
    """From `start` until before `end`; none of either: open on that side."""

    start: datetime | None = None
    end: datetime | None = None

    def has(self, at: datetime | None) -> bool:
        """Whether a time is inside; a time that is not known is only in the window of all times."""
        if at is None:
            return self.start is None and self.end is None
        return (self.start is None or self.start <= at) and (self.end is None or at < self.end)


def parse_window(text: str) -> Window:
    """Read one of the forms.

    Raises:
        ValueError: It is none of them; one sentence.
    """
    first, dots, last = text.partition("..")
    try:
        begin, end = _span(first)
        if dots:
            _, end = _span(last)
    except ValueError:
        raise ValueError(f"{text!r} is no span of time: write {FORMS}") from None
    if end <= begin:
        raise ValueError(f"{text!r} ends before it begins: write the earlier day first")
    return Window(_midnight(begin), _midnight(end))


def week_of(at: datetime) -> str:
    """The week that a time is in, as `parse_window` reads it."""
    year, week, _ = at.astimezone(UTC).isocalendar()
    return f"{year}-W{week:02d}"


def _span(text: str) -> tuple[date, date]:
    """The first day, and the first one after it."""
    if found := _WEEK.fullmatch(text):
        monday = date.fromisocalendar(int(found[1]), int(found[2]), 1)
        return monday, monday + timedelta(weeks=1)
    if found := _MONTH.fullmatch(text):
        year, month = int(found[1]), int(found[2])
        following = date(year + 1, 1, 1) if month == _DECEMBER else date(year, month + 1, 1)
        return date(year, month, 1), following
    if _DAY.fullmatch(text):
        day = date.fromisoformat(text)
        return day, day + timedelta(days=1)
    raise ValueError(text)


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)
