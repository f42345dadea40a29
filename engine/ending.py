"""How a task stops moving: its job ended by a person, its brief told, the engine letting go of it.

Limits: blocking, as `engine.steps`; kills a container only where `kill_job` is asked for.
"""

import dataclasses
import sys
from contextlib import closing, suppress
from signal import SIGINT

from engine import messages as m
from engine.facts_file import keep_facts
from engine.place import FAULTS, Place, journal_of, request_of, session_of, unwatched
from engine.steps import settle
from instrument.schema.events import RunEnded
from instrument.schema.state import TaskState
from instrument.schema.vocabulary import Stage
from loop.continuing import with_choices_of
from loop.errors import BusyError
from loop.home import task_folder
from loop.journal import Journal
from loop.machine.advance import cancel
from loop.machine.facts import CancelledFacts
from loop.machine.plan import plan
from loop.notify import tell
from loop.ownership import remove_owner
from loop.request import RunRequest
from loop.run import conclude, places_of, red_checks
from loop.session import Session, hold_lock
from loop.sharing import settle_hold
from loop.shell.shell import Shell
from loop.store import load_state

INTERRUPTED = 130
"""The exit code of a run that a person ended."""


def kill_job(place: Place, doing: m.Doing) -> None:
    """End the container of a job now; whoever waits for it is left to notice."""
    with closing(place.jobs(unwatched)) as jobs:
        jobs.end(doing.begun.run_id, doing.effect.key)


def cancel_job(place: Place, doing: m.Doing) -> CancelledFacts:
    """Keep what a job that was ended had cost; it is ended here if it goes on.

    Raises:
        BusyError: The thread that waited for it has not left yet; try again.
    """
    with session_of(place, request_of(doing.order)) as opened:
        session = with_choices_of(opened, doing.begun)
        facts = Shell(session.context).cancel(doing.begun, doing.effect, SIGINT)
        keep_facts(session.folder, facts)
        return facts


def abandon(place: Place, order: m.TaskOrder) -> None:
    """Do to a task that no workflow carries any more what one that is cancelled does before it ends.

    Raises:
        BusyError: A thread waits for its job still; try again.
        Problems, UsageError, GitError: The repository cannot be read; its job is killed all the same.
        StateCorruptError: The task's state cannot be read.
    """
    state = load_state(task_folder(place.home, order.task_id))
    if state is not None and state.attempt is not None and state.attempt.kind.is_job:
        doing = m.Doing(order=order, begun=state, effect=plan(state))
        kill_job(place, doing)
        after = cancel(state, cancel_job(place, doing))
        settle(place, m.Settling(order=order, before=state, effect=doing.effect, after=after))
    close(place, m.Closing(order=order, how="cancelled"))


def close(place: Place, asked: m.Closing) -> None:
    """A task stands still: its brief is written and told; or the engine lets go of it."""
    order = asked.order
    folder = task_folder(place.home, order.task_id)
    if asked.how:
        # Whoever does an effect of it looks for the mark, and leaves: until then the lock is not free.
        remove_owner(folder)
    if asked.how == "exported":
        with hold_lock(folder, order.task_id):
            return
    # What cannot be read holds up nobody who wants to be rid of it.
    with suppress(*(FAULTS if asked.how else ())):
        state = load_state(folder)
        # One that is cancelled while it waits for a person was closed when it stopped.
        if state is not None and not (asked.how == "cancelled" and state.stage is Stage.STOPPED):
            _close(place, order)


def _close(place: Place, order: m.TaskOrder) -> None:
    request = request_of(order)
    with session_of(place, request) as opened:
        state = load_state(opened.folder)
        if state is None:
            return
        session = with_choices_of(opened, state)
        with journal_of(place, session, state) as journal:
            exit_code = _conclude(place, session, state, journal) if state.stage.is_terminal else INTERRUPTED
            journal.append(RunEnded, exit_code=exit_code)


def _conclude(place: Place, session: Session, state: TaskState, journal: Journal) -> int:
    try:
        settle_hold(session, state, failed=red_checks(state), now=place.now())
    except BusyError as busy:
        # The branch is red for another task already: one alert is enough.
        return int(busy.exit_code)
    places = dataclasses.replace(
        places_of(session, _typed(session)), command=f"python -m engine answer {state.task_id}"
    )
    ending = conclude(session, state, places)
    tell(session.folder, state, ending.text, place.environment, say=_say, record=journal.append)
    return int(ending.result.exit_code)


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")


def _typed(session: Session) -> RunRequest:
    return RunRequest(task=session.task_path, repo=session.context.store.checkout.root)
