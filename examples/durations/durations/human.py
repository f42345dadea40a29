"""Reads durations that people write, such as `1h 30m` or `2 days and 4 hours`."""

import re
from datetime import timedelta
from fractions import Fraction

from durations.errors import DurationError
from durations.units import BY_NAME, UNITS, from_us

_PART = re.compile(r"(?P<number>[0-9]+(?:\.[0-9]+)?)\s*(?P<unit>[a-z]+)")
_BETWEEN = re.compile(r"\s*(?:,|and\b)?\s*")
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?")


def parse_human(text: str) -> timedelta:
    """Read a human duration; a number alone is seconds, a sign in front is for all of it."""
    rest = text.strip().lower()
    sign = -1 if rest.startswith("-") else 1
    rest = rest[1:].lstrip() if rest[:1] in ("-", "+") else rest
    if not rest:
        raise DurationError("the duration is empty")
    if _NUMBER.fullmatch(rest):
        return from_us(sign * Fraction(rest) * 1_000_000)
    return from_us(sign * _sum_parts(rest, text))


def _sum_parts(rest: str, text: str) -> Fraction:
    total = Fraction(0)
    previous = -1
    position = 0
    while position < len(rest):
        part = _PART.match(rest, position)
        if part is None:
            raise DurationError(f"cannot read {rest[position:]!r} in {text!r}")
        unit = BY_NAME.get(part["unit"])
        if unit is None:
            raise DurationError(f"unknown unit {part['unit']!r} in {text!r}")
        place = UNITS.index(unit)
        if place <= previous:
            raise DurationError(f"{part['unit']!r} is out of order in {text!r}")
        previous = place
        total += Fraction(part["number"]) * unit.length_us
        position = _skip_between(rest, part.end(), text)
    return total


def _skip_between(rest: str, position: int, text: str) -> int:
    end = _BETWEEN.match(rest, position).end()
    if end == len(rest) and rest[position:].strip():
        raise DurationError(f"nothing follows {rest[position:].strip()!r} in {text!r}")
    return end
