"""One run of one task: open it, let the person's words have their effect, drive, say how it ended.

Limits: start and restart go through this one door.
"""

import os
import shlex
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from importlib.metadata import version
from pathlib import Path

from instrument.report import one_task
from instrument.schema.events import RunEnded, RunStarted, Waited
from instrument.schema.state import TaskState
from instrument.schema.vocabulary import Purpose, Stage, StopReason, WaitedFor
from instrument.table import render_bill
from jobs.errors import JobsError
from jobs.ports import Jobs
from loop.atomic import write_atomic
from loop.brief import Places, corrupt_brief, write_brief
from loop.continuing import Continuation, continue_task, with_choices_of
from loop.drive import Driver
from loop.errors import BusyError, UsageError
from loop.home import set_aside
from loop.journal import Journal
from loop.notify import tell, tell_corrupt
from loop.preview import preview
from loop.progress import Progress
from loop.request import Ending, RunRequest, RunResult, landing_of, result_of
from loop.rulings_file import save_rulings
from loop.session import Session, check_means, new_state, open_session
from loop.sharing import settle_hold, share
from loop.shell.orders import asked_providers
from loop.shell.shell import Shell
from loop.signals import Interrupted, Signals
from loop.slotfiles import Need
from loop.slots import LookAtLoad, host_of, job_slot, leases_alone
from loop.store import StateCorruptError, load_state, save_state
from loop.waiting import busy_as_waiting, until_reset, wait_for


@dataclass(frozen=True, slots=True)
class World:
    """What a run takes from outside."""

    jobs: Jobs
    environment: Mapping[str, str]
    signals: Signals
    progress: Progress
    now: Callable[[], datetime]
    load: LookAtLoad = leases_alone
    """What runs on the engine, for the job slots."""
    before_paid: Callable[[], None] = lambda: None
    """Called before the first model call that costs money can be made: the canary's place."""
    save: Callable[[Path, TaskState], None] = save_state
    """Makes a state durable in the task's folder before it returns."""
    sleep: Callable[[float], None] = time.sleep
    """Called with seconds, half a one at most, wherever the run waits for somebody else."""


def run(request: RunRequest, world: World) -> Ending:
    """Carry the task as far as it goes.

    Raises:
        RunError, Problems, GitError: The run cannot begin; nothing was changed.
        Interrupted: A signal ended it; the text for the person has been said.
    """
    jobs, say = world.jobs, world.progress.note
    with open_session(request, jobs=jobs, environment=world.environment, now=world.now, say=say) as session:
        places = places_of(session, request)
        try:
            state = None if request.restart else load_state(session.folder)
        except StateCorruptError as error:
            ending = _corrupt(session, places, error)
            if not request.dry_run and request.purpose is Purpose.TASK:
                tell_corrupt(session.folder, session.task_id, ending.text, world.environment, say=say)
            return ending
        return _run(session, request, world, state, places)


def _run(
    session: Session, request: RunRequest, world: World, state: TaskState | None, places: Places
) -> Ending:
    timeout_s = None if request.wait else 0.0
    if state is None:
        say = world.progress.note
        created_utc = world.now()
        state = wait_for(
            lambda: busy_as_waiting(lambda: new_state(session, request, created_utc=created_utc)),
            say=say,
            sleep=world.sleep,
            timeout_s=timeout_s,
        )
        going = continue_task(session, request, state, created_utc)
        if request.dry_run:
            return preview(session, going.state, places)
        if request.restart:
            begin_again(session, world)
        else:
            # Before whatever is slow, such as an engine that does not answer.
            say(f"{session.task_id} begins: {session.task_path} on {session.context.branch}")
        world.save(session.folder, going.state)
    else:
        session = with_choices_of(session, state)
        going = _continue(session, request, world, state)
        state = going.state
        session = with_choices_of(session, state)
        if request.dry_run:
            return preview(session, state, places)
        if not state.stage.is_terminal:
            check_means(session, session.config, state.terms)
            world.progress.note(f"{state.task_id} goes on at {state.stage}")
    return _carry(session, request, world, going, places)


def _continue(session: Session, request: RunRequest, world: World, state: TaskState) -> Continuation:
    """Let the person's words have their effect; with `--wait` a provider's reset is slept until."""
    going = continue_task(session, request, state, world.now())
    if going.note:
        world.progress.note(going.note)
    reset = going.waits_until
    if reset is None or request.dry_run:
        return going
    say = world.progress.note
    waiting = until_reset(state.task_id, reset, world.now())
    if waiting is not None and not request.wait:
        say(waiting.line)
        return going
    wait_for(
        lambda: until_reset(state.task_id, reset, world.now()) or True,
        say=say,
        sleep=world.sleep,
        timeout_s=None,
    )
    return continue_task(session, request, state, world.now())


