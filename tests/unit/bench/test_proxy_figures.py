"""What the proxy adds: ratios within a round, its goals, and its section of the page."""

import math
from dataclasses import asdict

import pytest

from tests.bench.figures import Spread
from tests.bench.proxy_bench import SIZES
from tests.bench.proxy_figures import DIRECT, DISK, GOALS, LITELLM, MEMORY, NGINX, Record, Round, render


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
        versions={"nginx": "1.2"},
        sizes=SIZES,
        rounds=list(rounds),
        start_ms={DISK: [240.0, 260.0, 250.0]},
        resident_bytes={DISK: 40 * 1024 * 1024},
    )


def measured(words: str, record: Record) -> tuple[Spread | None, bool]:
    """A goal's figure for the sidecar with its ledger on the disk, and whether it is met."""
    goal, measure = next(pair for pair in GOALS if words in pair[0].name)
    found = measure(record, DISK)
    return found, found is not None and goal.is_met(found)


def test_a_ratio_is_of_what_each_adds_in_the_same_round():
    record = a_record(a_round(100, 120, 160), a_round(10, 20, 50), a_round(50, 80, 110))

    assert measured("nginx's", record) == (Spread(2.0, 3.0, 4.0), True)


def test_a_round_whose_rival_drowned_in_noise_counts_as_endless():
    record = a_record(a_round(100, 90, 160), a_round(10, 20, 50), a_round(100, 100, 120))

    ratio, is_met = measured("nginx's", record)

    assert ratio is not None
    assert ratio.middle == math.inf
    assert not is_met


def test_a_rival_that_was_left_out_gives_no_ratio():
    assert measured("LiteLLM's", a_record(a_round(10, 20, 50))) == (None, False)


def test_a_rival_that_was_measured_gives_one():
    record = a_record(a_round(10, 20, 50, median_us={LITELLM: 4010.0}))

    assert measured("LiteLLM's", record) == (Spread(0.01, 0.01, 0.01), True)


@pytest.mark.parametrize(
    ("words", "figure"), [("requests a second", 0.5), ("lag", 2.0), ("start", 250.0), ("memory", 40.0)]
)
def test_every_other_goal_is_read_from_its_own_figures(words: str, figure: float):
    found, is_met = measured(words, a_record(a_round(10, 20, 50)))

    assert found is not None
    assert found.middle == figure
    assert is_met


def shown_page(*, has_litellm: bool) -> str:
    litellm = {LITELLM: 16_010.0} if has_litellm else {}
    one = Round(
        median_us={DIRECT: 10.0, NGINX: 40.0, DISK: 300.0, MEMORY: 100.0, **litellm},
        requests_per_s={DIRECT: 50_000.0, NGINX: 20_000.0, DISK: 5_000.0, MEMORY: 8_000.0},
        lag_p99_us={DIRECT: 100.0, NGINX: 400.0, DISK: 500.0, MEMORY: 450.0},
        flush_us=180.0,
    )
    start_ms = {DISK: [250.0] * 5, NGINX: [5.0] * 5}
    return render(asdict(Record({"nginx": "1.2"}, SIZES, [one, one], start_ms, {DISK: 40 * 1024 * 1024})))


def test_each_goal_is_judged_for_both_ledgers():
    page = shown_page(has_litellm=True)

    assert "| added median, over nginx's | at most 3.5 | 9.67 **missed** | 3 met |" in page
    assert (
        "| requests a second at 32 connections, over nginx's | at least 0.3 | 0.25 **missed** | 0.4 met |"
        in page
    )
    assert "| start to first answer | at most 500 ms | 250 met | not measured |" in page


def test_a_run_without_litellm_says_so_where_its_figure_would_stand():
    page = shown_page(has_litellm=False)

    assert "| added median, over LiteLLM's | at most 0.02 | not measured | not measured |" in page
    assert "| litellm |" not in page


def test_the_figures_of_every_way_stand_below_with_what_the_disk_takes():
    page = shown_page(has_litellm=True)

    assert "| direct |  | 50,000 | 100 |  |  |" in page
    assert "| litellm | 16,000 |  |  |  |  |" in page
    assert "takes this disk 180 µs" in page
    assert "2 rounds; nginx 1.2." in page
