"""`resume`: how a stopped task goes on when a person acts.

Pure: no I/O.
"""

import hashlib
from typing import Literal

from instrument.schema.state import Counters, Finding, Resolver, Ruling, Spend, Stop, TaskState
from instrument.schema.vocabulary import EffectKind, Severity, Stage, StopReason
from loop.machine.lift import count_granted, is_lifted
from loop.machine.stops import STOPS

How = Literal["rerun", "ruling", "auto_merge", "task_edited", "grant", "allow"]

APPROVED_STAGES = (Stage.REBASE, Stage.GATE, Stage.MERGE)
"""Where work stands on an approval, which an edit of the task voids: it was given for another text."""
WAITS_FOR_MAIN = (StopReason.READY_TO_MERGE, StopReason.MERGE_CONFLICT, StopReason.IMAGE_UNFIT)
"""Stops on an approval that a new commit on the branch may lift: a rerun rebases onto it."""

AGENT_EFFECTS = (EffectKind.IMPLEMENT, EffectKind.REVIEW, EffectKind.RESOLVE)

GRANTED = {
    "check": "check",
    "review": "review",
    "gate": "gate",
    "main_moved": "main_moved",
    "interruptions": "interruptions",
    "usd": "budget_microusd",
    "minutes": "budget_ms",
}
"""Counters of `--grant` and the field of `Grants` that each sets."""


def resume(
    state: TaskState, how: How, *, main_has_moved: bool = False, counter: str | None = None
) -> TaskState | None:
    """The state that goes on from a stop; none where this act leads nowhere from this stop.

    Args:
        state: A stopped task.
        how: What the person did.
        main_has_moved: The branch's tip is no longer the landing commit's parent, or the base.
        counter: What a grant is of, such as `check` or `usd`; one that is too small leads nowhere.
    """
    state = state if how == "rerun" else unpark(state)
    stop = state.stop
    if state.stage is not Stage.STOPPED or stop is None:
        return None
    if how == "task_edited" and state.climb is not None:
        stop = state.climb.stop  # another text answers the stop itself, whoever was being asked about it
    target = _target(stop, how, main_has_moved=main_has_moved, counter=counter)
    if target is None or (counter is not None and not is_lifted(state, stop, counter)):
        return None
    stage = stop.stage if target is Stage.STOPPED else target
    if how == "task_edited" and stage in APPROVED_STAGES:
        stage = Stage.REVIEW
    # No edit makes a secret of a diff none: the coder begins another.
    is_rewritten = how == "task_edited" and stop.reason is StopReason.SECRET_FOUND
    moved = state.model_copy(
        update={
            "seq": state.seq + 1,
            "stage": stage,
            "stop": None,
            "climb": state.climb if stage is Stage.RESOLVE else None,
            "attempt": state.attempt if how == "rerun" else None,
            "spend": state.spend if how == "rerun" else _without_attempt(state),
            "counters": count_granted(state.counters, _forgive(state.counters, stop), counter),
            "first_run": (),
            "pending": None if is_rewritten else state.pending,
            "declared": "" if stage is Stage.IMPLEMENT else state.declared,
        }
    )
    return _forget(moved, stop) if stage is Stage.READY else moved


def _without_attempt(state: TaskState) -> Spend:
    """What an answer begins is another job: of one that the engine took along the cost stays unknown."""
    is_lost = state.attempt is not None and state.attempt.kind in AGENT_EFFECTS
    return state.spend.model_copy(update={"lower_bound": True}) if is_lost else state.spend


def _target(stop: Stop, how: How, *, main_has_moved: bool, counter: str | None) -> Stage | None:
    row = STOPS[stop.reason]
    match how:
        case "auto_merge":
            if stop.reason is StopReason.READY_TO_MERGE:
                return Stage.MERGE
            return None
        case "rerun":
            if main_has_moved and stop.reason in WAITS_FOR_MAIN and stop.stage in APPROVED_STAGES:
                return Stage.REBASE
            return row.rerun
        case "ruling":
            return row.ruling
        case "task_edited":
            return row.edit
        case "grant":
            return row.granted if counter in row.grants else None
        case "allow":
            return Stage.STOPPED if row.allow else None


def _forgive(counters: Counters, stop: Stop) -> Counters:
    """Counters after a person acted: the machine's small caps begin anew.

    Those of repairs stay at their caps: a ruling buys the one round that it leads to.
    """
    return counters.model_copy(
        update={
            "interruptions": 0,
            "verdict_misses": 0,
            "first_call_misses": 0,
            "main_moves": 0 if stop.reason is StopReason.MAIN_MOVING else counters.main_moves,
        }
    )


