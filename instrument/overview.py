"""Lays a summary out as plain text: the headline, where the time went, what was in the way.

Pure: no I/O.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from instrument.figures import Comparison, Group, Report, Spread, Summary
from instrument.money import show_usd
from instrument.parts import Part
from instrument.planner.table import planner_line
from instrument.show import MARK, UNKNOWN, plain, show_amount, show_ms, show_usage, wrap

_Name = TypeVar("_Name", bound=str)
_MIB = 1024 * 1024
_GAP = " " * 18
_PLANNER_GAP = " " * 17
_SPREAD = "{:<24}{:>12}{:>12}{:>12}"
_GROUP = "{:<28}{:>10}{:>12}{:>14}{:>16}"
_PAIR = "{:<24}{:>18}{:>18}{:>12}"
_NONE = "-"
PART_NAMES: dict[Part, str] = {
    Part.NOT_BEGUN: "before it began",
    Part.WORKING: "working",
    Part.CHECKING: "checking",
    Part.REVIEWING: "reviewing",
    Part.SETTING_UP: "setting up",
    Part.LANDING: "git and between",
    Part.SLOT: "waiting: a slot",
    Part.TASK: "waiting: a task",
    Part.MAIN: "waiting: a red main",
    Part.HELD: "waiting: gate or hold",
    Part.PERSON: "waiting: a person",
    Part.PROVIDER: "waiting: a provider",
    Part.INTERRUPTED: "interrupted",
}


def headline(report: Report) -> list[str]:
    """What an accepted task cost, then every other figure that there is."""
    name = report.purpose.value if report.purpose else "all"
    if not report.rows:
        lines = [f"No task of purpose {name} found." if report.purpose else "No task found."]
        return lines + left_out(report)
    lines = [
        f"cost per accepted task  {show_each(report)}",
        f"total                   {show_total(report)}",
        *(wrap(planner_line(report.planner), "planner", _PLANNER_GAP) if report.planner else ()),
        f"accepted                {report.accepted} of {report.tasks} (purpose: {name})",
        *wrap(show_usage(report.usage, is_complete=report.usage_complete), "tokens", _GAP),
    ]
    if (share := cache_percent(report)) is not None:
        lines.append(f"cache share             {share} % of the input was read from a cache")
    if report.done_unmerged:
        lines.append(f"done, nothing to merge  {report.done_unmerged}")
    if report.accepted:
        lines.append(
            f"of the accepted         {report.first_attempt} at the first attempt, "
            f"{report.untouched} without a person"
        )
        lines.append(f"accepted and kept       {show_kept(report)}")
    lines += left_out(report)
    return [*lines, "", *_times(report), *_trouble(report)]


def group_lines(groups: Sequence[Group]) -> list[str]:
    """A row a group."""
    lines = [_GROUP.format("group", "accepted", "lead (med)", "total", "per accepted")]
    for group in groups:
        each = group.summary
        lines.append(
            _GROUP.format(
                group.key,
                f"{each.accepted}/{each.tasks}",
                _NONE if each.lead_ms.median is None else show_ms(each.lead_ms.median),
                show_amount(each.cost_microusd, lower_bound=each.lower_bound),
                show_each(each),
            )
        )
    return lines


def render_comparison(names: tuple[str, str], pair: Comparison) -> str:
    """Two summaries side by side with the change from the first to the second; ends with a newline."""
    first, second = pair.first, pair.second
    lines = [_PAIR.format("", *names, "change")]
    for figure in _FIGURES:
        values = (figure.of(first), figure.of(second))
        shown = (_NONE if value is None else figure.show(value) for value in values)
        lines.append(_PAIR.format(figure.name, *shown, _change(*values)))
    if first.lower_bound or second.lower_bound:
        lines.append(f"{MARK}amounts are lower bounds: parts are unmetered")
    return "\n".join(lines) + "\n"


def cache_percent(summary: Summary) -> int | None:
    """Cache reads as a share of all input, cut to whole percents; none where there was no input."""
    usage = summary.usage
    total = usage.total_tokens - usage.output_tokens
    return usage.cache_read_tokens * 100 // total if total else None


@dataclass(frozen=True, slots=True)
class _Figure:
    name: str
    of: Callable[[Summary], int | None]
    show: Callable[[int], str] = str


def _median_of(part: Part) -> Callable[[Summary], int | None]:
    return lambda summary: summary.times_ms[part].median


_FIGURES = (
    _Figure("cost per accepted task", lambda summary: summary.cost_per_accepted_microusd, show_usd),
    _Figure("total", lambda summary: summary.cost_microusd, show_usd),
    _Figure("tasks", lambda summary: summary.tasks),
    _Figure("accepted", lambda summary: summary.accepted),
    _Figure("accepted and kept", lambda summary: summary.kept if summary.kept + summary.reverted else None),
    _Figure("at the first attempt", lambda summary: summary.first_attempt),
    _Figure("without a person", lambda summary: summary.untouched),
    _Figure("lead time, median", lambda summary: summary.lead_ms.median, show_ms),
    _Figure("lead time, p90", lambda summary: summary.lead_ms.p90, show_ms),
    *(_Figure(f"  {name}", _median_of(part), show_ms) for part, name in PART_NAMES.items()),
    _Figure("stop to answer, median", lambda summary: summary.answers_ms.median, show_ms),
    _Figure("coder rounds", lambda summary: summary.coder_rounds),
    _Figure("reviews", lambda summary: summary.review_rounds),
    _Figure("interventions", lambda summary: summary.interventions),
    _Figure("cache share, %", cache_percent),
)


def _change(first: int | None, second: int | None) -> str:
    """The change in whole percents; none where there is nothing to measure it by."""
    if first is None or second is None or not first:
        return _NONE
    return f"{(second - first) * 100 / first:+.0f} %"


def show_each(summary: Summary) -> str:
    """The cost of an accepted task; `n/a` where there is none."""
    if not summary.accepted:
        return "n/a"
    return show_amount(summary.cost_per_accepted_microusd, lower_bound=summary.lower_bound)


def show_total(report: Report) -> str:
    """The cost of all tasks, and the part of it that is for what has not merged."""
    total = show_amount(report.cost_microusd, lower_bound=report.lower_bound)
    if report.unmerged_microusd and report.accepted:
        return f"{total}, {show_usd(report.unmerged_microusd)} of it for what has not merged"
    return total


def show_kept(summary: Summary) -> str:
    """How many merges stand, and how many were taken back since; of the others nobody knows."""
    unknown = summary.accepted - summary.kept - summary.reverted
    if unknown == summary.accepted:
        return "not known yet"
    parts = [f"{summary.kept} of {summary.accepted}"]
    if summary.reverted:
        parts.append(f"{summary.reverted} reverted since")
    if unknown:
        parts.append(f"{unknown} not known yet")
    return ", ".join(parts)


def left_out(report: Report) -> list[str]:
    """A line each for unmetered parts and for tasks that are not in the figures."""
    lines = []
    if report.lower_bound:
        parts = "1 part is" if report.unmetered_parts == 1 else f"{report.unmetered_parts} parts are"
        lines.append(f"{MARK}lower bound: {parts} unmetered; see the tasks marked so")
    if report.not_shown:
        lines.append(f"{report.not_shown} found, but of another purpose (--purpose all) or not asked for")
    return lines


def _times(summary: Summary) -> list[str]:
    """Where the lead time of the accepted tasks went, and how long persons took to answer."""
    lines = []
    if summary.lead_ms.count:
        lines += [_SPREAD.format("", "total", "median", "p90"), _spread("lead time", summary.lead_ms)]
        lines += [
            _spread(f"  {name}", summary.times_ms[part])
            for part, name in PART_NAMES.items()
            if summary.times_ms[part].total
        ]
    if summary.answers_ms.count:
        lines.append(_spread("stop to answer", summary.answers_ms))
    return lines


def _spread(name: str, spread: Spread) -> str:
    figures = (spread.total, spread.median, spread.p90)
    return _SPREAD.format(name, *(UNKNOWN if figure is None else show_ms(figure) for figure in figures))


def _trouble(summary: Summary) -> list[str]:
    jobs = show_ms(summary.job_ms)
    lines = [
        f"rounds                  {summary.coder_rounds} of coders, {summary.review_rounds} of reviewers",
        f"run time of all jobs    {jobs}",
    ]
    if summary.interventions_by_kind or summary.interventions:
        kinds = show_counts(summary.interventions_by_kind)
        lines += wrap(f"{summary.interventions}{f' ({kinds})' if kinds else ''}", "interventions", " " * 11)
    if summary.rulings_by_model:
        lines += wrap(plain(show_counts(summary.rulings_by_model)), "ruled by models", " " * 9)
    if summary.stops:
        lines += wrap(show_counts(summary.stops), "stops", " " * 19)
    if summary.kills:
        kills = (f"{count} {how}" for how, count in summary.kills.items())
        lines += wrap(", ".join(kills), "jobs cut short", " " * 10)
    if summary.peak_memory_bytes:
        pids = f", {summary.peak_pids} processes" if summary.peak_pids else ""
        lines.append(f"biggest job             {summary.peak_memory_bytes // _MIB} MiB{pids}")
    return lines


def show_counts(counts: Mapping[_Name, int]) -> str:
    """Names, each with how often it came where that is more than once."""
    return ", ".join(name if count == 1 else f"{count} {name}" for name, count in counts.items())
