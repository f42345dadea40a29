"""How figures look: durations, amounts, tokens, wrapped details.

Pure: no I/O.
"""

import textwrap
from datetime import UTC, datetime
from typing import Protocol

from instrument.money import show_usd
from instrument.schema.usage import Usage

WIDTH = 80
UNKNOWN = "?"
MARK = "≥ "


def show_ms(duration_ms: int) -> str:
    """Show a duration in its two largest units, cut and never rounded up: `0.4s`, `12m 03s`, `3d 04h`."""
    seconds, rest = divmod(duration_ms, 1000)
    if seconds < 60:  # noqa: PLR2004 - seconds of a minute
        return f"{seconds}.{rest // 100}s"
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    if days:
        return f"{days}d {hours:02d}h"
    return f"{hours}h {minutes:02d}m" if hours else f"{minutes}m {seconds:02d}s"


def show_count(number: int, noun: str) -> str:
    """Show a number of things: `1 call`, `2 calls`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def show_usage(usage: Usage, *, is_complete: bool) -> str:
    """Show tokens by bucket."""
    text = (
        f"input {usage.input_tokens:,}, cache read {usage.cache_read_tokens:,}, "
        f"write 5m {usage.cache_write_5m_tokens:,}, write 1h {usage.cache_write_1h_tokens:,}, "
        f"output {usage.output_tokens:,}"
    )
    if usage.web_searches:
        text += f", web searches {usage.web_searches:,}"
    return text if is_complete else f"{MARK}{text}"


def show_amount(microusd: int | None, *, lower_bound: bool) -> str:
    """Show an amount; one that is not known is a question mark."""
    return UNKNOWN if microusd is None else show_usd(microusd, lower_bound=lower_bound)


class Decided(Protocol):
    """Whose word a wait was, and who ended it; empty and none where nobody did, or it was not recorded."""

    @property
    def who(self) -> str: ...  # noqa: D102 - see the class
    @property
    def decided_utc(self) -> datetime | None: ...  # noqa: D102
    @property
    def released_by(self) -> str: ...  # noqa: D102
    @property
    def released_utc(self) -> datetime | None: ...  # noqa: D102


def show_whose(wait: Decided) -> str:
    """Show both with their times: `ann 2026-12-01 10:00, released by bob 2026-12-01 11:00 UTC`."""
    words = []
    if wait.who:
        words.append(f"{wait.who}{_at(wait.decided_utc)}")
    if wait.released_by:
        words.append(f"released by {wait.released_by}{_at(wait.released_utc)}")
    has_time = bool(wait.decided_utc or wait.released_utc)
    return ", ".join(words) + (" UTC" if words and has_time else "")


def _at(time: datetime | None) -> str:
    return f" {time.astimezone(UTC):%Y-%m-%d %H:%M}" if time else ""


def wrap(text: str, name: str, gap: str = " ") -> list[str]:
    """Wrap a detail under its name; a word longer than a line is broken, so that none is wider."""
    first = f"    {name:<9}{gap}" if gap == " " else f"{name}{gap}"
    return textwrap.wrap(
        text, WIDTH, initial_indent=first, subsequent_indent=" " * len(first), break_on_hyphens=False
    )


def plain(text: str) -> str:
    """Without control characters: a model's words must not move a terminal's cursor."""
    return "".join(char if char.isprintable() else " " for char in text)
