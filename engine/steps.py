"""What activities do to one task, each step a call: opened, done, settled.

Limits: blocking; holds the task's lock for the call, and its state file says what an earlier call did.
"""

from datetime import datetime
from signal import SIGINT

from engine import messages as m
from engine.doings import Abandoned, Watch
from engine.facts_file import keep_facts, kept_facts, slim
from engine.place import DRIVER, Place, journal_of, request_of, session_of
from instrument.schema.events import Waited
from instrument.schema.owner import Owner
from instrument.schema.state import TaskState
from instrument.schema.vocabulary import EffectKind, Stage
from jobs.runner import DockerJobs
from loop.continuing import Continuation, continue_task, with_choices_of
from loop.errors import BusyError, UsageError
from loop.home import set_aside
from loop.machine.facts import CancelledFacts
from loop.ownership import write_owner
from loop.request import RunRequest
from loop.run import note_start, take_up
from loop.session import Session, check_means, find_session, new_state
from loop.sharing import may_touch, must_pass
from loop.shell.base import fetch_base
from loop.shell.orders import asked_providers
from loop.shell.papers import read_papers
from loop.shell.shell import Shell
from loop.store import load_state
from loop.transition import Transitions, round_of

AGENTS = (EffectKind.IMPLEMENT, EffectKind.REVIEW, EffectKind.RESOLVE)


def open_task(place: Place, opening: m.Opening) -> m.Opened:
    """Bring a task to where the answer leads, and take it over from whoever drove it before.

    Raises:
        Problems, UsageError, GitError: What a person wrote, or the repository, has to be mended first.
        StateCorruptError: The task's state cannot be read.
        BusyError: A loop holds the task at this moment; try again.
    """
    order = opening.order
    request = request_of(order, opening.answer)
    with session_of(place, request) as session:
        try:
            return _open(place, session, request, opening)
        except BusyError as busy:
            return m.Opened(waits=str(busy))


def _open(place: Place, session: Session, request: RunRequest, opening: m.Opening) -> m.Opened:
    now = place.now()
    state = _standing(session, opening.order)
    state = state or new_state(session, request, created_utc=now)
    refused = ""
    try:
        going = continue_task(session, request, state, now)
    except UsageError as error:
        if opening.answer is None:
            raise
        going, refused = Continuation(state), str(error)
    state = going.state
    session = with_choices_of(session, state)
    if not state.stage.is_terminal:
        check_means(session, session.config, state.terms)
    command = f"python -m engine export {state.task_id}"
    write_owner(session.folder, Owner(driver=DRIVER, command=command, since_utc=now))
    with journal_of(place, session, state) as journal:
        for wait in opening.waits:
            journal.append(Waited, **wait.model_dump())
        if not opening.is_under_way:
            note_start(journal)
        take_up(session, journal, going)
    ask = None if state.stage.is_terminal else _ask(session, state, opening, now)
    return m.Opened(state=state, ask=ask, refused=refused)


def _standing(session: Session, order: m.TaskOrder) -> TaskState | None:
    """The state that is there; one that was begun before a restart is set aside, once."""
    state = load_state(session.folder)
    if state is not None and order.restart_utc is not None and state.created_utc < order.restart_utc:
        session.context.jobs.reap(state.run_id, keep=None)
        set_aside(session.folder)
        return None
    return state


def _ask(session: Session, state: TaskState, opening: m.Opening, now: datetime) -> m.TurnAsk:
    """What the task may touch, from the papers of its base; of the branch's tip where it has none."""
    context = session.context
    commit = state.base or fetch_base(context, session.repo)
    papers = read_papers(context, commit, state.task_path, state.task_blob)
    return m.TurnAsk(
        task_id=state.task_id,
        n=opening.n,
        asked_utc=now,
        urgent=opening.order.urgent,
        checkout=opening.order.checkout,
        task=opening.order.task,
        files=may_touch(papers, state),
        generated=papers.config.generated,
        must_pass=must_pass(papers) if state.stage is Stage.READY else (),
        count=papers.config.repo.tasks,
    )


def do_effect(place: Place, doing: m.Doing, watch: Watch) -> m.Found:
    """Do an effect, or find what an earlier call did of it; the intent is on disk before anything is there.

    Raises:
        BusyError: Another process holds the task; try again.
    """
    begun, effect = doing.begun, doing.effect
    request = request_of(doing.order)
    with session_of(place, request, watch.look) as opened:
        # A task that was given back lets this process in, too: there is no mark on it any more.
        watch.look()
        session = with_choices_of(opened, begun)
        kept = kept_facts(session.folder, effect.key)
        if kept is not None:
            return m.Found(facts=slim(kept))
        on_disk = load_state(session.folder)
        if on_disk is not None and on_disk.seq > begun.seq:
            raise Abandoned  # another worker has done this and more: we were taken for dead, and slept
        resumed = on_disk is not None and on_disk.attempt is not None and on_disk.attempt.key == effect.key
        if effect.kind in AGENTS and asked_providers(session.context, begun.terms):
            place.before_paid()
        with watch.slot(session, effect, resumed=resumed):
            watch.look()
            with journal_of(place, session, begun) as journal:
                Transitions(session.folder, journal).begin(begun, effect, resumed=resumed)
            facts = Shell(session.context).perform(begun, effect, resumed=resumed)
        keep_facts(session.folder, facts)
        return m.Found(facts=slim(facts))


def settle(place: Place, settling: m.Settling) -> None:
    """Write a transition down: the record first, then the state."""
    before, effect, after = settling.before, settling.effect, settling.after
    request = request_of(settling.order)
    with session_of(place, request) as session, journal_of(place, session, before) as journal:
        on_disk = load_state(session.folder)
        if on_disk is not None and on_disk.seq > after.seq:
            return  # as in `do_effect`
        writes = Transitions(session.folder, journal)
        facts = kept_facts(session.folder, effect.key) if effect else None
        if settling.outcome is not None and not isinstance(facts, CancelledFacts):
            round_ = round_of(effect) if effect else 0
            writes.settle(before, settling.outcome, facts, after, round_=round_)
        elif effect is not None:
            none = CancelledFacts(key=effect.key, end=None, signal=SIGINT)
            cancelled = facts if isinstance(facts, CancelledFacts) else none
            writes.settle_cancelled(after, effect, cancelled)


def memory_of(place: Place, order: m.TaskOrder) -> int:
    """What a job of the task may take, in bytes.

    Raises:
        Problems, GitError: The repository cannot be read.
    """
    request = request_of(order)
    found = find_session(request, jobs=DockerJobs(), environment=place.environment, now=place.now)
    return found.config.limits.memory_bytes


def note(place: Place, noting: m.Noting) -> None:
    """Record waits that are over."""
    with session_of(place, request_of(noting.order)) as session:
        state = load_state(session.folder)
        if state is not None:
            with journal_of(place, session, state) as journal:
                for wait in noting.waits:
                    journal.append(Waited, **wait.model_dump())
