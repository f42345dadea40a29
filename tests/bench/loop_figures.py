"""What the loop adds, and what a crash costs: the goals, and their section of the page.

Pure: no I/O.
"""

from collections.abc import Mapping
from typing import Any

from tests.bench.figures import Goal, ratio_of, spread_of
from tests.bench.page import goals_table, number, shown, table

TITLE = "The loop"
OVERHEAD = Goal("time of the demo's task, over the floor's", 1.3)
CRASH = Goal("from a rerun to the next effect, less the program's start", 1.0, "s")
CLI_CALLS = 78
"""Of the docker program by the floor's script: 4 for each of 7 jobs of commands, 10 for each of 5 agents'."""
_METHOD = """\
The demo's task, three rounds of a coder and two of a reviewer with a baseline, four checks, a comparison and
a gate, all answered at once by a scripted provider. *The floor* is a shell script (`tests/bench/floor.sh`)
that does the same by hand with docker and git: the same twelve containers of the same image and five
sidecars, the same real agent program with the same prompts and settings, the same check commands, a commit a
round and the push. It decides nothing and keeps no record; its prompts were made before. What it pushes must
be the tree that the loop pushes. *The loop* is one process of `python -m loop.run_task`, its start included.

A crash is `kill -9` of the loop as an effect begins, or two seconds into a coder's job. The rerun's time is
taken from the start of its process to the moment at which it takes the effect up again; off it comes what
`python -m loop.run_task --help` took just before. A round does each once, in a random order, and kills a
loop at {moments} moments.
"""
_PARTS = {
    "agents_s": "agents' jobs",
    "commands_s": "jobs of commands",
    "git_s": "git",
    "between_s": "between two effects",
    "start_s": "to the first effect",
    "end_s": "after the last",
}


def render(record: Mapping[str, Any]) -> str:
    """The section, of what `loop_bench.measure` gave."""
    rounds = record["rounds"]

    def values(way: str, part: str = "total_s") -> list[float]:
        return [one[way][part] for one in rounds]

    moments = list(rounds[0]["crash"])
    crashes = {moment: [one["crash"][moment] for one in rounds] for moment in moments}
    added = {m: [each["rerun_s"] - each["start_s"] for each in found] for m, found in crashes.items()}
    goals = [
        (OVERHEAD, [ratio_of(values("loop"), values("floor"))]),
        (CRASH, [spread_of(second for seconds in added.values() for second in seconds)]),
    ]
    cells = [
        [title, shown(spread_of(values("loop", part))), _of_floor(rounds, part)]
        for part, title in _PARTS.items()
    ]
    whole = ["in all", shown(spread_of(values("loop"))), shown(spread_of(values("floor")))]
    return "\n\n".join(
        [
            _METHOD.format(moments=len(moments)).strip(),
            f"{len(rounds)} rounds.",
            goals_table(["measured"], goals),
            table(["", "loop, s", "floor, s"], [*cells, whole]),
            _about_the_rest(rounds),
            table(["killed in", "to the next effect, s, less the program's start"], _crash_rows(added)),
            _about_the_process(record["profile_s"]),
        ]
    )


def _of_floor(rounds: list[Mapping[str, Any]], part: str) -> str:
    """Empty where the script has no such part."""
    return shown(spread_of(one["floor"][part] for one in rounds if part in one["floor"]))


def _crash_rows(added: Mapping[str, list[float]]) -> list[list[str]]:
    return [[f"`{moment}`", shown(spread_of(seconds))] for moment, seconds in added.items()]


def _about_the_rest(rounds: list[Mapping[str, Any]]) -> str:
    loop, floor = (spread_of(one[way]["inside_s"] for one in rounds) for way in ("loop", "floor"))
    cli = spread_of(one["floor"]["cli_start_s"] * CLI_CALLS for one in rounds)
    return (
        f"Inside the containers passed {shown(loop)} s of the loop's time, {shown(floor)} s of the floor's. "
        f"Of the floor's, {shown(cli)} s are {CLI_CALLS} starts of the docker program; the loop keeps a "
        "connection instead."
    )


def _about_the_process(profile: Mapping[str, float]) -> str:
    parts = ", ".join(f"{what} {number(seconds)} s" for what, seconds in profile.items())
    return f"One more run under the interpreter's profiler, which slows Python itself: {parts}."
