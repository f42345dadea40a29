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

ROOM: dict[StopReason, tuple[str, str]] = {
    StopReason.CHECKS_EXHAUSTED: ("check_failures", "check"),
    StopReason.GATE_EXHAUSTED: ("gate_failures", "gate"),
}
"""Stops at a cap of repairs: the counter, and the cap that a ruling makes room below."""


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
            "counters": _make_room(state, stop),
        }
    )
    return _forget(moved, stop, stage)


def _target(stop: Stop, how: How, *, main_has_moved: bool) -> Stage | None:
    row = STOPS[stop.reason]
    match how:
        case "auto_merge":
            if stop.reason is StopReason.READY_TO_MERGE:
                return Stage.MERGE
            return None
        case "rerun":
            waits_for_main = stop.reason in (StopReason.READY_TO_MERGE, StopReason.MERGE_CONFLICT)
            if waits_for_main and main_has_moved:
                return Stage.REBASE
            return row.rerun
        case "ruling":
            return row.ruling
        case "task_edited":
            return row.edit


def _make_room(state: TaskState, stop: Stop) -> Counters:
    """Counters after a person acted: the machine's small caps begin anew, a repair cap has room for one."""
    update: dict[str, int] = {
        "interruptions": 0,
        "verdict_misses": 0,
        "first_call_misses": 0,
        "main_moves": 0 if stop.reason is StopReason.MAIN_MOVING else state.counters.main_moves,
    }
    if stop.reason in ROOM:
        counter, cap = ROOM[stop.reason]
        update[counter] = max(0, getattr(state.terms.caps, cap) - 1)
    return state.counters.model_copy(update=update)


def _forget(state: TaskState, stop: Stop, stage: Stage) -> TaskState:
    """Drop what no longer holds: a new round has no old diff, a new base nothing of the old."""
    update: dict[str, object] = {}
    if stage is Stage.READY and stop.reason in (
        StopReason.BASELINE_RED,
        StopReason.BASELINE_GREEN,
        StopReason.MERGE_CONFLICT,
    ):
        update = {"base": None, "image": None, "baseline_passed": False, "candidate": None}
        update |= {"landing": None, "gated": None, "failures": (), "checked": ()}
    if stop.reason is StopReason.IMAGE_UNFIT and stage in (Stage.READY, Stage.GATE):
        update["image"] = None
    return state.model_copy(update=update)


def record_ruling(state: TaskState, text: str) -> TaskState:
    """The state with a ruling that answers its stop, and the must-fixes open there closed."""
    if state.stop is None:
        raise ValueError("only a stopped task takes a ruling")
    digest = ruling_digest(text)
    ruling = Ruling(stop=state.stop.reason, digest=digest, text=text)
    counters = state.counters
    return state.model_copy(
        update={
            "rulings": (*state.rulings, ruling),
            "findings": tuple(_close(f, counters.review_rounds) for f in state.findings),
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
