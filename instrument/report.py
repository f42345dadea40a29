"""Sums tasks up to a report.

Reads the files of one task at a time; writes nothing.
"""

from collections.abc import Iterable
from pathlib import Path

from instrument.figures import Report, Row
from instrument.found import FoundTask, find_task
from instrument.row import build_row
from instrument.schema.usage import Usage
from instrument.schema.vocabulary import DoneReason, Purpose


class TaskNotFoundError(LookupError):
    """No task of this id ever began under the run folder; the text is one sentence."""


def build_report(tasks: Iterable[FoundTask], purpose: Purpose | None) -> Report:
    """Report on the tasks of one purpose (none: of all).

    A task whose purpose cannot be told is in every report: it may belong there,
    and leaving it out would make the figures look whole.
    """
    rows: list[Row] = []
    not_shown = 0
    for task in tasks:
        row = build_row(task)
        if purpose is None or row.purpose in (purpose, None):
            rows.append(row)
        else:
            not_shown += 1
    accepted = sum(row.done is DoneReason.MERGED for row in rows)
    known = [row.cost_microusd for row in rows if row.cost_microusd is not None]
    cost = sum(known) if known or not rows else None
    return Report(
        purpose=purpose,
        tasks=len(rows),
        accepted=accepted,
        done_unmerged=sum(row.done is not None for row in rows) - accepted,
        cost_microusd=cost,
        lower_bound=any(row.lower_bound for row in rows),
        unmetered_parts=sum(row.unmetered_parts for row in rows),
        cost_per_accepted_microusd=None if cost is None or not accepted else -(-cost // accepted),
        usage=sum((row.usage for row in rows), Usage()),
        usage_complete=all(row.usage_complete for row in rows),
        not_shown=not_shown,
        rows=tuple(rows),
    )


def one_task(home: Path, task_id: str) -> Row:
    """Give the row of one task, with a line for each of its jobs.

    Raises:
        TaskNotFoundError: It never began under `home`.
        OSError: `home` cannot be listed.
    """
    task = find_task(home, task_id)
    if task is None:
        raise TaskNotFoundError(f"no task {task_id} has begun under {home}")
    return build_row(task)
