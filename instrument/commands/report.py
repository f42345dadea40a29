"""`instrument report`: what an accepted task cost, and where the time went."""

import gc
import os
from typing import Any

import click

from instrument.asked import GroupBy
from instrument.found import find_home
from instrument.options import Span, asked_of, filters, read, show
from instrument.overview import render_comparison
from instrument.planner.kept import read_kept
from instrument.report import build_comparison, build_report, one_task
from instrument.rows import read_rows
from instrument.table import render, render_bill
from instrument.window import Window

_ROWS = 20
"""Tasks that a report lists unless it is told to list all."""


@click.command()
@click.argument("task", required=False)
@filters
@click.option("--by", type=click.Choice(["week", "repo", "runtime", "model"]), help="Group by it.")
@click.option("--compare", type=Span(), nargs=2, metavar="A B", help="Put two spans of time side by side.")
@click.option("--all", "has_all", is_flag=True, help=f"List every task, not the newest {_ROWS}.")
@click.option("--json", "as_json", is_flag=True, help="Print one object with exact integers instead.")
def report(
    task: str | None,
    *,
    by: GroupBy | None,
    compare: tuple[Window, Window] | None,
    has_all: bool,
    as_json: bool,
    **chosen: Any,  # noqa: ANN401 - click's values, each of its option's type
) -> None:
    """Say what an accepted task cost: a headline, where the time went, then a row a task.

    With TASK, such as `shop-007`: its bill, a line a job. A span of time is a day (2026-11-30), a week
    (2026-W48), a month (2026-11) or two of them (2026-11-01..2026-11-15). Reads the run folder:
    $FACTORY_HOME, else the user's state folder.
    """
    # A process of a moment: nothing that it makes goes in circles, and looking for them takes a tenth of it.
    gc.disable()
    home = find_home(os.environ)
    if task is not None:
        bill = read(home, lambda: one_task(home, task))
        show(bill.model_dump_json() + "\n" if as_json else render_bill(bill))
        return
    asked = asked_of(**chosen)
    if compare:
        pair = read(home, lambda: build_comparison(read_rows(home), asked, compare))
        show(pair.model_dump_json() + "\n" if as_json else render_comparison(_titles(compare), pair))
        return
    most = None if has_all or as_json else _ROWS
    made = read(home, lambda: build_report(read_rows(home), asked, by, most=most, planned=read_kept(home)[0]))
    show(made.model_dump_json() + "\n" if as_json else render(made))


def _titles(spans: tuple[Window, Window]) -> tuple[str, str]:
    first, second = (span.start.strftime("from %Y-%m-%d") if span.start else "" for span in spans)
    return first, second
