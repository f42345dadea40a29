"""What is left of a task's money and time, and the caps in force: terms with a person's grants over them.

Pure: no I/O.
"""

from instrument.schema.state import Caps, TaskState

SHORTEST_JOB_MS = 1000


def caps_of(state: TaskState) -> Caps:
    """The caps of the terms, each replaced by what a person granted."""
    granted = {name: getattr(state.grants, name) for name in Caps.model_fields}
    return state.terms.caps.model_copy(update={k: v for k, v in granted.items() if v is not None})


def money_budget(state: TaskState) -> int | None:
    """Micro-dollars that the whole task may cost; none: no limit."""
    granted = state.grants.budget_microusd
    return state.terms.budget_microusd if granted is None else granted


def time_budget_ms(state: TaskState) -> int | None:
    """Milliseconds of job run time that the whole task may take; none: no limit."""
    granted = state.grants.budget_ms
    return state.terms.budget_ms if granted is None else granted


def money_left(state: TaskState, *, for_coder: bool = False) -> int | None:
    """Micro-dollars left, never negative; a coder leaves the reserve for one review alone. None: no limit."""
    budget = money_budget(state)
    if budget is None:
        return None
    return max(0, budget - state.spend.microusd - (state.terms.reserve_microusd if for_coder else 0))


def time_left_ms(state: TaskState) -> int | None:
    """Milliseconds of job run time left, never negative; none where the task has no time budget."""
    budget = time_budget_ms(state)
    return None if budget is None else max(0, budget - state.spend.job_ms)


def commands_deadline_ms(state: TaskState) -> int:
    """Deadline of a job that the reserve is kept for: review, checks, gate."""
    left = time_left_ms(state)
    return state.terms.job_ms if left is None else min(state.terms.job_ms, left)


def agent_deadline_ms(state: TaskState) -> int:
    """Deadline of a coder job: what is left less the reserve for review and gate."""
    left = time_left_ms(state)
    if left is None:
        return state.terms.job_ms
    return min(state.terms.job_ms, max(0, left - state.terms.reserve_ms))


def is_money_gone(state: TaskState, *, for_coder: bool) -> bool:
    """Whether no further model call can be paid for; a coder leaves the reserve alone."""
    return money_left(state, for_coder=for_coder) == 0


def is_time_gone(state: TaskState, *, for_coder: bool) -> bool:
    """Whether a job could not run for even a second; a coder leaves the reserve alone."""
    left = time_left_ms(state)
    return left is not None and left - (state.terms.reserve_ms if for_coder else 0) < SHORTEST_JOB_MS
