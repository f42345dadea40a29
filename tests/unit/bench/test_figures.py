"""The arithmetic of the benchmark: ratios within a round, medians over rounds, goals."""

import math

import pytest

from tests.bench.figures import DIRECT, DISK, GOALS, LITELLM, NGINX, Goal, Record, Round, Spread, spread_of


def a_round(direct: float, nginx: float, ours: float, **more: dict[str, float]) -> Round:
    """Medians of one round; the other loads at a half and at twice nginx's."""
    return Round(
        median_us={DIRECT: direct, NGINX: nginx, DISK: ours, **more.get("median_us", {})},
        requests_per_s={DIRECT: 50_000.0, NGINX: 20_000.0, DISK: 10_000.0},
        lag_p99_us={DIRECT: 100.0, NGINX: 400.0, DISK: 800.0},
        flush_us=100.0,
    )


def a_record(*rounds: Round) -> Record:
    return Record(
        date="2026-11-30",
        cores=2,
        load=0.1,
        versions={"nginx": "1.2"},
        rounds=list(rounds),
        start_ms={DISK: [240.0, 260.0, 250.0]},
        resident_bytes={DISK: 40 * 1024 * 1024},
    )


def goal(words: str) -> Goal:
    return next(goal for goal in GOALS if words in goal.name)


def test_a_ratio_is_of_what_each_adds_in_the_same_round():
    record = a_record(a_round(100, 120, 160), a_round(10, 20, 50), a_round(50, 80, 110))

    assert goal("nginx's").measure(record, DISK) == Spread(2.0, 3.0, 4.0)


def test_a_round_whose_rival_drowned_in_noise_counts_as_endless():
    record = a_record(a_round(100, 90, 160), a_round(10, 20, 50), a_round(100, 100, 120))

    ratio = goal("nginx's").measure(record, DISK)

    assert ratio is not None
    assert ratio.middle == math.inf
    assert not goal("nginx's").is_met(ratio)


def test_a_rival_that_was_left_out_gives_no_ratio():
    assert goal("LiteLLM's").measure(a_record(a_round(10, 20, 50)), DISK) is None


def test_a_rival_that_was_measured_gives_one():
    record = a_record(a_round(10, 20, 50, median_us={LITELLM: 4010.0}))

    assert goal("LiteLLM's").measure(record, DISK) == Spread(0.01, 0.01, 0.01)


@pytest.mark.parametrize(
    ("words", "figure"), [("requests a second", 0.5), ("lag", 2.0), ("start", 250.0), ("memory", 40.0)]
)
def test_every_other_goal_is_read_from_its_own_figures(words: str, figure: float):
    found = goal(words).measure(a_record(a_round(10, 20, 50)), DISK)

    assert found is not None
    assert found.middle == figure
    assert goal(words).is_met(found)


def test_a_floor_is_missed_from_below_and_a_ceiling_from_above():
    below, above = Spread(0.1, 0.1, 0.1), Spread(9.0, 9.0, 9.0)

    assert not goal("requests a second").is_met(below)
    assert goal("requests a second").is_met(above)
    assert goal("lag").is_met(below)
    assert not goal("lag").is_met(above)


def test_a_spread_lies_between_the_quartiles():
    assert spread_of([5, 1, 3, 2, 4]) == Spread(2, 3, 4)
    assert spread_of([7]) == Spread(7, 7, 7)
    assert spread_of([]) is None
