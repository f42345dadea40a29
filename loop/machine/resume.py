"""`resume`: how a stopped task goes on when a person acts.

Pure: no I/O.
"""

import hashlib
from typing import Literal

from instrument.schema.state import Counters, Finding, Ruling, Stop, TaskState
from instrument.schema.vocabulary import Severity, Stage, StopReason
from loop.machine.stops import STOPS

How = Literal["rerun", "ruling", "auto_merge", "task_edited"]

APPROVED_STAGES = (Stage.REBASE, Stage.GATE, Stage.MERGE)
"""Where work stands on an approval, which an edit of the task voids: it was given for another text."""
WAITS_FOR_MAIN = (StopReason.READY_TO_MERGE, StopReason.MERGE_CONFLICT, StopReason.IMAGE_UNFIT)
"""Stops on an approval that a new commit on the branch may lift: a rerun rebases onto it."""


def resume(state: TaskState, how: How, *, main_has_moved: bool = False) -> TaskState | None:
    """The state that goes on from a stop; none where this act leads nowhere from this stop.

    Args:
        state: A stopped task.
        how: What the person did.
        main_has_moved: The branch's tip is no longer the landing commit's parent, or the base.
    """
    stop = state.stop
    if state.stage is not Stage.STOPPED or stop is None:
        return None
    target = _target(stop, how, main_has_moved=main_has_moved)
    if target is None:
        return None
    stage = stop.stage if target is Stage.STOPPED else target
    if how == "task_edited" and stage in APPROVED_STAGES:
        stage = Stage.REVIEW
    moved = state.model_copy(
        update={
            "seq": state.seq + 1,
            "stage": stage,
            "stop": None,
            "counters": _forgive(state.counters, stop),
        }
    )
    return _forget(moved) if stage is Stage.READY else moved


def _target(stop: Stop, how: How, *, main_has_moved: bool) -> Stage | None:
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


def _forget(state: TaskState) -> TaskState:
    """From `ready` on everything is found anew, so that a mended factory.toml is read."""
    update: dict[str, object] = {"base": None, "image": None, "baseline_passed": False, "candidate": None}
    update |= {"landing": None, "gated": None, "failures": (), "checked": ()}
    return state.model_copy(update=update)


def record_ruling(state: TaskState, text: str) -> TaskState:
    """The state with a ruling that answers its stop; at `review_exhausted` it closes the open must-fixes.

    Elsewhere it was not about them: closed, they would land unrepaired.
    """
    if state.stop is None:
        raise ValueError("only a stopped task takes a ruling")
    digest = ruling_digest(text)
    ruling = Ruling(stop=state.stop.reason, digest=digest, text=text)
    counters = state.counters
    findings = state.findings
    if state.stop.reason is StopReason.REVIEW_EXHAUSTED:
        findings = tuple(_close(f, counters.review_rounds) for f in findings)
    return state.model_copy(
        update={
            "rulings": (*state.rulings, ruling),
            "findings": findings,
            "counters": counters.model_copy(update={"interventions": counters.interventions + 1}),
            "pending": None,
        }
    )


def _close(finding: Finding, review_round: int) -> Finding:
    is_open = finding.round == review_round and finding.severity is Severity.MUST_FIX
    return finding.model_copy(update={"closed": True}) if is_open else finding


def ruling_digest(text: str) -> str:
    """SHA-256 of a ruling's text, hex: the same ruling again is no second one."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def open_findings(state: TaskState) -> tuple[Finding, ...]:
    """The last review's findings that no ruling closed; in order of id."""
    return tuple(f for f in state.findings if f.round == state.counters.review_rounds and not f.closed)
