"""What a report takes over its floor, and how the page says it."""

from typing import Any

from tests.bench.report_figures import render


def a_round(floor: float, first: float, again: float) -> dict[str, Any]:
    def took(seconds: float, peak_mib: int) -> dict[str, float]:
        return {"wall_s": seconds, "cpu_s": seconds / 2, "peak_mib": peak_mib}

    return {"floor": took(floor, 20), "first": took(first, 60), "again": took(again, 40)}


def test_both_goals_are_ratios_to_the_floor_of_the_same_round():
    text = render({"tasks": 10_000, "events": 1_000_000, "rounds": [a_round(2, 5, 0.5), a_round(1, 3, 0.1)]})
    assert "10,000 tasks with 1,000,000 events" in text
    assert "| time of a first report, over the floor's | at most 3 | 2.75 (2.5 to 3) met | 2.75" in text
    assert "| at most 0.2 | 0.175 (0.1 to 0.25) met |" in text
    assert "| floor | 1.5 (1 to 2) | 0.75 (0.5 to 1) | 20 |" in text


def test_a_slow_report_is_said_to_miss():
    text = render({"tasks": 1, "events": 1, "rounds": [a_round(1, 4, 0.5)]})
    assert text.count("**missed**") == 4
