"""Lays out the usage of a person's own sessions as plain text of at most 80 columns.

Pure: no I/O.
"""

from collections.abc import Sequence
from itertools import groupby

from instrument.planner.calls import count_of
from instrument.planner.days import sum_up
from instrument.planner.figures import PlannerDay, PlannerReport, Planning
from instrument.show import plain, show_amount, wrap

NOT_RECORDED = "not recorded"
_ROW = "{:<10}  {:<24} {:>6} {:>16} {:>18}"
_NAME_CHARS = 24


def render_planner(made: PlannerReport, most: int | None) -> str:
    """A row a day and repo, the newest ones, then the total; ends with a newline.

    Args:
        made: What was counted.
        most: How many rows are listed; none: all.
    """
    if not made.days:
        return "\n".join([f"planner: {NOT_RECORDED}", *_missing(made)]) + "\n"
    ordered = sorted(made.days, key=_day_and_repo)
    rows = [_row(*key, list(each)) for key, each in groupby(ordered, key=_day_and_repo)]
    shown = rows if most is None else rows[-most:]
    lines = [_ROW.format("day", "repo", "calls", "tokens", "cost"), *shown, _row("total", "", made.days)]
    if len(shown) < len(rows):
        lines.append(f"… and {len(rows) - len(shown)} earlier rows; --all lists them")
    if made.total.unpriced_calls:
        lines.append(f"lower bound: {count_of(made.total.unpriced_calls, 'call')} without a known price")
    return "\n".join(lines + _missing(made)) + "\n"


def planner_line(planning: Planning) -> str:
    """One line for a report: what was planned for each merged task, and in all."""
    if not planning.calls:
        return NOT_RECORDED
    amount = _amount(planning.cost_microusd, planning)
    whole = f"{amount}, {planning.usage.total_tokens:,} tokens"
    if not planning.merged:
        return f"{whole}; nothing merged"
    each = _amount(planning.cost_per_merged_microusd, planning)
    return f"{each}, {planning.tokens_per_merged:,} tokens for each merged task (in all {whole})"


def _day_and_repo(day: PlannerDay) -> tuple[str, str]:
    return day.day.isoformat(), day.repo


def _row(first: str, second: str, days: Sequence[PlannerDay]) -> str:
    total = sum_up(days, 0)
    name = plain(second)
    if len(name) > _NAME_CHARS:
        name = f"{name[: _NAME_CHARS - 1]}…"
    amount = _amount(total.cost_microusd, total)
    return _ROW.format(first, name, total.calls, f"{total.usage.total_tokens:,}", amount)


def _amount(microusd: int | None, planning: Planning) -> str:
    return show_amount(microusd, lower_bound=bool(planning.unpriced_calls))


def _missing(made: PlannerReport) -> list[str]:
    return [line for clause in made.missing for line in wrap(plain(clause), "not read")]
