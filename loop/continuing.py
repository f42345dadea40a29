"""What a rerun does with a task that stands: rulings, edits, authority, a second look.

Limits: reads the branch; returns states, saves nothing.
"""

import dataclasses
from dataclasses import dataclass, field

from instrument.schema.events import Continued, RulingRecorded, TaskEdited
from instrument.schema.state import TaskState
from instrument.schema.vocabulary import Stage, StopReason
from loop.errors import UsageError
from loop.machine.resume import How, record_ruling, resume, ruling_digest
from loop.machine.stops import STOPS
from loop.record import Entry
from loop.request import RunRequest
from loop.session import Session, task_blob
from loop.shell.base import fetch_base
from loop.shell.papers import read_papers


@dataclass(slots=True)
class Continuation:
    """The state to go on from, and what the journal is told of it."""

    state: TaskState
    entries: list[Entry] = field(default_factory=list)


def continue_task(session: Session, request: RunRequest, state: TaskState) -> Continuation:
    """Apply what the person typed to the state; a task in mid-round simply goes on.

    Raises:
        UsageError: The ruling does not fit: the task is not stopped, or no ruling helps there.
        Problems: An edited task file is faulty.
    """
    going = Continuation(_with_choices(session, request, state))
    session = with_choices_of(session, going.state)
    if request.runtime is not None or request.model is not None:
        going.state = _with_terms(session, going.state)
    is_new_ruling = request.ruling is not None and not _has_ruling(state, request.ruling)
    if state.stage is not Stage.STOPPED or state.stop is None:
        if is_new_ruling and request.ruling is not None:
            raise UsageError(f"{state.task_id} is not stopped, so nothing is asked; run it without --ruling")
        return going
    if is_new_ruling and request.ruling is not None:
        return _rule(going, request.ruling)
    return _rerun(session, request, going)


def _with_choices(session: Session, request: RunRequest, state: TaskState) -> TaskState:
    """The state with what this command line and the repo's settings allow."""
    is_authorised = state.authorised or request.auto_merge or session.config.merge.auto
    update: dict[str, object] = {"authorised": is_authorised}
    if request.runtime is not None:
        update["asked_runtime"] = request.runtime
    if request.model is not None:
        update["asked_model"] = request.model
    return state.model_copy(update=update)


def _with_terms(session: Session, state: TaskState) -> TaskState:
    """The state with the terms of the present choices; a job under way keeps those it began with."""
    if state.base is None or state.attempt is not None or state.stage is Stage.DONE:
        return state
    papers = read_papers(session.context, state.base, state.task_path, state.task_blob)
    return state.model_copy(update={"terms": papers.terms})


def with_choices_of(session: Session, state: TaskState) -> Session:
    """The session with the runtime and model that the task began with, or was last told."""
    context = dataclasses.replace(session.context, runtime=state.asked_runtime, model=state.asked_model)
    return dataclasses.replace(session, context=context)


def _has_ruling(state: TaskState, text: str) -> bool:
    return any(ruling.digest == ruling_digest(text) for ruling in state.rulings)


def _rule(going: Continuation, text: str) -> Continuation:
    state = going.state
    stop = state.stop
    if stop is None or STOPS[stop.reason].ruling is None:
        reason = stop.reason if stop else ""
        sentence = STOPS[stop.reason].sentence if stop else ""
        raise UsageError(f"no ruling helps at {reason}. {sentence}")
    going.entries.append((RulingRecorded, {"stop": stop.reason, "digest": ruling_digest(text)}))
    return _go_on(going, record_ruling(state, text), "ruling")


def _rerun(session: Session, request: RunRequest, going: Continuation) -> Continuation:
    state = going.state
    tip = fetch_base(session.context, session.repo)
    blob = task_blob(session, tip)
    if blob != state.task_blob:
        return _adopt_edit(session, going, blob)
    if request.auto_merge or state.authorised:
        merged = _go_on(going, state, "auto_merge")
        if merged.state.stage is not Stage.STOPPED:
            return merged
    return _go_on(going, state, "rerun", main_has_moved=tip != state.seen_tip)


def _adopt_edit(session: Session, going: Continuation, blob: str) -> Continuation:
    """Take the new text over: an intervention, whose difference the next prompts show."""
    state = going.state
    base = state.base or fetch_base(session.context, session.repo)
    papers = read_papers(session.context, base, state.task_path, blob)
    if papers.task.status != "ready":
        raise UsageError(f"{state.task_path} says done on the branch; set it to ready, or park the task")
    counters = state.counters.model_copy(update={"interventions": state.counters.interventions + 1})
    edited = state.model_copy(
        update={
            "previous_task_blob": state.task_blob,
            "task_blob": blob,
            "terms": papers.terms,
            "counters": counters,
        }
    )
    going.entries.append((TaskEdited, {"old_blob": state.task_blob, "new_blob": blob}))
    return _go_on(going, edited, "task_edited")


def _go_on(going: Continuation, state: TaskState, how: How, *, main_has_moved: bool = False) -> Continuation:
    """Resume where the table of stops says so; else the task stays stopped as it is."""
    after = resume(state, how, main_has_moved=main_has_moved)
    if after is None:
        going.state = state
        return going
    reason = state.stop.reason if state.stop else StopReason.STATE_CORRUPT
    entry: dict[str, object] = {"state_seq": after.seq, "how": how, "stop": reason, "to_stage": after.stage}
    going.entries.append((Continued, entry))
    going.state = after
    return going
