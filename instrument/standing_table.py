"""Lays out where tasks stand, at most 80 columns but for the commands.

Pure: no I/O.
"""

from datetime import datetime

from instrument.show import UNKNOWN, show_amount, show_ms
from instrument.standing import Standing
from instrument.timeline import to_ms

_HEADS = {
    "interrupted": "interrupted: nobody carries these on",
    "unreadable": "unreadable",
    "waiting": "waiting for a person",
    "running": "running",
}


def render_standing(standing: list[Standing], now: datetime) -> str:
    """A block for each way to stand, a task with its command below; ends with a newline."""
    if not standing:
        return "No task is under way and none waits.\n"
    lines: list[str] = []
    for how, head in _HEADS.items():
        tasks = [each for each in standing if each.how == how]
        if tasks:
            lines += ["", f"{head} ({len(tasks)})"]
            for each in tasks:
                lines += _lines(each, now)
    return "\n".join(lines[1:]) + "\n"


def _lines(each: Standing, now: datetime) -> list[str]:
    for_ms = None if each.since_utc is None else max(0, to_ms(now) - to_ms(each.since_utc))
    since = UNKNOWN if for_ms is None else show_ms(for_ms)
    cost = show_amount(each.cost_microusd, lower_bound=each.lower_bound)
    lines = [f"  {each.task_id:<28} {_what(each):<24} {since:>9} {cost:>14}"]
    if each.driver:
        lines.append(f"    driven by the {each.driver}")
    elif each.how == "running" and each.pid is not None:
        lines.append(f"    process {each.pid} on {each.host}")
    if each.fault:
        lines.append(f"    {each.fault}")
    if each.command:
        lines.append(f"    {each.command}")
    return lines


def _what(each: Standing) -> str:
    if each.stop is not None:
        return str(each.stop)
    if each.stage is None:
        return UNKNOWN
    return f"{each.stage}, {each.effect.slug}" if each.effect else str(each.stage)
