"""What a rerun does with a task that stands: rulings, edits, authority, a second look.

Limits: reads the branch; returns states, saves nothing.
"""

import dataclasses
from dataclasses import dataclass, field
from datetime import datetime

from instrument.money import show_usd
from instrument.schema.events import Allowed, Continued, Granted, RulingRecorded, TaskEdited
from instrument.schema.state import TaskState
from instrument.schema.vocabulary import Stage, StopReason
from loop.errors import UsageError
from loop.machine.lift import least_cap
from loop.machine.resume import (
    GRANTED,
    How,
    allow,
    grant,
    park,
    record_ruling,
    resume,
    ruling_digest,
    unpark,
)
from loop.machine.stops import STOPS
from loop.record import Entry
from loop.request import RunRequest
from loop.rulings import RulingText, parse_ruling
from loop.session import Session, task_blob
from loop.shell.base import fetch_base
from loop.shell.papers import read_papers


@dataclass(slots=True)
class Continuation:
    """The state to go on from, and what the journal is told of it."""

    state: TaskState
    entries: list[Entry] = field(default_factory=list)
    note: str = ""
    """What the person is told of an answer without effect."""
    waits_until: datetime | None = None
    """The provider's limit resets then; a rerun before it asks nobody."""


def continue_task(session: Session, request: RunRequest, state: TaskState, now: datetime) -> Continuation:
    """Apply what the person typed to the state; a task in mid-round simply goes on.

    Raises:
        UsageError: An answer does not fit: the task is not stopped, or it does not help there.
        Problems: An edited task file is faulty.
    """
    going = Continuation(_with_choices(session, request, state))
    session = with_choices_of(session, going.state)
    if request.runtime is not None or request.model is not None:
        going.state = _with_terms(session, going.state)
    rulings = [ruling for ruling in map(parse_ruling, request.rulings) if not _has_ruling(state, ruling)]
    _check_acts(request, state, has_rulings=bool(rulings))
    _grant(going, request)
    _allow(going, request)
    if state.stage is not Stage.STOPPED or state.stop is None:
        return going
    if request.park is not None:
        going.state = park(going.state, request.park)
        return going
    if rulings:
        return _rule(going, rulings)
    if request.rulings:
        going.note = "that ruling was given here before and is known; to say more, write it in other words"
    acted = _act(going, request)
    return acted if acted is not None else _rerun(session, request, going, now)


def _check_acts(request: RunRequest, state: TaskState, *, has_rulings: bool) -> None:
    """Refuse what a task that is not stopped cannot take."""
    if state.stage is Stage.STOPPED:
        return
    if has_rulings:
        raise UsageError(f"{state.task_id} is not stopped, so nothing is asked; run it without --ruling")
    if request.park is not None:
        raise UsageError(
            f"{state.task_id} is not stopped, so it cannot be parked; end it with Ctrl-C instead"
        )


def _grant(going: Continuation, request: RunRequest) -> None:
    for counter, value in request.grants:
        if getattr(going.state.grants, GRANTED[counter]) != value:
            going.state = grant(going.state, counter, value)
            going.entries.append((Granted, {"counter": counter, "cap": value}))


def _allow(going: Continuation, request: RunRequest) -> None:
    for glob in request.allow:
        if glob not in going.state.allowed:
            going.state = allow(going.state, glob)
            going.entries.append((Allowed, {"glob": glob}))


def _act(going: Continuation, request: RunRequest) -> Continuation | None:
    """Go on by a grant or an allowance that lifts the present stop; none where none does."""
    if request.allow and resume(going.state, "allow") is not None:
        return _go_on(going, going.state, "allow")
    state = unpark(going.state)
    for counter, _ in request.grants:
        if resume(going.state, "grant", counter=counter) is not None:
            return _go_on(going, going.state, "grant", counter=counter)
        if state.stop is not None and counter in STOPS[state.stop.reason].grants:
            raise UsageError(f"--grant {counter}: {_too_little(state, counter)}")
    return None


def _too_little(state: TaskState, counter: str) -> str:
    if counter == "usd":
        spent = show_usd(state.spend.microusd + state.terms.reserve_microusd)
        return f"that is too little to go on; {spent} are spent, or kept for a review"
    if counter == "minutes":
        minutes = (state.spend.job_ms + state.terms.reserve_ms) // 60_000
        return f"that is too little to go on; {minutes} are used, or kept for review and gate"
    return f"that is too little to go on; {least_cap(state, counter)} is the least"


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


def _has_ruling(state: TaskState, ruling: RulingText) -> bool:
    """Whether it was given before; the same words on another finding, or at another stop, are another."""
    asked = state.parked or state.stop
    digest = ruling_digest(ruling.text)
    return any(
        (known.digest, known.finding) == (digest, ruling.finding)
        and (asked is None or known.stop is asked.reason)
        for known in state.rulings
    )


def _rule(going: Continuation, rulings: list[RulingText]) -> Continuation:
    """Record every ruling with the stop that it answers, then go on where they lead."""
    state = unpark(going.state)
    stop = state.stop
    if stop is None or STOPS[stop.reason].ruling is None:
        reason = stop.reason if stop else ""
        sentence = STOPS[stop.reason].sentence if stop else ""
        raise UsageError(f"no ruling helps at {reason}. {sentence}")
    known = {finding.id for finding in state.findings}
    for ruling in rulings:
        if ruling.finding is not None and ruling.finding not in known:
            raise UsageError(
                f"there is no finding {ruling.finding}; known: {', '.join(sorted(known)) or 'none'}"
            )
        digest = ruling_digest(ruling.text)
        fields: dict[str, object] = {"stop": stop.reason, "digest": digest, "finding": ruling.finding}
        going.entries.append((RulingRecorded, fields))
        state = record_ruling(state, ruling.text, finding=ruling.finding)
    return _go_on(going, state, "ruling")


def _rerun(session: Session, request: RunRequest, going: Continuation, now: datetime) -> Continuation:
    state = going.state
    tip = fetch_base(session.context, session.repo)
    blob = task_blob(session, tip)
    if blob != state.task_blob:
        return _adopt_edit(session, going, blob)
    is_parked = state.parked is not None
    if request.auto_merge or (state.authorised and not is_parked):
        merged = _go_on(going, state, "auto_merge")
        if merged.state.stage is not Stage.STOPPED:
            return merged
    reset = state.stop.retry_at_utc if state.stop else None
    if reset is not None and now < reset:
        going.waits_until = reset
        return going
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


def _go_on(
    going: Continuation,
    state: TaskState,
    how: How,
    *,
    main_has_moved: bool = False,
    counter: str | None = None,
) -> Continuation:
    """Resume where the table of stops says so; else the task stays stopped as it is."""
    after = resume(state, how, main_has_moved=main_has_moved, counter=counter)
    if after is None:
        going.state = state
        return going
    reason = state.stop.reason if state.stop else StopReason.STATE_CORRUPT
    entry: dict[str, object] = {"state_seq": after.seq, "how": how, "stop": reason, "to_stage": after.stage}
    going.entries.append((Continued, entry))
    going.state = after
    return going
