"""What a benchmark's rounds come to: medians with their spread, held against goals.

Pure: no I/O.
"""

import statistics
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Spread:
    """A median between its quartiles."""

    low: float
    middle: float
    high: float


@dataclass(frozen=True, slots=True)
class Goal:
    """What is wanted of one figure's median."""

    name: str
    limit: float
    unit: str = ""
    is_floor: bool = False

    def is_met(self, spread: Spread) -> bool:
        """Whether the median keeps to the limit."""
        return spread.middle >= self.limit if self.is_floor else spread.middle <= self.limit


def spread_of(values: Iterable[float]) -> Spread | None:
    """Median and quartiles; none of no values.

    Quartiles are values that were measured: what is endless cannot be interpolated.
    """
    known = sorted(values)
    if not known:
        return None
    quarter = (len(known) - 1) // 4
    return Spread(known[quarter], statistics.median(known), known[-1 - quarter])


def ratio_of(over: Iterable[float], under: Iterable[float]) -> Spread | None:
    """The spread of the rounds' own ratios; the two have a value a round, in the same order."""
    return spread_of(one / other for one, other in zip(over, under, strict=True))
