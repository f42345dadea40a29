"""How fast a history is replayed: its goal, and its section of the page.

Pure: no I/O.
"""

from collections.abc import Mapping
from typing import Any

from tests.bench.figures import Goal, spread_of
from tests.bench.page import goals_table, number, shown, table

TITLE = "History replay"
RATE = Goal("commits a second, fast mode", 20, is_floor=True)
_METHOD = """\
`factory replay` of the last {commits} commits of a made-up repository of {files} files; each commit edits
three files, adds one and removes one. All run in one container: laid, captured, proven, applied and committed
by the code that carries a coder's work. A round is a process of its own with an empty record; the rate is
taken over what it calls its carrying, its container's start included and Python's not. There is nothing to
compare it with by hand, so that the figure is this machine's.
"""


def render(record: Mapping[str, Any]) -> str:
    """The section, of what `replay_bench.measure` gave."""
    rounds = record["rounds"]
    rate = spread_of(record["commits"] / one["carrying_s"] for one in rounds)
    times = [shown(spread_of(one[part] for one in rounds)) for part in ("carrying_s", "process_s")]
    return "\n\n".join(
        [
            _METHOD.format(commits=record["commits"], files=number(record["files"])).strip(),
            f"{len(rounds)} rounds.",
            goals_table(["measured"], [(RATE, [rate])]),
            table(["carrying, s", "the whole process, s"], [times]),
        ]
    )
