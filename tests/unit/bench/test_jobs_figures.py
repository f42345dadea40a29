"""How a job starts, over `docker run`: the ratio of a round, and what the page shows of it."""

from typing import Any

from tests.bench.jobs_figures import render


def a_round(ours: float, hand: float) -> dict[str, Any]:
    return {
        "warm": {"container_ms": 300.0, "supervisor_ms": 350.0, "sidecar_ms": 400.0, "call_ms": ours},
        "cold": {"container_ms": 900.0, "supervisor_ms": 950.0, "sidecar_ms": 990.0, "call_ms": 3 * ours},
        "by hand, warm": {"container_ms": 200.0, "call_ms": hand},
        "by hand, cold": {"container_ms": 700.0, "call_ms": 2 * hand},
        "by hand, with its sidecar": {"container_ms": 600.0, "call_ms": 2 * hand},
    }


def page(*rounds: dict[str, Any]) -> str:
    return render({"program": "claude 1.2.3", "rounds": list(rounds)})


def test_the_goal_is_held_against_the_ratio_of_each_round():
    text = page(a_round(1100, 1000), a_round(600, 500), a_round(5200, 4000))
    assert "| at most 1.2 | 1.2 (1.1 to 1.3) met | 0.6 (0.55 to 0.65) met |" in text
    assert "| at most 1.2 | 1.5 **missed** | 0.75 met |" in page(a_round(1500, 1000))


def test_each_way_is_shown_with_what_it_is_compared_to():
    text = page(a_round(1200, 800))
    assert "| warm | 300 | 350 | 400 | 1,200 | 1.5 |" in text
    assert "| cold | 900 | 950 | 990 | 3,600 | 2.25 |" in text
    assert "| by hand, with its sidecar | 600 |  |  | 1,600 | 2 |" in text
    assert "| by hand, warm | 200 |  |  | 800 |  |" in text
    assert "claude 1.2.3 as the agent" in text
    assert "3 rounds." in page(*[a_round(1, 1)] * 3)