def _forget(state: TaskState, stop: Stop) -> TaskState:
    """From `ready` on everything is found anew, so that a mended factory.toml is read.

    After a conflict the coder is shown its old change, to make it again on what is there now.
    """
    conflict = state.conflict_commit
    if stop.reason is StopReason.MERGE_CONFLICT and state.candidate is not None:
        conflict = state.candidate.commit
    update: dict[str, object] = {"base": None, "image": None, "baseline_passed": False, "candidate": None}
    update |= {"landing": None, "gated": None, "failures": (), "checked": (), "declared": ""}
    update |= {"compared": (), "compared_commit": None, "conflict_commit": conflict}
    return state.model_copy(update=update)


def park(state: TaskState, why: str) -> TaskState:
    """The stopped task put aside: reruns print the brief until a person answers what it waited for."""
    stop = state.parked or state.stop
    if stop is None:
        raise ValueError("only a stopped task can be parked")
    aside: dict[str, object] = {"details": (why,), "choices": (), "retry_at_utc": None}
    parked = stop.model_copy(update={"reason": StopReason.PARKED} | aside)
    return state.model_copy(update={"seq": state.seq + 1, "stop": parked, "parked": stop})


def unpark(state: TaskState) -> TaskState:
    """The task at the stop that it was parked at; one that is not parked is left as it is."""
    if state.parked is None:
        return state
    return state.model_copy(update={"stop": state.parked, "parked": None})


def grant(state: TaskState, counter: str, value: int) -> TaskState:
    """The state with a cap set: a count, micro-dollars for `usd`, milliseconds for `minutes`."""
    name = GRANTED[counter]
    counters = state.counters.model_copy(update={"interventions": state.counters.interventions + 1})
    grants = state.grants.model_copy(update={name: value})
    return state.model_copy(update={"grants": grants, "counters": counters})


def allow(state: TaskState, glob: str) -> TaskState:
    """The state with one more glob that the task may touch, protected or not."""
    counters = state.counters.model_copy(update={"interventions": state.counters.interventions + 1})
    return state.model_copy(update={"allowed": (*state.allowed, glob), "counters": counters})


def record_ruling(
    state: TaskState, text: str, *, finding: str | None = None, by: Resolver | None = None
) -> TaskState:
    """The state with a ruling that answers its stop, and what it rules on closed; `by` none: a person's.

    With `finding` that one; else, at `review_exhausted`, all open must-fixes. At other stops a
    ruling was not about them: closed, they would land unrepaired.
    """
    state = unpark(state)
    if state.stop is None:
        raise ValueError("only a stopped task takes a ruling")
    digest = ruling_digest(text)
    ruling = Ruling(stop=state.stop.reason, digest=digest, text=text, finding=finding, by=by)
    counters = state.counters
    interventions = counters.interventions + (by is None)
    findings = state.findings
    if finding is not None:
        findings = tuple(f.model_copy(update={"closed": f.closed or f.id == finding}) for f in findings)
    elif state.stop.reason is StopReason.REVIEW_EXHAUSTED:
        findings = tuple(_close(f, counters.review_rounds) for f in findings)
    return state.model_copy(
        update={
            "rulings": (*state.rulings, ruling),
            "findings": findings,
            "counters": counters.model_copy(update={"interventions": interventions}),
            "pending": None,
        }
    )


def _close(finding: Finding, review_round: int) -> Finding:
    is_open = finding.round == review_round and finding.severity is Severity.MUST_FIX
    return finding.model_copy(update={"closed": True}) if is_open else finding


def ruling_digest(text: str) -> str:
    """SHA-256 of a ruling's text, hex: the same ruling again is no second one."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def has_ruling(state: TaskState, reason: StopReason, text: str, finding: str | None = None) -> bool:
    """Whether these very words were given before, at a stop of this reason and on this finding."""
    known = (reason, ruling_digest(text), finding)
    return any((ruling.stop, ruling.digest, ruling.finding) == known for ruling in state.rulings)


def open_findings(state: TaskState) -> tuple[Finding, ...]:
    """The last review's findings that no ruling closed; in order of id."""
    return tuple(f for f in state.findings if f.round == state.counters.review_rounds and not f.closed)
