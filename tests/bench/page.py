"""docs/benchmarks.md out of a run.

Pure: no I/O.
"""

from tests.bench.figures import (
    DIRECT,
    DISK,
    GOALS,
    LITELLM,
    MEMORY,
    NGINX,
    OURS,
    Goal,
    Record,
    Spread,
    added_us,
    memory_mib,
    spread_of,
    start_ms,
)

_WAYS = (DIRECT, NGINX, DISK, MEMORY, LITELLM)
_METHOD = """\
# What the proxy adds

Written by `make bench-proxy`; the figures of every round are in `benchmarks.json` beside this page. It is a
benchmark and no test: read the ratios, for the absolute figures are those of one machine.

## Method
All ways lead to one fake provider on loopback, a program of its own: it answers a small Messages call at
once, or streams {events} events with a pause of {pause_ms:g} ms between them, give or take half. *direct*
calls it over TCP; *nginx* (one process, access log on, no buffering) and *sidecar* are called over a Unix
socket, as a job calls; *LiteLLM* (one worker) over TCP. The sidecar is the program that jobs get, `python -m
proxy.sidecar` on the distribution's Python where it is the same version, with metering, a budget and its
ledger. It runs twice: its ledger in a folder on the disk, as in a job, and its ledger in memory, which shows
what the program costs without the disk.

Nothing is bound to a core, as nothing is in a job. A round measures every way in a new random order, first
the median of {calls} calls one after the other ({few} of LiteLLM's), then the calls answered in
{window_s:g} s at {connections} connections, then {connections} streams at once (not through LiteLLM), where
each event says when it was written. *Added* is a way's median less the direct one's of the same round. A
ratio is taken within a round; shown are the median of the rounds and, in brackets, their quartiles. Start is
the time from the program's start to its first answer, at {starts} starts. Memory is what is resident after
the load.
"""


def render(record: Record, method: dict[str, float]) -> str:
    """The page; `method` holds the sizes that its text names."""
    programs = ", ".join(f"{name} {version}" for name, version in record.versions.items())
    machine = f"{record.cores} cores, load before it {record.load:.1f}"
    return "\n".join(
        [
            _METHOD.format(**method),
            f"Measured on {record.date}, {len(record.rounds)} rounds, {machine}; {programs}.",
            "",
            "## Goals",
            "| | goal | sidecar | its ledger in memory |",
            "| --- | --- | --- | --- |",
            *(_goal_row(goal, record) for goal in GOALS),
            "",
            "## Figures of this machine",
            "| way | added median, µs | requests/s | lag p99, µs | start, ms | memory, MiB |",
            "| --- | --- | --- | --- | --- | --- |",
            *(_way_row(way, record) for way in _WAYS if way in record.rounds[0].median_us),
            "",
            _about_the_disk(record),
            "",
        ]
    )


def _goal_row(goal: Goal, record: Record) -> str:
    wanted = f"{'at least' if goal.is_floor else 'at most'} {_number(goal.limit)} {goal.unit}".rstrip()
    cells = [_judged(goal, goal.measure(record, way)) for way in OURS]
    return f"| {goal.name} | {wanted} | {' | '.join(cells)} |"


def _judged(goal: Goal, spread: Spread | None) -> str:
    if spread is None:
        return "not measured"
    return f"{shown(spread)} {'met' if goal.is_met(spread) else '**missed**'}"


def _way_row(way: str, record: Record) -> str:
    rounds = record.rounds
    cells = [
        spread_of(added_us(one, way) for one in rounds) if way != DIRECT else None,
        spread_of(one.requests_per_s[way] for one in rounds if way in one.requests_per_s),
        spread_of(one.lag_p99_us[way] for one in rounds if way in one.lag_p99_us),
        start_ms(record, way),
        memory_mib(record, way),
    ]
    return f"| {way} | {' | '.join(shown(cell) if cell else '' for cell in cells)} |"


def _about_the_disk(record: Record) -> str:
    flush = spread_of(one.flush_us for one in record.rounds)
    direct = spread_of(one.median_us[DIRECT] for one in record.rounds)
    assert flush is not None
    assert direct is not None
    return (
        f"A direct call takes {shown(direct)} µs. One append with its sync takes this disk "
        f"{shown(flush)} µs; "
        "no call waits for one: the disk is asked within a tenth of a second, and where a machine died, "
        "the bill says that it is a lower bound."
    )


def shown(spread: Spread) -> str:
    """A median with its quartiles, where they differ."""
    middle, low, high = (_number(value) for value in (spread.middle, spread.low, spread.high))
    return middle if low == high == middle else f"{middle} ({low} to {high})"


def _number(value: float) -> str:
    """Three digits, whole from 100 on."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
