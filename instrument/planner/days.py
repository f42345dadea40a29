"""Adds calls up by day, folder, program and model, and days up to a figure.

Pure but for what it is given: the price and the place of a call.
"""

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, time

from instrument.planner.calls import Call
from instrument.planner.figures import PlannerDay, Planning
from instrument.schema.usage import Usage
from instrument.window import Window

Key = tuple[str, str, str, str]


def key_of(day: PlannerDay) -> Key:
    """What there is one line of; lines are listed in its order."""
    return day.day.isoformat(), day.folder, day.program, day.model or ""


def days_of(
    calls: Iterable[Call],
    cost_of: Callable[[Call], int | None],
    place_of: Callable[[str], tuple[str, str]],
) -> list[PlannerDay]:
    """A line a day, folder, program and model, in order."""
    groups: dict[Key, list[Call]] = {}
    repos: dict[str, str] = {}
    for call in calls:
        folder, repos[folder] = place_of(call.folder)
        key = call.at_utc.date().isoformat(), folder, call.program, call.model or ""
        groups.setdefault(key, []).append(call)
    return [_day(key[1], repos[key[1]], groups[key], cost_of) for key in sorted(groups)]


def sum_up(days: Sequence[PlannerDay], merged: int) -> Planning:
    """All of them together, shared out over the merged tasks."""
    calls, unpriced = sum(day.calls for day in days), sum(day.unpriced_calls for day in days)
    usage = sum((day.usage for day in days), Usage())
    priced = sum(day.cost_microusd for day in days)
    cost = priced if priced or not unpriced else None
    return Planning(
        calls=calls,
        usage=usage,
        cost_microusd=cost,
        unpriced_calls=unpriced,
        merged=merged,
        tokens_per_merged=-(-usage.total_tokens // merged) if merged else None,
        cost_per_merged_microusd=-(-cost // merged) if merged and cost is not None else None,
    )


def is_in(day: PlannerDay, window: Window) -> bool:
    """Whether a day is in a span of time."""
    return window.has(datetime.combine(day.day, time(), UTC))


def _day(folder: str, repo: str, calls: Sequence[Call], cost_of: Callable[[Call], int | None]) -> PlannerDay:
    costs = [cost_of(call) for call in calls]
    return PlannerDay(
        day=calls[0].at_utc.date(),
        repo=repo,
        folder=folder,
        program=calls[0].program,
        model=calls[0].model,
        calls=len(calls),
        usage=sum((call.usage for call in calls), Usage()),
        cost_microusd=sum(cost or 0 for cost in costs),
        unpriced_calls=sum(cost is None or call.has_extras for cost, call in zip(costs, calls, strict=True)),
    )
