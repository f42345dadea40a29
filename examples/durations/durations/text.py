"""Writes durations that people read, such as `1h 30m` or `250ms`."""

from durations.units import UNITS, Duration, to_us

_SECOND_US = 1_000_000
_MILLISECOND_US = 1_000
_WHOLE_UNITS = UNITS[:4]


def format_human(duration: Duration) -> str:
    """Write a duration in whole seconds, or below one second in whole milliseconds."""
    rest = to_us(duration)
    sign, rest = ("-", -rest) if rest < 0 else ("", rest)
    if rest == 0:
        return "0s"
    if rest < _SECOND_US:
        return f"{sign}{round(rest / _MILLISECOND_US)}ms"
    parts = []
    for unit in _WHOLE_UNITS:
        count, rest = divmod(rest, unit.length_us)
        if count:
            parts.append(f"{count}{unit.short}")
    seconds = round(rest / _SECOND_US)
    if seconds:
        parts.append(f"{seconds}s")
    return sign + " ".join(parts)
