"""docs/benchmarks.md out of sections, and the tables that these are made of.

Pure: no I/O.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tests.bench.figures import Goal, Spread

_HEAD = """\
# Benchmarks

Written by `make bench`; `make bench ONLY=NAME` measures one section anew and leaves the others as they are.
The figures of every round are in `benchmarks.json` beside this page. These are benchmarks and no tests: read
the ratios, each taken within a round between what ran in it side by side; the absolute figures are those of
one machine. Shown are medians and, in brackets, the quartiles.
"""


@dataclass(frozen=True, slots=True)
class Part:
    """One section of the page."""

    name: str
    """As `ONLY` takes it."""
    title: str
    date: str
    cores: int
    load: float
    """How many processes wanted a core in the minute before: above a half, the figures are noise."""
    body: str
    """Its method first, then goals and figures."""


def render(parts: Iterable[Part]) -> str:
    """The whole page; a part that was never measured is left out by the caller."""
    return "\n".join([_HEAD, *(_section(part) for part in parts)])


def _section(part: Part) -> str:
    machine = f"{part.cores} cores, load before it {part.load:.1f}"
    return f"## {part.title}\n`{part.name}`, measured on {part.date}, {machine}.\n\n{part.body.strip()}\n"


def goals_table(head: Sequence[str], rows: Iterable[tuple[Goal, Sequence[Spread | None]]]) -> str:
    """A row a goal, and a column of measured figures for each word of `head`; none: not measured."""
    cells = ([goal.name, _wanted(goal), *(_judged(goal, each) for each in found)] for goal, found in rows)
    return table(["", "goal", *head], cells)


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _wanted(goal: Goal) -> str:
    return f"{'at least' if goal.is_floor else 'at most'} {number(goal.limit)} {goal.unit}".rstrip()


def _judged(goal: Goal, spread: Spread | None) -> str:
    if spread is None:
        return "not measured"
    return f"{shown(spread)} {'met' if goal.is_met(spread) else '**missed**'}"


def shown(spread: Spread | None) -> str:
    """A median with its quartiles, where they differ; empty where there is none."""
    if spread is None:
        return ""
    middle, low, high = (number(value) for value in (spread.middle, spread.low, spread.high))
    return middle if low == high == middle else f"{middle} ({low} to {high})"


def number(value: float) -> str:
    """Three digits, whole from 100 on."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
