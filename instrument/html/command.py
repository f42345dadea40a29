"""`instrument html OUT`: one page with every figure and its pictures.

Reads the run folder; writes one file.
"""

import json
import os
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from instrument.asked import Asked
from instrument.figures import Report, Row
from instrument.found import find_home, list_tasks
from instrument.options import asked_of, filters, read, show
from instrument.planner.kept import read_kept
from instrument.report import build_report
from instrument.rows import read_rows
from instrument.writing import replace_file

if TYPE_CHECKING:
    from instrument.html.lanes import History

TASKS = 200
"""Tasks that the page lists, the newest."""
TIMELINES = 50
"""Tasks whose timeline it draws, the newest."""


@click.command()
@click.argument("out", type=click.Path(dir_okay=False, path_type=Path))
@filters
@click.option("--json", "as_json", is_flag=True, help="Print one object about the page instead of a line.")
def html(out: Path, *, as_json: bool, **chosen: Any) -> None:  # noqa: ANN401 - click's values
    """Write one page with the figures and their pictures, which any browser shows without a network.

    It lists the newest 200 tasks and draws the timelines of the newest 50; every figure is of all of them.
    """
    home, asked = find_home(os.environ), asked_of(**chosen)
    try:
        report, drawn, page = read(home, lambda: _page(home, asked))
        replace_file(out, [page])
    except KeyboardInterrupt:
        click.echo(f"Interrupted: {out} is as it was before.", err=True)
        sys.exit(130)
    if as_json:
        show(json.dumps({"out": str(out), "tasks": report.tasks, "timelines": drawn}) + "\n")
        return
    tasks = "1 task" if report.tasks == 1 else f"{report.tasks} tasks"
    show(f"{out} written: {tasks}\n")


def _page(home: Path, asked: Asked) -> tuple[Report, int, str]:
    """The report, how many timelines there are, and the page."""
    # Imported here, since no other command needs it and it takes its time.
    from instrument.html.page import newest_first, render_page  # noqa: PLC0415

    report = build_report(read_rows(home), asked, "week", most=TASKS, planned=read_kept(home)[0])
    newest = list(islice(newest_first(report.rows), TIMELINES))
    histories = _histories(home, newest)
    return report, len(histories), render_page(report, histories, asked, datetime.now(UTC))


def _histories(home: Path, rows: Sequence[Row]) -> "list[History]":
    """The timelines of these tasks; one that is gone meanwhile has none."""
    from instrument.html.lanes import history_of  # noqa: PLC0415 - as above
    from instrument.html.steps import read_steps  # noqa: PLC0415 - as above

    ids = {row.task_id for row in rows}
    found = {named.task_id: named.begun() for named in list_tasks(home) if named.task_id in ids}
    return [history_of(row, read_steps(task)) for row in rows if (task := found.get(row.task_id))]
