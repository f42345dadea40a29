"""Reads and writes ISO 8601 durations of fixed length, such as `PT1H30M`."""

import re
from datetime import timedelta
from fractions import Fraction

from durations.errors import DurationError
from durations.units import UNITS, Duration, from_us, to_us

_NUMBER = r"[0-9]+(?:[.,][0-9]+)?"
_SHAPE = re.compile(
    rf"(?P<sign>[+-]?)P(?:(?P<w>{_NUMBER})W)?(?:(?P<d>{_NUMBER})D)?"
    rf"(?P<time>T(?:(?P<h>{_NUMBER})H)?(?:(?P<m>{_NUMBER})M)?(?:(?P<s>{_NUMBER})S)?)?"
)
_CALENDAR = re.compile(r"[+-]?P[^T]*[0-9][YM]")


def parse_iso(text: str) -> timedelta:
    """Read an ISO 8601 duration; years and months are refused, they have no fixed length."""
    given = text.strip().upper()
    if _CALENDAR.match(given):
        raise DurationError(f"years and months have no fixed length: {text!r}")
    match = _SHAPE.fullmatch(given)
    numbers = {unit: match[unit.short] for unit in UNITS[:5] if match[unit.short]} if match else {}
    if not numbers or match["time"] == "T":
        raise DurationError(f"not an ISO 8601 duration: {text!r}")
    total = Fraction(0)
    for unit, number in numbers.items():
        total += Fraction(number.replace(",", ".")) * unit.length_us
    return from_us(-total if match["sign"] == "-" else total)


def format_iso(duration: Duration) -> str:
    """Write a duration exactly, in days, hours, minutes and seconds."""
    rest = to_us(duration)
    sign, rest = ("-", -rest) if rest < 0 else ("", rest)
    days, rest = divmod(rest, 86_400_000_000)
    hours, rest = divmod(rest, 3_600_000_000)
    minutes, rest = divmod(rest, 60_000_000)
    seconds, micros = divmod(rest, 1_000_000)
    fraction = f".{micros:06d}".rstrip("0") if micros else ""
    date = f"{days}D" if days else ""
    time = f"{hours}H" if hours else ""
    time += f"{minutes}M" if minutes else ""
    time += f"{seconds}{fraction}S" if seconds or micros else ""
    if not date and not time:
        return "PT0S"
    return f"{sign}P{date}{'T' if time else ''}{time}"
