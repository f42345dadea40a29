"""The `instrument` command: prints what happened, from the files alone.

Reads the environment once and writes to standard output only.
"""

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import click

from instrument.asked import GroupBy
from instrument.export.command import export
from instrument.follow import follow, last_events
from instrument.found import find_home, find_task
from instrument.html.command import html
from instrument.options import Span, asked_of, filters, read, show
from instrument.overview import render_comparison
from instrument.planner.command import planner
from instrument.planner.kept import read_kept
from instrument.reads import read_task
from instrument.reads_table import render_reads
from instrument.report import build_comparison, build_report, one_task
from instrument.rows import read_rows
from instrument.standing import find_standing
from instrument.standing_table import render_standing
from instrument.table import render, render_bill
from instrument.telling import tell
from instrument.window import Window

_WATCH_S = 2.0
_ROWS = 20
"""Tasks that a report lists unless it is told to list all."""


@click.group()
@click.version_option(package_name="factory-loop")
def main() -> None:
    """What happened to tasks, and what an accepted one cost."""


@main.command()
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


@main.command()
@click.option("--check", is_flag=True, help="Exit 1 where a task is interrupted or unreadable: for cron.")
@click.option("--watch", is_flag=True, help="Show it again every two seconds, until Ctrl-C.")
@click.option("--json", "as_json", is_flag=True, help="Print one object a task instead.")
def status(*, check: bool, watch: bool, as_json: bool) -> None:
    """Say where every task stands that is not done, interrupted ones first, each with its command."""
    home = find_home(os.environ)
    with _until_interrupted():
        while True:
            standing = read(home, lambda: find_standing(home))
            text = "".join(each.model_dump_json() + "\n" for each in standing)
            if not as_json:
                text = render_standing(standing, datetime.now(UTC))
            if watch and sys.stdout.isatty():
                click.clear()
            show(text)
            if not watch:
                break
            time.sleep(_WATCH_S)
    if check and any(each.how in ("interrupted", "unreadable") for each in standing):
        sys.exit(1)


@main.command()
@click.argument("task")
@click.option("-n", "count", type=click.IntRange(min=0), default=20, show_default=True, help="Events before.")
@click.option("--no-follow", is_flag=True, help="End with what is there.")
@click.option("--json", "as_json", is_flag=True, help="Print the lines as they are in the record.")
def tail(task: str, *, count: int, no_follow: bool, as_json: bool) -> None:
    """Print a task's events as they come, until it is done or Ctrl-C."""
    home = find_home(os.environ)
    file = read(home, lambda: find_task(home, task)).folders[-1] / "events.jsonl"
    with _until_interrupted():
        for event in last_events(file, count) if no_follow else follow(file, count):
            show((event.model_dump_json() if as_json else tell(event)) + "\n")
            sys.stdout.flush()


@contextmanager
def _until_interrupted() -> Iterator[None]:
    """Ctrl-C ends what runs until then, with the shells' exit code for it."""
    try:
        yield
    except KeyboardInterrupt:
        sys.exit(130)


@main.command()
@click.argument("task")
@click.option("--json", "as_json", is_flag=True, help="Print one object instead.")
def reads(task: str, *, as_json: bool) -> None:
    """Say what a task's agents read and read again, and how their context grew."""
    home = find_home(os.environ)
    made = read(home, lambda: read_task(find_task(home, task)))
    show(made.model_dump_json() + "\n" if as_json else render_reads(made))


main.add_command(export)
main.add_command(planner)
main.add_command(html)
