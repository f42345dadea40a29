"""What a job's end adds to a task's bill.

Pure: no I/O.
"""

from instrument.schema.job import JobEnd
from instrument.schema.state import Spend, TaskState


def add_spend(state: TaskState, end: JobEnd) -> TaskState:
    """The state with this job's cost and run time added; lost and cancelled jobs cost too."""
    spend = state.spend
    return state.model_copy(
        update={
            "spend": Spend(
                microusd=spend.microusd + end.ledger.cost_microusd,
                lower_bound=spend.lower_bound or end.is_lower_bound,
                unmetered_jobs=spend.unmetered_jobs + end.is_lower_bound,
                job_ms=spend.job_ms + end.duration_ms,
            )
        }
    )
