"""One examination: every check, printed as it ends.

Prints to standard output; a terminal, whichever of the two there is, shows the check that runs.
"""

import os
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Self

import click
from rich.console import Console
from rich.live import Live
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from instrument.show import plain
from jobs.progress import Progress
from loop.doctor.checks import Check, Result, examine
from loop.doctor.finding import State
from loop.doctor.show import STATE_WIDTH, STYLES, as_json, plain_line, summary
from loop.doctor.surroundings import Surroundings
from loop.doctor.table import CHECKS
from loop.signals import Signals

WIDTH = max(len(check.name) for check in CHECKS)
UNWELL = 1
"""The exit code where a check failed; `Exit.BUG` has the same number."""


class Shown:
    """What is looked at, for as long as it is; without a console it is not shown."""

    def __init__(self, console: Console | None) -> None:
        self._spinner = Spinner("dots", style="cyan")
        self._live: Live | None = None
        if console is not None:
            # The results go elsewhere than where this is shown, or through the same console.
            self._live = Live(
                self._spinner,
                console=console,
                transient=True,
                redirect_stdout=False,
                redirect_stderr=False,
                refresh_per_second=10,
            )
        self._name = ""

    def __enter__(self) -> Self:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def began(self, check: Check) -> None:
        """Show the name of a check that begins."""
        self._name = check.name
        self._spinner.update(text=f"{self._name} …")

    def beats(self, beat: Progress) -> None:
        """Show for how long its job has run."""
        self._spinner.update(text=f"{self._name} … {beat.elapsed_s:.0f} s")


def doctor(repo: Path, *, is_json: bool) -> int:
    """Do every check and print it as it ends; a signal ends its containers first."""
    Signals().install()
    out, err = Console(), Console(stderr=True)
    table = out if out.is_terminal and not is_json else None
    # Beside other output on a terminal it would stand within that.
    console = table or (err if err.is_terminal and not out.is_terminal else None)
    with (
        tempfile.TemporaryDirectory(prefix="factory-doctor-", ignore_cleanup_errors=True) as scratch,
        Shown(console) as shown,
    ):
        surroundings = Surroundings(repo, dict(os.environ), Path(scratch), datetime.now(UTC), shown.beats)
        results = []
        try:
            for result in examine(CHECKS, surroundings, shown.began):
                results.append(result)
                _print(result, table, is_json=is_json)
        finally:
            surroundings.close()
    if not is_json:
        click.echo(f"\n{summary(results)}")
    return UNWELL if any(result.finding.state is State.FAILED for result in results) else 0


def _print(result: Result, table: Console | None, *, is_json: bool) -> None:
    if is_json:
        click.echo(as_json(result))
    elif table is not None:
        table.print(_row(result))
    else:
        click.echo(plain_line(result, WIDTH))


def _row(result: Result) -> Table:
    """One check for a person: what to do stands below what was found."""
    finding = result.finding
    row = Table.grid(padding=(0, 2))
    row.add_column(width=STATE_WIDTH)
    row.add_column(width=WIDTH)
    row.add_column(overflow="fold")
    text = Text(plain(finding.found), "dim" if finding.state is State.SKIPPED else "")
    if finding.mend:
        text.append(f"\n→ {plain(finding.mend)}", "cyan")
    row.add_row(Text(finding.state, STYLES[finding.state]), Text(result.name), text)
    return row
