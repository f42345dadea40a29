"""How a job starts: its goal, and its section of the page.

Pure: no I/O.
"""

from collections.abc import Mapping
from typing import Any

from tests.bench.figures import Goal, ratio_of, spread_of
from tests.bench.page import goals_table, shown, table

TITLE = "Job start"
WARM = Goal("time to the first model call, warm, over `docker run`", 1.2)
_METHOD = """\
From the order of a coder's job to the moment at which its sidecar writes down the first model call, with the
example package as the tree and {program} as the agent. *By hand* is what a person would type: `docker run`
of the same image and command line with the same environment, user, limits and fence, the checkout mounted,
calls over the same kind of socket to the same sidecar program, which was started before and is up; its own
start counts only in *with its sidecar*, for whoever wants a ledger and a budget for each job types that too.
Both lead to one scripted provider in a container of its own. Ours also makes the pod's volumes, starts a
sidecar of this job's own beside it, packs and lays the tree and supervises the agent.

*Cold* begins without the set-up's image: a set-up that writes one file is run and kept as an image, by hand
with `docker run` and `docker commit`. A round does each way once, in a new random order.
"""
_WAYS = {
    "warm": "by hand, warm",
    "cold": "by hand, cold",
    "by hand, warm": None,
    "by hand, with its sidecar": "by hand, warm",
    "by hand, cold": None,
}
"""Each way with the one that its ratio is taken to."""
_PARTS = ("container_ms", "supervisor_ms", "sidecar_ms", "call_ms")


def render(record: Mapping[str, Any]) -> str:
    """The section, of what `jobs_bench.measure` gave."""
    rounds = record["rounds"]

    def values(way: str, part: str = "call_ms") -> list[float]:
        return [one[way][part] for one in rounds if part in one[way]]

    rows = [
        [
            way,
            *(shown(spread_of(values(way, part))) for part in _PARTS),
            shown(ratio_of(values(way), values(hand))) if hand else "",
        ]
        for way, hand in _WAYS.items()
    ]
    head = [
        "way",
        "container runs, ms",
        "supervisor runs, ms",
        "sidecar serves, ms",
        "first call, ms",
        "over by hand",
    ]
    hands = ("by hand, warm", "by hand, with its sidecar")
    goals = [(WARM, [ratio_of(values("warm"), values(hand)) for hand in hands])]
    return "\n\n".join(
        [
            _METHOD.format(program=record["program"]).strip(),
            f"{len(rounds)} rounds.",
            goals_table(["beside a sidecar that is up", "with its sidecar"], goals),
            table(head, rows),
        ]
    )
