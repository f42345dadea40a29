"""What is left of a task's money and time.

Pure: no I/O.
"""

from instrument.schema.state import TaskState

SHORTEST_JOB_MS = 1000


def money_left(state: TaskState) -> int | None:
    """Micro-dollars left, never negative; none where the task has no money budget."""
    if state.terms.budget_microusd is None:
        return None
    return max(0, state.terms.budget_microusd - state.spend.microusd)


def time_left_ms(state: TaskState) -> int | None:
    """Milliseconds of job run time left, never negative; none where the task has no time budget."""
    if state.terms.budget_ms is None:
        return None
    return max(0, state.terms.budget_ms - state.spend.job_ms)


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


def is_money_gone(state: TaskState) -> bool:
    """Whether no further model call can be paid for."""
    return money_left(state) == 0


def is_time_gone(state: TaskState, *, for_coder: bool) -> bool:
    """Whether a job could not run for even a second; a coder leaves the reserve alone."""
    left = time_left_ms(state)
    return left is not None and left - (state.terms.reserve_ms if for_coder else 0) < SHORTEST_JOB_MS
