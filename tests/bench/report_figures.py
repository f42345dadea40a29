"""What a report over many tasks takes: its goals, and its section of the page.

Pure: no I/O.
"""

from collections.abc import Mapping
from typing import Any

from tests.bench.figures import Goal, ratio_of, spread_of
from tests.bench.page import goals_table, number, shown, table

TITLE = "Reports over many tasks"
FIRST = Goal("time of a first report, over the floor's", 3.0)
AGAIN = Goal("time of a report over unchanged files, over the floor's", 0.2)
_METHOD = """\
`instrument report` over {tasks} tasks with {events} events, made up for it. The floor is a program that reads
the same files once and parses each line with orjson, in one process. A round runs the floor, a report without
an index and a second one, which finds the index of the first; each is a process of its own with its start.
"""
_RUNS = {"floor": "floor", "first": "first report", "again": "unchanged files"}


def render(record: Mapping[str, Any]) -> str:
    """The section, of what `report_bench.measure` gave."""
    rounds = record["rounds"]

    def values(run: str, what: str) -> list[float]:
        return [one[run][what] for one in rounds]

    goals = [
        (FIRST, [ratio_of(values("first", what), values("floor", what)) for what in ("wall_s", "cpu_s")]),
        (AGAIN, [ratio_of(values("again", what), values("floor", what)) for what in ("wall_s", "cpu_s")]),
    ]
    figures = [
        [title, *(shown(spread_of(values(run, what))) for what in ("wall_s", "cpu_s", "peak_mib"))]
        for run, title in _RUNS.items()
    ]
    return "\n\n".join(
        [
            _METHOD.format(tasks=number(record["tasks"]), events=number(record["events"])).strip(),
            f"{len(rounds)} rounds.",
            goals_table(["time", "processor time"], goals),
            table(["", "time, s", "processor time, s", "most memory, MiB"], figures),
        ]
    )
