"""`instrument reads`: what a task's agents read."""

import os

import click

from instrument.found import find_home, find_task
from instrument.options import read, show
from instrument.reads import read_task
from instrument.reads_table import render_reads


@click.command()
@click.argument("task")
@click.option("--json", "as_json", is_flag=True, help="Print one object instead.")
def reads(task: str, *, as_json: bool) -> None:
    """Say what a task's agents read and read again, and how their context grew."""
    home = find_home(os.environ)
    made = read(home, lambda: read_task(find_task(home, task)))
    show(made.model_dump_json() + "\n" if as_json else render_reads(made))
