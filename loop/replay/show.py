"""Tells a person how far a replay is and how it ended.

Limits: a bar where the stream is a terminal, else a line every ten seconds; nothing is decided here.
"""

import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

from loop.replay.reasons import SENTENCES
from loop.replay.record import Fate, Line

EVERY_S = 10.0
SHOWN_PATHS = 3


def show_line(line: Line) -> str:
    """One commit in one line."""
    paths = ", ".join(line.paths[:SHOWN_PATHS])
    rest = len(line.paths) - SHOWN_PATHS
    more = f" and {rest} more" if rest > 0 else ""
    parts = [f"{line.commit[:12]}  {line.fate}", line.reason, f"{paths}{more}", line.detail]
    return "  ".join(part for part in parts if part)


def summary(lines: list[Line], seconds: float, carried: int) -> str:
    """The end of a replay, a sentence a row: how many travelled, and why the others did not."""
    fates = Counter(line.fate for line in lines)
    reasons = Counter((line.fate, line.reason) for line in lines if line.reason)
    speed = f", {carried / seconds:.1f} a second" if carried and seconds > 0 else ""
    rows = [f"{fates[Fate.TRAVELLED]} of {len(lines)} commits travelled{speed}."]
    order = list(SENTENCES)
    for (fate, reason), count in sorted(reasons.items(), key=lambda row: order.index(row[0][1] or "")):
        rows.append(f"{count} {fate}: {reason} ({SENTENCES[reason or '']}).")
    if fates[Fate.MISMATCH]:
        rows.append("A mismatch is a bug of ours: please report it with the file that its line names.")
    return "\n".join(rows)


@contextmanager
def bar(stream: TextIO, total: int, done: int) -> Iterator[Callable[[], None]]:
    """Something that shows how far it is; what it gives is called after each commit."""
    if stream.isatty():
        with _live_bar(stream, total, done) as advance:
            yield advance
        return
    count, spoke = done, time.monotonic()

    def step() -> None:
        nonlocal count, spoke
        count += 1
        if time.monotonic() - spoke > EVERY_S:
            spoke = time.monotonic()
            stream.write(f"{count} of {total} commits\n")
            stream.flush()

    yield step


@contextmanager
def _live_bar(stream: TextIO, total: int, done: int) -> Iterator[Callable[[], None]]:
    # Imported here, since nobody else needs it and it takes its time.
    from rich import progress as rich  # noqa: PLC0415
    from rich.console import Console  # noqa: PLC0415

    columns = (
        rich.TextColumn("replay"),
        rich.BarColumn(),
        rich.MofNCompleteColumn(),
        rich.TimeRemainingColumn(),
    )
    console = Console(file=stream, force_terminal=True)
    with rich.Progress(
        *columns, console=console, transient=True, redirect_stdout=sys.stdout.isatty()
    ) as progress:
        row = progress.add_task("replay", total=total, completed=done)
        yield lambda: progress.advance(row)
