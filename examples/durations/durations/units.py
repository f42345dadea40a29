"""The units, from the largest to the smallest, and exact sums of them."""

from datetime import timedelta
from fractions import Fraction
from typing import Dict, NamedTuple, Tuple, Union

from durations.errors import DurationError

Duration = Union[timedelta, int, float]


class Unit(NamedTuple):
    """A unit with its short name, its length in microseconds and its other names."""

    short: str
    length_us: int
    names: Tuple[str, ...]


UNITS: Tuple[Unit, ...] = (
    Unit("w", 604_800_000_000, ("week", "weeks", "wk", "wks")),
    Unit("d", 86_400_000_000, ("day", "days")),
    Unit("h", 3_600_000_000, ("hour", "hours", "hr", "hrs")),
    Unit("m", 60_000_000, ("minute", "minutes", "min", "mins")),
    Unit("s", 1_000_000, ("second", "seconds", "sec", "secs")),
    Unit("ms", 1_000, ("millisecond", "milliseconds", "msec", "msecs")),
    Unit("us", 1, ("microsecond", "microseconds", "usec", "usecs")),
)

BY_NAME: Dict[str, Unit] = {name: unit for unit in UNITS for name in (unit.short, *unit.names)}


def to_us(duration: Duration) -> int:
    """Give a timedelta or a number of seconds in whole microseconds."""
    if not isinstance(duration, timedelta):
        duration = from_us(Fraction(duration) * 1_000_000)
    return duration // timedelta(microseconds=1)


def from_us(amount: Fraction) -> timedelta:
    """Give an exact amount of microseconds, rounded to the nearest one, as a timedelta."""
    try:
        return timedelta(microseconds=round(amount))
    except OverflowError:
        raise DurationError("the duration is too long") from None
