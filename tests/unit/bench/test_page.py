"""docs/benchmarks.md says what a run found, and nothing that it did not."""

from tests.bench.figures import DIRECT, DISK, LITELLM, MEMORY, NGINX, Record, Round, Spread
from tests.bench.page import render, shown
from tests.bench.proxy_bench import METHOD


def a_record(*, has_litellm: bool) -> Record:
    litellm = {LITELLM: 16_010.0} if has_litellm else {}
    one = Round(
        median_us={DIRECT: 10.0, NGINX: 40.0, DISK: 300.0, MEMORY: 100.0, **litellm},
        requests_per_s={DIRECT: 50_000.0, NGINX: 20_000.0, DISK: 5_000.0, MEMORY: 8_000.0},
        lag_p99_us={DIRECT: 100.0, NGINX: 400.0, DISK: 500.0, MEMORY: 450.0},
        flush_us=180.0,
    )
    start_ms = {DISK: [250.0] * 5, NGINX: [5.0] * 5}
    return Record("2026-11-30", 2, 0.1, {"nginx": "1.2"}, [one, one], start_ms, {DISK: 40 * 1024 * 1024})


def test_each_goal_is_judged_for_both_ledgers():
    page = render(a_record(has_litellm=True), METHOD)

    assert "| added median, over nginx's | at most 3.5 | 9.67 **missed** | 3 met |" in page
    assert (
        "| requests a second at 32 connections, over nginx's | at least 0.3 | 0.25 **missed** | 0.4 met |"
        in page
    )
    assert "| start to first answer | at most 500 ms | 250 met | not measured |" in page


def test_a_run_without_litellm_says_so_where_its_figure_would_stand():
    page = render(a_record(has_litellm=False), METHOD)

    assert "| added median, over LiteLLM's | at most 0.02 | not measured | not measured |" in page
    assert "| litellm |" not in page


def test_the_figures_of_every_way_stand_below_with_what_the_disk_takes():
    page = render(a_record(has_litellm=True), METHOD)

    assert "| direct |  | 50,000 | 100 |  |  |" in page
    assert "| litellm | 16,000 |  |  |  |  |" in page
    assert "takes this disk 180 µs" in page


def test_a_reader_sees_how_busy_the_machine_was():
    assert "2 rounds, 2 cores, load before it 0.1; nginx 1.2." in render(a_record(has_litellm=False), METHOD)


def test_a_spread_is_shown_only_where_there_is_one():
    assert shown(Spread(1.234, 2.345, 3.456)) == "2.35 (1.23 to 3.46)"
    assert shown(Spread(1000.4, 1000.2, 1000.0)) == "1,000"
