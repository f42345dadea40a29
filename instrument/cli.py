"""The `instrument` command: prints what happened, from the files alone.

Reads the environment once and writes to standard output only.
"""

import os
import sys

import click

from instrument.found import find_home, find_tasks
from instrument.report import build_report
from instrument.schema.vocabulary import Purpose
from instrument.table import render

_ALL = "all"
_ASCII = {"≥": ">=", "…": "..."}


@click.group()
@click.version_option(package_name="factory-loop")
def main() -> None:
    """What happened to tasks, and what an accepted one cost."""


@main.command()
@click.option(
    "--purpose",
    type=click.Choice([*(purpose.value for purpose in Purpose), _ALL]),
    default=Purpose.TASK.value,
    show_default=True,
    help="Which tasks count.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one object with exact integers instead.")
def report(purpose: str, *, as_json: bool) -> None:
    """Say what an accepted task cost: a headline, then a row a task.

    Reads the run folder: $FACTORY_HOME, else the user's state folder.
    """
    home = find_home(os.environ)
    try:
        made = build_report(find_tasks(home), None if purpose == _ALL else Purpose(purpose))
    except OSError as error:
        sentence = (
            f"the run folder {home} cannot be read ({error.strerror}); set FACTORY_HOME to the right one"
        )
        raise click.UsageError(sentence) from error
    click.echo(_printable(made.model_dump_json() + "\n" if as_json else render(made)), nl=False)


def _printable(text: str) -> str:
    """Fit text to the terminal's encoding: a Latin-1 one has no `≥` and would make a stack trace."""
    encoding = sys.stdout.encoding or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        for mark, plain in _ASCII.items():
            text = text.replace(mark, plain)
        return text.encode(encoding, "replace").decode(encoding)
    return text
