"""`instrument planner`: looks at the sessions on this machine and keeps what it saw.

Reads the agents' logs, writes `planner.jsonl` of the run folder.
"""

import os
from functools import cache
from pathlib import Path

import click

from instrument.found import find_home
from instrument.options import Span, read, show
from instrument.planner.calls import Call, count_of
from instrument.planner.days import days_of, is_in, sum_up
from instrument.planner.figures import PlannerReport
from instrument.planner.kept import FILE, keep, merge, read_kept
from instrument.planner.logs import read_calls
from instrument.planner.places import find_place
from instrument.planner.table import render_planner
from instrument.window import Window

_ROWS = 20
"""Days that are listed unless all are asked for."""


@click.command()
@click.option("--repo", help="Only sessions in this repo.")
@click.option("--since", type=Span(), help="Only in or after this day, week or month (UTC).")
@click.option("--until", type=Span(), help="Only in or before it.")
@click.option("--all", "has_all", is_flag=True, help=f"List every day, not the newest {_ROWS}.")
@click.option("--json", "as_json", is_flag=True, help="Print one object with exact integers instead.")
def planner(
    *, repo: str | None, since: Window | None, until: Window | None, has_all: bool, as_json: bool
) -> None:
    """Count what your own sessions of Claude Code and Codex used, by repo and day.

    Reads their logs on this machine and nothing of what was said in them. What it counted is kept in the run
    folder, where `instrument report` finds it, also after the logs are gone: run it from cron.
    """
    home = find_home(os.environ)
    made = read(home, lambda: _look(home))
    window = Window(since.start if since else None, until.end if until else None)
    days = tuple(day for day in made.days if repo in (None, day.repo) and is_in(day, window))
    made = made.model_copy(update={"days": days, "total": sum_up(days, 0)})
    show(made.model_dump_json() + "\n" if as_json else render_planner(made, None if has_all else _ROWS))


def _look(home: Path) -> PlannerReport:
    """Read the logs, and keep what they say with what was kept."""
    # Imported here, since the price data takes a tenth of a second.
    from instrument.planner.prices import cost_of  # noqa: PLC0415

    kept, bad = read_kept(home)
    calls, missing = read_calls(os.environ, Path.home())
    known = {day.folder: day.repo for day in kept}

    @cache
    def place_of(cwd: str) -> tuple[str, str]:
        return find_place(cwd, known)

    def price_of(call: Call) -> int | None:
        return cost_of(call.program, call.model, call.usage, call.at_utc)

    days = merge(kept, days_of(calls, price_of, place_of))
    if days != kept:
        keep(home, days, bad)
    if bad:
        missing = (*missing, f"{count_of(len(bad), 'line')} of {home / FILE}")
    return PlannerReport(days=tuple(days), total=sum_up(days, 0), missing=missing)
