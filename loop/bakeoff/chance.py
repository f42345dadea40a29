"""What a small sample can tell: a range for a share, and an exact sign test for pairs.

Pure: no I/O. Both hold for the tasks of the bake-off, not for tasks at large.
"""

from math import comb, sqrt

ALPHA = 0.05
"""How often chance alone may pass for a difference, over all pairs of variants together (Bonferroni);
of each measure by itself."""
_Z = 1.959964
"""Of the normal distribution: 95 % lie within so many standard deviations."""


def share_range(hits: int, count: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a share; the whole of 0 to 1 where there is no sample.

    It stays honest at `3 of 3`, where the textbook interval has no width.
    """
    if not count:
        return 0.0, 1.0
    share, square = hits / count, _Z * _Z
    middle = share + square / (2 * count)
    width = _Z * sqrt(share * (1 - share) / count + square / (4 * count * count))
    scale = 1 + square / count
    return max(0.0, (middle - width) / scale), min(1.0, (middle + width) / scale)


def sign_p(wins: int, losses: int) -> float:
    """How likely so uneven a count is if both sides were alike: the two-sided, exact sign test."""
    count = wins + losses
    tail = sum(comb(count, k) for k in range(min(wins, losses) + 1))
    return float(min(1.0, 2 * tail / 2**count))


def least_pairs(alpha: float) -> int:
    """How many pairs could tell a difference at all: with fewer, even all on one side prove nothing."""
    count = 1
    while sign_p(count, 0) > alpha:
        count += 1
    return count
