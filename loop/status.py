"""`factory status`: one line a task, from `state.json`.

Limits: reads, takes no lock.
"""

from collections.abc import Iterator, Mapping

from instrument.found import find_home, find_tasks, read_state
from instrument.money import show_usd
from instrument.schema.state import TaskState
from instrument.schema.vocabulary import Stage
from loop.request import result_of


def status_lines(environment: Mapping[str, str], *, as_json: bool) -> Iterator[str]:
    """One line a task in order of its id: where it stands, why, its rounds, its cost."""
    for task in find_tasks(find_home(environment)):
        folder = task.folders[-1]
        state, fault = read_state(folder)
        if state is None:
            yield f"{task.task_id}: {fault}; see it with `factory run`, or begin again with --restart"
        elif as_json:
            yield result_of(state, folder).model_dump_json()
        else:
            yield _line(state)


def _line(state: TaskState) -> str:
    where = str(state.stage)
    if state.stop is not None:
        where = f"stopped: {state.stop.reason}"
    elif state.done is not None:
        where = f"done: {state.done}"
    cost = show_usd(state.spend.microusd, lower_bound=state.spend.lower_bound)
    under_way = f", {state.attempt.kind} under way" if state.attempt and state.stage is not Stage.DONE else ""
    counters = state.counters
    return (
        f"{state.task_id}  {where}{under_way}  "
        f"{counters.coder_rounds} coder rounds, {counters.review_rounds} reviews, {cost}"
    )
