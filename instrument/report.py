"""Sums tasks up to a report.

Reads the files of one task at a time; writes nothing.
"""

from collections.abc import Iterable
from datetime import UTC, datetime
from heapq import nlargest
from itertools import groupby
from pathlib import Path

from instrument.asked import Asked, GroupBy, key_of
from instrument.figures import Bill, Comparison, Group, Report, Row
from instrument.found import find_task
from instrument.planner.days import is_in, sum_up
from instrument.planner.figures import PlannerDay, Planning
from instrument.rows import whole_row
from instrument.summary import summarise
from instrument.window import Window


def build_report(
    rows: Iterable[Row],
    asked: Asked,
    by: GroupBy | None = None,
    *,
    most: int | None = None,
    planned: Iterable[PlannerDay] = (),
) -> Report:
    """Report on the tasks that are asked for, all together and by group.

    Args:
        rows: Of all tasks, in order of their ids.
        asked: Which of them count.
        by: What to group them by.
        most: How many of them are listed, the newest; none: all.
        planned: What is kept of persons' own sessions.
    """
    shown: list[Row] = []
    not_shown = 0
    for row in rows:
        if asked.has(row):
            shown.append(row)
        else:
            not_shown += 1
    summary = summarise(shown)
    return Report(
        **dict(summary),
        purpose=asked.purpose,
        not_shown=not_shown,
        groups=_groups(shown, by) if by else (),
        rows=tuple(map(whole_row, _newest(shown, most))),
        planner=_planning(planned, asked, shown, summary.accepted),
    )


def _planning(planned: Iterable[PlannerDay], asked: Asked, rows: list[Row], accepted: int) -> Planning | None:
    """Sessions are told apart by repo and day only: beside a part of a repo's tasks they say nothing."""
    if asked.runtime or asked.model or asked.state:
        return None
    repos = {row.repo for row in rows}
    return sum_up([day for day in planned if day.repo in repos and is_in(day, asked.window)], accepted)


def build_comparison(rows: Iterable[Row], asked: Asked, spans: tuple[Window, Window]) -> Comparison:
    """Put two spans of time side by side, of the tasks that are asked for."""
    shown = [row for row in rows if asked.has(row)]
    first, second = (summarise([row for row in shown if span.has(row.at_utc)]) for span in spans)
    return Comparison(first=first, second=second)


def _newest(rows: list[Row], most: int | None) -> list[Row]:
    """The newest ones, still in order of their ids."""
    if most is None or len(rows) <= most:
        return rows
    oldest = datetime.min.replace(tzinfo=UTC)
    newest = nlargest(most, rows, key=lambda row: row.at_utc or oldest)
    return sorted(newest, key=lambda row: row.task_id)


def _groups(rows: list[Row], by: GroupBy) -> tuple[Group, ...]:
    key = key_of(by)
    ordered = sorted(rows, key=key)
    return tuple(Group(key=name, summary=summarise(list(each))) for name, each in groupby(ordered, key))


def one_task(home: Path, task_id: str) -> Bill:
    """Give one task, with a line for each of its jobs.

    Raises:
        TaskNotFoundError: It never began under `home`.
        OSError: `home` cannot be listed.
    """
    # Imported here: see `instrument.rows`.
    from instrument.row import build_bill  # noqa: PLC0415

    return build_bill(find_task(home, task_id))
