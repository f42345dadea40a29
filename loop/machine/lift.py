"""Grants: whether a cap that a person set is high enough to lift the stop it answers.

Pure: no I/O.
"""

from instrument.schema.state import Counters, Stop, TaskState
from instrument.schema.vocabulary import Stage
from loop.machine.budget import caps_of, is_money_gone, is_time_gone

USED = {
    "check": "check_failures",
    "review": "review_rounds",
    "gate": "gate_failures",
    "main_moved": "main_moves",
    "interruptions": "interruptions",
}
"""Of each cap, the counter that is held against it."""


def is_lifted(state: TaskState, stop: Stop, counter: str) -> bool:
    """Whether the caps in force leave room to go on from the stop; a grant is among them already."""
    is_coder = stop.stage is Stage.IMPLEMENT
    match counter:
        case "usd":
            return not is_money_gone(state, for_coder=is_coder)
        case "minutes":
            return not is_time_gone(state, for_coder=is_coder)
        case _:
            return int(getattr(caps_of(state), counter)) >= least_cap(state, counter)


def least_cap(state: TaskState, counter: str) -> int:
    """The smallest cap that leaves room for one more: what a brief offers first."""
    return int(getattr(state.counters, USED[counter])) + 1


def count_granted(before: Counters, forgiven: Counters, counter: str | None) -> Counters:
    """The counters of a task that goes on by a grant: what it stopped at is now within the cap.

    That failure is counted, else a cap of four would buy five repairs; a review counts itself.
    """
    if counter is None or counter == "review" or counter not in USED:
        return forgiven
    name = USED[counter]
    return forgiven.model_copy(update={name: getattr(before, name) + 1})
