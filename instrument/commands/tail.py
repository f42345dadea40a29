"""`instrument tail`: a task's events as they come."""

import os
import sys

import click

from instrument.follow import follow, last_events
from instrument.found import find_home, find_task
from instrument.options import read, show, until_interrupted
from instrument.telling import tell


@click.command()
@click.argument("task")
@click.option("-n", "count", type=click.IntRange(min=0), default=20, show_default=True, help="Events before.")
@click.option("--no-follow", is_flag=True, help="End with what is there.")
@click.option("--json", "as_json", is_flag=True, help="Print the lines as they are in the record.")
def tail(task: str, *, count: int, no_follow: bool, as_json: bool) -> None:
    """Print a task's events as they come, until it is done or Ctrl-C."""
    home = find_home(os.environ)
    file = read(home, lambda: find_task(home, task)).folders[-1] / "events.jsonl"
    with until_interrupted():
        for event in last_events(file, count) if no_follow else follow(file, count):
            show((event.model_dump_json() if as_json else tell(event)) + "\n")
            sys.stdout.flush()