def _carry(
    session: Session, request: RunRequest, world: World, going: Continuation, places: Places
) -> Ending:
    """Record what the person did, then drive, beside what other loops do."""
    state = going.state
    with _journal(session, state, world) as journal:
        take_up(session, journal, going, save=world.save)
        if not state.stage.is_terminal:
            if asked_providers(session.context, state.terms):
                world.before_paid()
            now = world.now()
            waiting = share(
                session,
                state,
                say=world.progress.note,
                sleep=world.sleep,
                wait=request.wait,
                waited=_recording(journal),
                now=now,
            )
            with waiting:
                state = _drive(session, world, journal, state, places)
            settle_hold(session, state, failed=red_checks(state), now=now)
        ending = conclude(session, state, places)
        say = world.progress.note
        tell(session.folder, state, ending.text, world.environment, say=say, record=journal.append)
        journal.append(RunEnded, exit_code=ending.result.exit_code)
    return ending


def red_checks(state: TaskState) -> tuple[str, ...]:
    """Names of the checks that failed on the base: the details of that stop begin with them."""
    details = state.stop.details if state.stop else ()
    return tuple(line.partition(":")[0] for line in details if ": exit code" in line or "timed out" in line)


@contextmanager
def _journal(session: Session, state: TaskState, world: World) -> Iterator[Journal]:
    """The task's record for one run; where it is cut short the exit code is its last word, a bug has none."""
    journal = Journal(
        session.folder, task_id=state.task_id, run_id=state.run_id, purpose=state.purpose, now=world.now
    )
    try:
        note_start(journal)
        yield journal
    except (Interrupted, BusyError) as end:
        journal.append(RunEnded, exit_code=int(end.exit_code))
        raise
    finally:
        journal.close()


def _recording(journal: Journal) -> Callable[[WaitedFor, float], None]:
    """What a wait tells when it is over."""
    return lambda what, seconds: journal.append(Waited, what=what, duration_ms=round(seconds * 1000))


def _drive(session: Session, world: World, journal: Journal, state: TaskState, places: Places) -> TaskState:
    driver = Driver(
        session.folder,
        journal=journal,
        shell=Shell(session.context),
        watcher=world.progress,
        signals=world.signals,
        now=world.now,
        save=world.save,
        job_slot=lambda key, *, has_begun: job_slot(
            host_of(session.context.home, world.environment, world.load),
            Need(key=key, memory_bytes=session.config.limits.memory_bytes),
            None,
            has_begun=has_begun,
            say=world.progress.note,
            sleep=world.sleep,
            interrupted=world.signals.check,
            waited=_recording(journal),
        ),
    )
    world.signals.hold()
    try:
        return driver.drive(state)
    except Interrupted:
        world.progress.note(f"interrupted; to continue:  {places.command}")
        raise
    finally:
        world.progress.close()


def places_of(session: Session, request: RunRequest) -> Places:
    """Where a brief points to, with the command that continues the task by hand."""
    root = session.context.store.checkout.root
    # A brief is read by mail, too, and in the list of all repositories' tasks: it holds from any folder.
    words = ["factory", "run", session.task_path, "--repo", str(root)]
    if request.story is not None:
        words += ["--story", "STORY"]
    return Places(
        folder=session.folder, store=session.context.store.path, checkout=root, command=shlex.join(words)
    )


def begin_again(session: Session, world: World) -> None:
    """Keep the old folder under another name; its pod goes, its cost stays in the report."""
    with suppress(StateCorruptError, UsageError, JobsError):
        old = load_state(session.folder)
        if old is not None:
            session.context.jobs.reap(old.run_id, keep=None)
    kept = set_aside(session.folder)
    world.progress.note(f"{session.task_id} begins again; the old run is kept in {kept}")


def note_start(journal: Journal) -> None:
    """Record that this process has the task now."""
    journal.append(RunStarted, pid=os.getpid(), host=socket.gethostname(), version=version("factory-loop"))


def take_up(
    session: Session,
    journal: Journal,
    going: Continuation,
    save: Callable[[Path, TaskState], None] = save_state,
) -> None:
    """Write down what a person did and where the task stands; then what a killed loop left goes."""
    for kind, fields in going.entries:
        journal.append(kind, **fields)
    state = going.state
    save_rulings(session.folder, state)
    save(session.folder, state)
    with suppress(JobsError):
        session.context.jobs.reap(state.run_id, keep=state.attempt.key if state.attempt else None)


def conclude(session: Session, state: TaskState, places: Places) -> Ending:
    """Write the brief of a task that is stopped, or compose the bill of one that is done."""
    result = result_of(state, session.folder)
    if state.stage is Stage.STOPPED:
        text = write_brief(state, places)
        write_atomic(session.folder / "brief.md", text.encode("utf-8", "replace"))
        return Ending(result, text)
    (session.folder / "brief.md").unlink(missing_ok=True)
    landing = landing_of(state, session.context.branch, session.context.remote)
    bill = render_bill(one_task(session.context.home, state.task_id))
    return Ending(result, f"{landing}\n\n{bill}\nRun folder: {session.folder}\n")


def _corrupt(session: Session, places: Places, error: StateCorruptError) -> Ending:
    """Nothing is changed; what it cost is not known, so the amount is a lower bound of nothing."""
    result = RunResult(
        task_id=session.task_id,
        stage=Stage.STOPPED,
        stop_reason=StopReason.STATE_CORRUPT,
        done_reason=None,
        commit=None,
        coder_rounds=0,
        review_rounds=0,
        cost_microusd=0,
        cost_is_lower_bound=True,
        run_folder=str(session.folder),
    )
    return Ending(result, corrupt_brief(str(error), places))
