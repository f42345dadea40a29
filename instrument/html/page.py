"""The page: what the template needs, put together and rendered.

Pure but for the templates, which are read beside it. Everything from a record is escaped by the template
engine, and without control characters: a task's name, a check's and a finding are a stranger's words.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from instrument.asked import Asked
from instrument.figures import Report, Row, Spread, Summary
from instrument.html.bars import Stack, part_stack, plain_stack, scale_of
from instrument.html.lanes import History
from instrument.html.weeks import HEIGHT_PX, weeks_of
from instrument.overview import (
    PART_NAMES,
    cache_percent,
    headline,
    left_out,
    show_counts,
    show_each,
    show_kept,
    show_total,
)
from instrument.parts import Part
from instrument.planner.table import planner_line
from instrument.schema.vocabulary import DoneReason
from instrument.show import UNKNOWN, plain, show_amount, show_ms, show_usage
from instrument.table import show_agent, show_finding, show_held, show_interventions, show_state

_Name = TypeVar("_Name", bound=str)
_MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class PartLine:
    """One part of the lead time of all accepted tasks."""

    part: Part
    name: str
    spread: Spread
    share: str
    stack: Stack


@dataclass(frozen=True, slots=True)
class TaskLine:
    """One task in the table; `mark` is the number of its timeline, where it has one."""

    row: Row
    mark: int | None
    lead: str
    so_far: str
    lead_stack: Stack
    cost: str
    cost_stack: Stack


@dataclass(frozen=True, slots=True)
class CountLine:
    """How often something was in the way."""

    name: str
    count: int
    stack: Stack


def render_page(report: Report, histories: Sequence[History], asked: Asked, made_utc: datetime) -> str:
    """Render the page.

    Args:
        report: By week, with the rows that are to be listed.
        histories: Timelines of the newest of them.
        asked: The filters, which the page names.
        made_utc: When it was asked for.
    """
    rows = newest_first(report.rows)
    marks = {history.row.task_id: number for number, history in enumerate(histories, start=1)}
    return (
        _environment()
        .get_template("page.html.j2")
        .render(
            report=report,
            filters=_filters(asked),
            made=f"{made_utc.astimezone(UTC):%Y-%m-%d %H:%M} UTC",
            cache_share=cache_percent(report),
            planner=planner_line(report.planner) if report.planner else "",
            left_out=left_out(report),
            weeks=weeks_of(report.groups),
            floor_px=HEIGHT_PX,
            parts=_parts(report),
            whole=part_stack(_totals(report), report.lead_ms.total),
            part_names=PART_NAMES,
            stops=_counts(report.stops),
            kills=_counts(report.kills),
            tasks=_tasks(rows, marks),
            histories=histories,
            text=headline(report),
        )
    )


def newest_first(rows: Sequence[Row]) -> list[Row]:
    """Rows in the order of the page; those whose time is not known come last."""
    oldest = datetime.min.replace(tzinfo=UTC)
    return sorted(rows, key=lambda row: (row.at_utc or oldest, row.task_id), reverse=True)


def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_finalized,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "ms": lambda length: UNKNOWN if length is None else show_ms(length),
        "mib": lambda size: f"{size // _MIB} MiB",
        "agent": show_agent,
        "finding": show_finding,
        "held": show_held,
        "counts": show_counts,
        "each": show_each,
        "kept": lambda of: show_kept(of).split(", "),
        "all_of_it": lambda of: show_total(of).split(", ", 1),
        "amount": lambda of: show_amount(of.cost_microusd, lower_bound=of.lower_bound),
        "tokens": lambda of: show_usage(of.usage, is_complete=of.usage_complete),
        "persons": lambda row: show_interventions(row.interventions, row.grants),
        "state": show_state,
        "count": lambda number: UNKNOWN if number is None else str(number),
    }
    return environment


def _finalized(value: object) -> object:
    """What is printed, without what could move a cursor or turn the direction of writing."""
    return value if isinstance(value, Markup) else plain(str(value))


def _filters(asked: Asked) -> list[str]:
    window = asked.window
    named = (
        ("purpose", asked.purpose or "all"),
        ("repo", asked.repo),
        ("from", window.start and f"{window.start:%Y-%m-%d}"),
        ("until before", window.end and f"{window.end:%Y-%m-%d}"),
        ("runtime", asked.runtime),
        ("model", asked.model),
        ("state", asked.state),
    )
    return [f"{name} {value}" for name, value in named if value]


def _totals(summary: Summary) -> dict[Part, int]:
    return {part: spread.total for part, spread in summary.times_ms.items()}


def _parts(summary: Summary) -> list[PartLine]:
    """Those that took any time, in the order of the report."""
    totals = _totals(summary)
    longest = max(totals.values(), default=0)
    return [
        PartLine(
            part,
            name,
            summary.times_ms[part],
            # Tenths of a percent, cut as every figure is.
            f"{totals[part] * 1000 // summary.lead_ms.total / 10:.1f} %",
            plain_stack(totals[part], longest, part.value, f"{name} {show_ms(totals[part])}"),
        )
        for part, name in PART_NAMES.items()
        if totals.get(part)
    ]


def _counts(counts: Mapping[_Name, int]) -> list[CountLine]:
    most = max(counts.values(), default=0)
    return [
        CountLine(str(name), count, plain_stack(count, most, "count", f"{name}: {count}"))
        for name, count in counts.items()
    ]


def _tasks(rows: Sequence[Row], marks: dict[str, int]) -> list[TaskLine]:
    lead_scale = scale_of(sum(row.times.values()) for row in rows)
    cost_scale = scale_of(row.cost_microusd or 0 for row in rows)
    return [_task(row, marks.get(row.task_id), lead_scale, cost_scale) for row in rows]


def _task(row: Row, mark: int | None, lead_scale: int, cost_scale: int) -> TaskLine:
    is_known = row.done is not DoneReason.MERGED and row.stage is not None
    lead = show_ms(row.lead_ms) if row.lead_ms is not None else "-" if is_known else UNKNOWN
    cost = show_amount(row.cost_microusd, lower_bound=row.lower_bound)
    kind = "cost lower" if row.lower_bound else "cost"
    return TaskLine(
        row,
        mark,
        lead,
        so_far=show_ms(sum(row.times.values())) if row.lead_ms is None and row.times else "",
        lead_stack=part_stack(row.times, lead_scale),
        cost=cost,
        cost_stack=plain_stack(row.cost_microusd, cost_scale, kind, cost),
    )
