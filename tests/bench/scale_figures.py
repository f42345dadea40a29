"""Many tasks one after the other: the rate and its slope, memory, and the section of the page.

Pure: no I/O.
"""

import statistics
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from tests.bench.figures import Goal, Spread, spread_of
from tests.bench.page import goals_table, number, shown, table

TITLE = "Scale"
MEMORY = Goal("peak memory of a loop, the last ten tasks over the first ten", 1.05)
WINDOW = 10
MEBIBYTE_KIB = 1024
_METHOD = """\
{count} tasks of one repository, each a `factory run` of its own, {at_once} at a time, on the real engine with
a shell line as an instant agent: baseline where the branch moved, coder, check, review, gate, merge and push.
No model is called, so that what is measured is the loop, git and the engine. All land on one branch: of two
tasks that reach the merge together one is rebased and gated again. The rate of ten tasks is taken from the
merge before them to their last; the slope is that of a straight line through the rates. Memory is the most
that was resident in a loop's process or in a program that it started. At the end the engine has nothing left
of them.
"""


def rates(ends_s: Sequence[float]) -> list[float]:
    """Tasks a minute of each whole ten, oldest first; may be empty."""
    marks = [0.0, *ends_s[WINDOW - 1 :: WINDOW]]
    return [60 * WINDOW / (end - begin) for begin, end in pairwise(marks)]


def slope(found: Sequence[float]) -> float | None:
    """The last ten's rate over the first ten's, both read off a straight line; none of less than two."""
    if len(found) < 2:
        return None
    line = statistics.linear_regression(range(len(found)), found)
    return (line.intercept + line.slope * (len(found) - 1)) / line.intercept


def growth(peaks: Sequence[float]) -> Spread | None:
    """Each of the last ten peaks over the median of the first ten; none where these are the same."""
    if len(peaks) < 2 * WINDOW:
        return None
    first = statistics.median(peaks[:WINDOW])
    return spread_of(peak / first for peak in peaks[-WINDOW:])


def render(record: Mapping[str, Any]) -> str:
    """The section, of what `scale_bench.measure` gave."""
    rounds = record["rounds"]
    peaks = [one["peak_kib"] / MEBIBYTE_KIB for one in rounds]
    found = rates([one["ended_s"] for one in rounds])
    tens = [rounds[at : at + WINDOW] for at in range(0, len(found) * WINDOW, WINDOW)]
    rows = [
        [
            f"{at * WINDOW + 1} to {(at + 1) * WINDOW}",
            number(rate),
            shown(spread_of(one["ended_s"] - one["begun_s"] for one in ten)),
            shown(spread_of(one["peak_kib"] / MEBIBYTE_KIB for one in ten)),
            str(sum(one["gates"] - 1 for one in ten)),
        ]
        for at, (rate, ten) in enumerate(zip(found, tens, strict=True))
    ]
    ratio = slope(found)
    told = "" if ratio is None else f" The straight line's last rate is {number(ratio)} of its first."
    whole = 60 * len(rounds) / rounds[-1]["ended_s"]
    head = ["tasks", "tasks a minute", "a task takes, s", "peak memory, MiB", "gated again"]
    return "\n\n".join(
        [
            _METHOD.format(count=len(rounds), at_once=record["at_once"]).strip(),
            goals_table(["measured"], [(MEMORY, [growth(peaks)])]),
            f"{number(whole)} tasks a minute over all.{told}",
            table(head, rows),
        ]
    )
