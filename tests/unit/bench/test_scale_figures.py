"""The rate of many tasks, its slope and their memory, from made-up ends."""

from typing import Any

import pytest

from tests.bench.figures import Spread
from tests.bench.scale_figures import growth, rates, render, slope


def test_a_rate_is_of_ten_tasks_from_the_merge_before_them():
    ends = [6.0 * n for n in range(1, 11)] + [60 + 12.0 * n for n in range(1, 11)] + [999.0]
    assert rates(ends) == [10.0, 5.0]


def test_tasks_that_are_no_ten_have_no_rate_and_one_rate_no_slope():
    assert rates([1.0] * 9) == []
    assert slope([]) is None
    assert slope([10.0]) is None


@pytest.mark.parametrize(("found", "expected"), [([8, 8, 8], 1.0), ([10, 9, 8], 0.8), ([5, 10], 2.0)])
def test_the_slope_is_the_last_rate_over_the_first_on_a_straight_line(found: list[float], expected: float):
    assert slope(found) == pytest.approx(expected)


def test_one_slow_ten_in_the_middle_tilts_nothing():
    assert slope([8, 8, 2, 8, 8]) == pytest.approx(1.0)


def test_memory_that_grows_shows_in_the_last_ten():
    assert growth([100.0] * 10 + [300.0] * 5 + [110.0] * 10) == Spread(1.1, 1.1, 1.1)
    assert growth([100.0] * 19) is None


def a_record(count: int, peak_kib: int = 122_880) -> dict[str, Any]:
    rounds = [
        {"begun_s": 6.0 * n, "ended_s": 6.0 * (n + 1), "peak_kib": peak_kib, "gates": 1 + (n % 5 == 0)}
        for n in range(count)
    ]
    return {"at_once": 2, "rounds": rounds}


def test_the_section_judges_memory_and_has_a_row_for_each_ten():
    text = render(a_record(20))
    assert "20 tasks of one repository, each a `factory run` of its own, 2 at a time" in text
    assert "| peak memory of a loop, the last ten tasks over the first ten | at most 1.05 | 1 met |" in text
    assert "10 tasks a minute over all. The straight line's last rate is 1 of its first." in text
    assert "| 1 to 10 | 10 | 6 | 120 | 2 |" in text
    assert "| 11 to 20 | 10 | 6 | 120 | 2 |" in text


def test_a_short_run_to_try_it_out_gives_a_section_too():
    text = render(a_record(3))
    assert "not measured" in text
    assert "10 tasks a minute over all." in text
