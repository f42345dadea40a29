"""The headline over time: columns by week, in panels that stand over each other.

Pure: no I/O.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from instrument.asked import UNKNOWN as UNKNOWN_KEY
from instrument.figures import Group
from instrument.html.bars import percent
from instrument.money import MICROUSD_PER_USD
from instrument.overview import show_each
from instrument.show import UNKNOWN, show_ms
from instrument.window import parse_window

MOST = 52
"""Weeks in the picture, the newest; the table has them all."""
HEIGHT_PX = 96
_LABELS = 6
"""Weeks that are named below the columns."""
_NICE = (1, 2, 5)
_FINEST_MICROUSD = 1000
_HOUR_MS = 3_600_000
_NICE_MS = (
    *(seconds * 1000 for seconds in (1, 2, 10, 30, 60, 120, 600, 1800)),
    *(hours * _HOUR_MS for hours in (1, 2, 6, 12, 24, 48, 120, 240, 720)),
)


@dataclass(frozen=True, slots=True)
class Column:
    """One week in one panel; heights are pixels from the floor."""

    x: str
    middle: str
    width: str
    height_px: float
    title: str
    text: str
    is_lower_bound: bool
    has_figure: bool


@dataclass(frozen=True, slots=True)
class Panel:
    """One figure by week."""

    name: str
    top: str
    half: str
    columns: tuple[Column, ...]


@dataclass(frozen=True, slots=True)
class Label:
    """The name of a week below its column."""

    at: str
    week: str


@dataclass(frozen=True, slots=True)
class Weeks:
    """All panels, which have their columns in common."""

    panels: tuple[Panel, ...]
    labels: tuple[Label, ...]
    older: int
    """Weeks that the picture leaves out."""
    has_gap: bool
    """Whether weeks without a task lie between two columns."""


def weeks_of(groups: Sequence[Group]) -> Weeks:
    """Columns of groups by week; one whose week is not known is only in the table."""
    dated = [group for group in groups if group.key != UNKNOWN_KEY]
    shown = dated[-MOST:]
    count = len(shown)
    step = -(-count // _LABELS) or 1
    labels = tuple(
        Label(percent(index + 0.5, count), group.key)
        for index, group in enumerate(shown)
        if (count - 1 - index) % step == 0
    )
    panels = (_cost(shown), _accepted(shown), _lead(shown)) if shown else ()
    return Weeks(panels, labels, len(dated) - count, _has_gap(shown))


def _cost(groups: Sequence[Group]) -> Panel:
    values = [group.summary.cost_per_accepted_microusd for group in groups]
    texts = [show_each(group.summary) for group in groups]
    top = _nice_top(max((value or 0 for value in values), default=0), _FINEST_MICROUSD)
    marks = [group.summary.lower_bound for group in groups]
    return Panel(
        "Cost per accepted task", _usd(top), _usd(top / 2), _columns(groups, values, texts, top, marks)
    )


def _accepted(groups: Sequence[Group]) -> Panel:
    values: list[int | None] = [group.summary.accepted for group in groups]
    texts = [f"{group.summary.accepted} of {group.summary.tasks}" for group in groups]
    # Twice a whole number, so that half of it is one too.
    half = _nice_top(-(-max(value or 0 for value in values) // 2), 1)
    top = 2 * half
    return Panel("Tasks accepted", str(top), str(half), _columns(groups, values, texts, top))


def _lead(groups: Sequence[Group]) -> Panel:
    values = [group.summary.lead_ms.median for group in groups]
    texts = [UNKNOWN if value is None else show_ms(value) for value in values]
    longest = max((value or 0 for value in values), default=0)
    top = next((nice for nice in _NICE_MS if nice >= longest), longest)
    return Panel("Lead time, median", show_ms(top), show_ms(top // 2), _columns(groups, values, texts, top))


def _columns(
    groups: Sequence[Group],
    values: Sequence[int | None],
    texts: Sequence[str],
    top: int,
    marks: Sequence[bool] = (),
) -> tuple[Column, ...]:
    count = len(groups)
    return tuple(
        Column(
            x=percent(index + 0.15, count),
            middle=percent(index + 0.5, count),
            width=percent(0.7, count),
            height_px=round(HEIGHT_PX * (value or 0) / top, 2) if top else 0,
            title=f"{group.key}: {text}",
            text=text,
            is_lower_bound=bool(marks) and marks[index],
            has_figure=value is not None,
        )
        for index, (group, value, text) in enumerate(zip(groups, values, texts, strict=True))
    )


def _nice_top(longest: int, finest: int) -> int:
    """The first of 1, 2, 5, 10, 20, … times the finest that is not below the longest."""
    while True:
        for nice in _NICE:
            if nice * finest >= longest:
                return nice * finest
        finest *= 10


def _usd(microusd: float) -> str:
    return f"${microusd / MICROUSD_PER_USD:,.10g}"


def _has_gap(groups: Sequence[Group]) -> bool:
    spans = [parse_window(group.key) for group in groups]
    return any(before.end != after.start for before, after in pairwise(spans))
