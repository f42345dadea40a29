"""Where a worker's steps happen: the home, one task's lock and record, and what a person may have to mend.

Limits: opens and closes; what is done between is the steps'.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from engine import messages as m
from instrument.schema.state import TaskState
from jobs.runner import DockerJobs
from loop.canary import CanaryError
from loop.errors import UsageError
from loop.git.errors import GitError
from loop.journal import Journal
from loop.problems import Problems
from loop.request import RunRequest
from loop.session import Session, open_session
from loop.store import StateCorruptError

DRIVER = "engine"
FAULTS = (Problems, UsageError, GitError, StateCorruptError, CanaryError)
"""What a person has to mend; no retry does."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where this process works: the home that all workers share, and its own surroundings."""

    home: Path
    environment: Mapping[str, str]
    now: Callable[[], datetime]
    jobs: Callable[[Callable[[], None]], DockerJobs]
    """Makes what runs jobs; it is given what to call while one runs."""
    before_paid: Callable[[], None] = lambda: None
    """Called before the first model call that costs money can be made."""


def request_of(order: m.TaskOrder, answer: m.Answer | None = None) -> RunRequest:
    """What the person asked for, as `factory run` would have been told."""
    answer = answer or m.Answer(id="")
    return RunRequest(
        task=str(Path(order.checkout, order.task)),
        repo=Path(order.checkout),
        rulings=answer.rulings,
        grants=answer.grants,
        allow=answer.allow,
        park=answer.park,
        auto_merge=order.auto_merge or answer.auto_merge,
        runtime=order.runtime,
        model=order.model,
        story=Path(order.story).read_bytes() if order.story else None,
        purpose=order.purpose,
    )


def unwatched() -> None:
    """Nobody watches a short step."""


@contextmanager
def session_of(place: Place, request: RunRequest, look: Callable[[], None] = unwatched) -> Iterator[Session]:
    """Hold the task's lock for the block; `look` is called while a job of it runs.

    Raises:
        BusyError: Another process holds it.
        Problems, UsageError, GitError: The repository or the task cannot be read.
    """
    with (
        closing(place.jobs(look)) as jobs,
        open_session(
            request, jobs=jobs, environment=place.environment, now=place.now, driver=DRIVER
        ) as session,
    ):
        yield session


@contextmanager
def journal_of(place: Place, session: Session, state: TaskState) -> Iterator[Journal]:
    """The task's record, open for the block."""
    journal = Journal(
        session.folder, task_id=state.task_id, run_id=state.run_id, purpose=state.purpose, now=place.now
    )
    try:
        yield journal
    finally:
        journal.close()
