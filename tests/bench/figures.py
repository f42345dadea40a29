"""What a benchmark's rounds come to: ratios with their spread, held against the goals.

Pure: no I/O.
"""

import statistics
from collections.abc import Callable, Iterable
from dataclasses import dataclass

DIRECT = "direct"
NGINX = "nginx"
LITELLM = "litellm"
DISK = "sidecar"
MEMORY = "sidecar, ledger in memory"
OURS = (DISK, MEMORY)
MEBIBYTE = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Round:
    """The figures of one round by way; a way that was left out is missing."""

    median_us: dict[str, float]
    """Of a small call, one after the other."""
    requests_per_s: dict[str, float]
    lag_p99_us: dict[str, float]
    flush_us: float
    """The median of an append to a file on the disk with its sync."""


@dataclass(frozen=True, slots=True)
class Record:
    """A whole run."""

    date: str
    cores: int
    load: float
    """How many processes wanted a core in the minute before: above a half, the figures are noise."""
    versions: dict[str, str]
    rounds: list[Round]
    start_ms: dict[str, list[float]]
    resident_bytes: dict[str, int]
    """After the load."""


@dataclass(frozen=True, slots=True)
class Spread:
    """A median between its quartiles."""

    low: float
    middle: float
    high: float

    def __truediv__(self, divisor: float) -> "Spread":
        """In another unit."""
        return Spread(self.low / divisor, self.middle / divisor, self.high / divisor)


@dataclass(frozen=True, slots=True)
class Goal:
    """What is wanted, and how it is read from a run for one of our ways; none: not measured."""

    name: str
    limit: float
    unit: str
    is_floor: bool
    measure: Callable[[Record, str], Spread | None]

    def is_met(self, spread: Spread) -> bool:
        """Whether the median keeps to the limit."""
        return spread.middle >= self.limit if self.is_floor else spread.middle <= self.limit


def spread_of(values: Iterable[float]) -> Spread | None:
    """Median and quartiles; none of no values.

    Quartiles are values that were measured: what is endless cannot be interpolated.
    """
    known = sorted(values)
    if not known:
        return None
    quarter = (len(known) - 1) // 4
    return Spread(known[quarter], statistics.median(known), known[-1 - quarter])


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


GOALS = (
    Goal(
        "added median, over nginx's", 3.5, "", is_floor=False, measure=lambda r, w: added_ratio(r, w, NGINX)
    ),
    Goal(
        "added median, over LiteLLM's",
        0.02,
        "",
        is_floor=False,
        measure=lambda r, w: added_ratio(r, w, LITELLM),
    ),
    Goal("requests a second at 32 connections, over nginx's", 0.3, "", is_floor=True, measure=rate_ratio),
    Goal("lag of an event at p99, 32 streams, over nginx's", 2.0, "", is_floor=False, measure=lag_ratio),
    Goal("start to first answer", 500, "ms", is_floor=False, measure=start_ms),
    Goal("resident memory after the load", 50, "MiB", is_floor=False, measure=memory_mib),
)
