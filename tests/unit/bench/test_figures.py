"""The arithmetic of the benchmarks: medians over rounds, ratios within a round, goals."""

import pytest

from tests.bench.figures import Goal, Spread, ratio_of, spread_of


def test_a_floor_is_missed_from_below_and_a_ceiling_from_above():
    below, above = Spread(0.1, 0.1, 0.1), Spread(9.0, 9.0, 9.0)

    assert not Goal("rate", 0.3, is_floor=True).is_met(below)
    assert Goal("rate", 0.3, is_floor=True).is_met(above)
    assert Goal("lag", 2.0).is_met(below)
    assert not Goal("lag", 2.0).is_met(above)


def test_a_median_that_is_the_limit_meets_the_goal_either_way():
    exact = Spread(0.0, 2.0, 9.0)

    assert Goal("lag", 2.0).is_met(exact)
    assert Goal("rate", 2.0, is_floor=True).is_met(exact)


def test_a_spread_lies_between_the_quartiles():
    assert spread_of([5, 1, 3, 2, 4]) == Spread(2, 3, 4)
    assert spread_of([7]) == Spread(7, 7, 7)
    assert spread_of([]) is None


def test_a_ratio_is_taken_within_a_round_and_not_between_medians():
    assert ratio_of([20, 2, 300], [10, 2, 100]) == Spread(1.0, 2.0, 3.0)


def test_rounds_that_do_not_pair_give_no_ratio():
    with pytest.raises(ValueError, match="shorter"):
        ratio_of([1, 2], [1])
