"""What the proxy adds: its goals, and its section of the page.

Pure: no I/O.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tests.bench.figures import Goal, Spread, spread_of
from tests.bench.page import goals_table, shown, table

DIRECT = "direct"
NGINX = "nginx"
LITELLM = "litellm"
DISK = "sidecar"
MEMORY = "sidecar, ledger in memory"
OURS = (DISK, MEMORY)
MEBIBYTE = 1024 * 1024
TITLE = "What the proxy adds"
_WAYS = (DIRECT, NGINX, DISK, MEMORY, LITELLM)
_METHOD = """\
All ways lead to one fake provider on loopback, a program of its own: it answers a small Messages call at
once, or streams {events} events with a pause of {pause_ms:g} ms between them, give or take half. *direct*
calls it over TCP; *nginx* (one process, access log on, no buffering) and *sidecar* are called over a Unix
socket, as a job calls; *LiteLLM* (one worker) over TCP. The sidecar is the program that jobs get, `python -m
proxy.sidecar` on the distribution's Python where it is the same version, its data path compiled as in the
image, with metering, a budget and its ledger. It runs twice: its ledger in a folder on the disk, as in a job,
and its ledger in memory, which shows what the program costs without the disk.

Nothing is bound to a core, as nothing is in a job. A round measures every way in a new random order, first
the median of {calls} calls one after the other ({few} of LiteLLM's), then the calls answered in
{window_s:g} s at {connections} connections, then {connections} streams at once (not through LiteLLM), where
each event says when it was written. *Added* is a way's median less the direct one's of the same round. Start
is the time from the program's start to its first answer, at {starts} starts. Memory is what is resident after
the load.
"""


@dataclass(frozen=True, slots=True)
class Round:
    """The figures of one round by way; a way that was left out is missing."""

    median_us: Mapping[str, float]
    """Of a small call, one after the other."""
    requests_per_s: Mapping[str, float]
    lag_p99_us: Mapping[str, float]
    flush_us: float
    """The median of an append to a file on the disk with its sync."""


@dataclass(frozen=True, slots=True)
class Record:
    """A whole run."""

    versions: Mapping[str, str]
    sizes: Mapping[str, float]
    """What the method's text names."""
    rounds: list[Round]
    start_ms: Mapping[str, list[float]]
    resident_bytes: Mapping[str, int]
    """After the load."""


def added_us(one: Round, way: str) -> float:
    """What a way adds to the median of a direct call."""
    return one.median_us[way] - one.median_us[DIRECT]


def added_ratio(record: Record, way: str, rival: str) -> Spread | None:
    """Added median over the rival's, a round each; endless where the rival's drowned in noise."""
    return spread_of(
        added_us(one, way) / added_us(one, rival) if added_us(one, rival) > 0 else float("inf")
        for one in record.rounds
        if rival in one.median_us and way in one.median_us
    )


def rate_ratio(record: Record, way: str) -> Spread | None:
    """Requests a second over nginx's, a round each."""
    return spread_of(
        one.requests_per_s[way] / one.requests_per_s[NGINX]
        for one in record.rounds
        if way in one.requests_per_s
    )


def lag_ratio(record: Record, way: str) -> Spread | None:
    """The p99 of events' lag over nginx's, a round each."""
    return spread_of(
        one.lag_p99_us[way] / one.lag_p99_us[NGINX] for one in record.rounds if way in one.lag_p99_us
    )


def start_ms(record: Record, way: str) -> Spread | None:
    """From start to first answer."""
    return spread_of(record.start_ms.get(way, ()))


def memory_mib(record: Record, way: str) -> Spread | None:
    """Resident memory after the load."""
    return spread_of([record.resident_bytes[way] / MEBIBYTE] if way in record.resident_bytes else ())


Measure = Callable[[Record, str], Spread | None]
"""Reads a goal's figure for one of our ways; none: it was not measured."""
GOALS: tuple[tuple[Goal, Measure], ...] = (
    (Goal("added median, over nginx's", 3.5), lambda r, w: added_ratio(r, w, NGINX)),
    (Goal("added median, over LiteLLM's", 0.02), lambda r, w: added_ratio(r, w, LITELLM)),
    (Goal("requests a second at 32 connections, over nginx's", 0.3, is_floor=True), rate_ratio),
    (Goal("lag of an event at p99, 32 streams, over nginx's", 2.0), lag_ratio),
    (Goal("start to first answer", 500, "ms"), start_ms),
    (Goal("resident memory after the load", 50, "MiB"), memory_mib),
)


def render(found: Mapping[str, Any]) -> str:
    """The section, of what `proxy_bench.measure` gave."""
    record = Record(**{**found, "rounds": [Round(**one) for one in found["rounds"]]})
    programs = ", ".join(f"{name} {version}" for name, version in record.versions.items())
    goals = [(goal, [measure(record, way) for way in OURS]) for goal, measure in GOALS]
    head = ["way", "added median, µs", "requests/s", "lag p99, µs", "start, ms", "memory, MiB"]
    rows = [_way_row(way, record) for way in _WAYS if way in record.rounds[0].median_us]
    return "\n\n".join(
        [
            _METHOD.format(**record.sizes).strip(),
            f"{len(record.rounds)} rounds; {programs}.",
            goals_table(["sidecar", "its ledger in memory"], goals),
            table(head, rows),
            _about_the_disk(record),
        ]
    )


def _way_row(way: str, record: Record) -> list[str]:
    rounds = record.rounds
    cells = [
        spread_of(added_us(one, way) for one in rounds) if way != DIRECT else None,
        spread_of(one.requests_per_s[way] for one in rounds if way in one.requests_per_s),
        spread_of(one.lag_p99_us[way] for one in rounds if way in one.lag_p99_us),
        start_ms(record, way),
        memory_mib(record, way),
    ]
    return [way, *map(shown, cells)]


def _about_the_disk(record: Record) -> str:
    flush = spread_of(one.flush_us for one in record.rounds)
    direct = spread_of(one.median_us[DIRECT] for one in record.rounds)
    return (
        f"A direct call takes {shown(direct)} µs. One append with its sync takes this disk "
        f"{shown(flush)} µs; "
        "no call waits for one: the disk is asked within a tenth of a second, and where a machine died, "
        "the bill says that it is a lower bound."
    )
