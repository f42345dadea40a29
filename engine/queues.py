"""Where work is put: queues, kinds of activities, deadlines and retries.

Pure: no I/O. The figures were measured on a dev server with a file database; see docs/adr.
"""

from datetime import timedelta

from temporalio.common import Priority, RetryPolicy

TASK_WORKFLOW = "task"
REPO_WORKFLOW = "repo"

CONTROL = "control"
"""Workflows, git and what is written down: any worker that reaches the home."""
JOBS = "jobs"
"""Asks for a place for a job; a worker takes one only while its host has room."""

OPEN, SETTLE, CLOSE, NOTE = "task.open", "task.settle", "task.close", "task.note"
ASK, GRANT, LEAVE, ALERT = "repo.ask", "repo.grant", "repo.leave", "repo.alert"
PLACE, RELEASE, END = "host.place", "host.release", "host.end"

FAULT = "fault"
"""Type of the error of a repository or task file that cannot be read: no retry mends that."""

HEARTBEAT = timedelta(seconds=10)
"""A worker that was silent for so long is taken for dead."""
HEARTBEAT_EVERY_S = 1.0
CLAIMED = timedelta(seconds=120)
"""A host that has not begun a job in this time is taken for dead; the job is placed anew."""
MOMENT = timedelta(seconds=20)
"""Of what is over in a moment and does not tell that it is alive."""
BRIEF = timedelta(minutes=30)
"""Longer than a slow fetch; a job has its own deadline."""
LONGEST_JOB = timedelta(days=2)
RETRY = RetryPolicy(
    initial_interval=timedelta(seconds=1),
    backoff_coefficient=2.0,
    maximum_interval=timedelta(seconds=15),
    maximum_attempts=0,
    non_retryable_error_types=[FAULT],
)
"""Of failures of machines: as often as it takes. A task's own failures are values, and no error."""
LOOK_AGAIN = timedelta(seconds=30)
"""How often a repo's workflow looks whether those that wait may go; only while some wait."""
MEND_AGAIN = timedelta(minutes=5)
"""How often a task looks whether its repository can be read again, or its dependencies are done."""


def host_queue(host: str) -> str:
    """The queue of the jobs of one host."""
    return f"{JOBS}@{host}"


def repo_workflow_id(repo: str) -> str:
    """Of the one workflow that decides which tasks of a repo go at once."""
    return f"repo/{repo}"


def priority(repo: str, *, urgent: bool) -> Priority:
    """Urgent first, then a fair share for each repo."""
    return Priority(priority_key=1 if urgent else 3, fairness_key=repo[:64])
