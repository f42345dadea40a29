"""Totals, medians and 90th percentiles of whole numbers.

Pure: no I/O.
"""

from collections.abc import Iterable

from instrument.figures import Spread


def spread_of(numbers: Iterable[int], zeros: int = 0) -> Spread:
    """The nearest rank is a member of the set, so that no figure is made up between two of them.

    Args:
        numbers: None of them negative.
        zeros: How many zeros the set has besides.
    """
    ordered = [0] * zeros + sorted(numbers)
    return Spread(count=len(ordered), total=sum(ordered), median=_rank(ordered, 50), p90=_rank(ordered, 90))


def _rank(ordered: list[int], percent: int) -> int | None:
    """The smallest member that at least this share of all does not pass."""
    if not ordered:
        return None
    return ordered[-(-len(ordered) * percent // 100) - 1]
