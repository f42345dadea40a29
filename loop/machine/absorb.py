"""What facts bring into the state, by kind of facts and outcome.

Pure: no I/O.
"""

from instrument.schema.job import CommandEnd, JobEnd
from instrument.schema.state import CheckFailure, Finding, PendingDiff, ReviewMark, TaskState
from instrument.schema.vocabulary import EffectKind, Outcome
from loop.machine.checks import commands_of, compared_lines, failed_of, flaky_names, merge_runs
from loop.machine.facts import (
    BaseFacts,
    CandidateFacts,
    EngineFacts,
    Facts,
    JobFacts,
    MergeFacts,
    RebaseFacts,
    ResolveFacts,
    ReviewFacts,
    SetupFacts,
)
from loop.machine.spend import add_spend

ROUND_TAKEN = (
    Outcome.DIFF_RETURNED,
    Outcome.NOTHING_CHANGED,
    Outcome.REPOSITORY_NESTED,
    Outcome.PATCH_OVERSIZED,
    Outcome.TREE_UNCAPTURABLE,
    Outcome.AGENT_CRASHED,
    Outcome.DEADLINE_PASSED,
    Outcome.MEMORY_EXHAUSTED,
    Outcome.OUTPUT_UNUSABLE,
    Outcome.CODER_BLOCKED,
    Outcome.NO_CHANGE_DECLARED,
    Outcome.PROGRESS_STALLED,
    Outcome.PIDS_EXHAUSTED,
    Outcome.DISK_EXHAUSTED,
)
"""Ends of a coder job that used its round up; a lost or unanswered job did not."""

JUDGED_AGAIN = (
    Outcome.PATHS_OUT_OF_SCOPE,
    Outcome.PATHS_PROTECTED,
    Outcome.TESTS_LOOSENED,
    Outcome.SECRET_DETECTED,
)
"""Diffs that a person may let pass as they are: they wait to be judged again."""

VERDICTS = (
    Outcome.REVIEW_APPROVED,
    Outcome.NO_CHANGE_CONFIRMED,
    Outcome.MUST_FIX_FOUND,
    Outcome.MUST_FIX_FOUND_TOO_OFTEN,
)
"""Reviews that said something."""

DOUBTED = (Outcome.BASELINE_DOUBTED, Outcome.CHECK_DOUBTED, Outcome.GATE_DOUBTED)
"""Failures that are run once more."""

SETTLED = (
    Outcome.BASELINE_PASSED,
    Outcome.BASELINE_FAILED,
    Outcome.BASELINE_ALREADY_GREEN,
    Outcome.CHECKS_PASSED,
    Outcome.CHECK_FAILED,
    Outcome.CHECKS_FAILED_TOO_OFTEN,
    Outcome.GATE_PASSED,
    Outcome.GATE_PASSED_UNAUTHORISED,
    Outcome.GATE_FAILED,
    Outcome.GATE_FAILED_TOO_OFTEN,
)
"""Outcomes that a set of commands comes to for good."""


def absorb(state: TaskState, outcome: Outcome, facts: Facts) -> TaskState:
    """The state with what the facts say, its stage and counters of failures untouched."""
    match facts:
        case BaseFacts():
            return state.model_copy(
                update={"base": facts.base if outcome is Outcome.BASE_FOUND else None, "terms": facts.terms}
                | ({"ready_utc": facts.ready_utc} if facts.ready_utc else {})
            )
        case SetupFacts():
            return state.model_copy(update={"image": facts.image})
        case JobFacts():
            return _absorb_job(add_spend(state, facts.end), outcome, facts.end)
        case ReviewFacts():
            return _absorb_review(add_spend(state, facts.end), outcome, facts)
        case ResolveFacts():
            return add_spend(state, facts.end)
        case CandidateFacts():
            return _absorb_candidate(state, outcome, facts)
        case RebaseFacts():
            return _absorb_rebase(state, facts)
        case MergeFacts():
            return _absorb_merge(state, outcome)
        case EngineFacts():
            return state


def _absorb_job(state: TaskState, outcome: Outcome, end: JobEnd) -> TaskState:
    kind = state.attempt.kind if state.attempt else EffectKind.IMPLEMENT
    if kind is EffectKind.IMPLEMENT:
        return _absorb_coder(state, outcome, end) if outcome in ROUND_TAKEN else state
    if kind is EffectKind.COMPARE_TESTS and outcome is Outcome.TESTS_COMPARED:
        commit = state.candidate.commit if state.candidate else None
        lines = compared_lines(end)
        return state.model_copy(update={"compared": lines, "compared_commit": commit})
    return _absorb_commands(state, outcome, end)


def _absorb_commands(state: TaskState, outcome: Outcome, end: JobEnd) -> TaskState:
    """A baseline, check or gate: kept for its second run, or over, with what was flaky."""
    commands = commands_of(end)
    if outcome in DOUBTED:
        return state.model_copy(update={"first_run": commands})
    if outcome not in SETTLED:
        return state
    merged = merge_runs(state.first_run, commands)
    fresh = tuple(name for name in flaky_names(state.first_run, merged) if name not in state.flaky)
    update: dict[str, object] = {"first_run": (), "flaky": state.flaky + fresh}
    match outcome:
        case Outcome.BASELINE_PASSED:
            update["baseline_passed"] = True
        case Outcome.CHECKS_PASSED:
            update |= {"checked": merged, "failures": ()}
        case Outcome.CHECK_FAILED | Outcome.CHECKS_FAILED_TOO_OFTEN:
            update["failures"] = _failures(end, failed_of(commands), gate=False)
        case Outcome.GATE_PASSED | Outcome.GATE_PASSED_UNAUTHORISED:
            update["gated"] = state.landing.commit if state.landing else None
        case Outcome.GATE_FAILED | Outcome.GATE_FAILED_TOO_OFTEN:
            update["failures"] = _failures(end, failed_of(commands), gate=True)
        case _:
            pass
    return state.model_copy(update=update)


def _failures(end: JobEnd, failed: tuple[CommandEnd, ...], *, gate: bool) -> tuple[CheckFailure, ...]:
    return tuple(CheckFailure(gate=gate, folder=end.folder, command=command) for command in failed)


def _absorb_coder(state: TaskState, outcome: Outcome, end: JobEnd) -> TaskState:
    """A coder's round is over; its diff, if there is one, waits to be proven."""
    rounds = state.counters.coder_rounds + 1
    counters = state.counters.model_copy(update={"coder_rounds": rounds, "first_call_misses": 0})
    update: dict[str, object] = {"counters": counters}
    tree = end.report.tree if end.report else None
    if outcome is Outcome.DIFF_RETURNED and tree is not None and tree.tree is not None:
        update["pending"] = PendingDiff(
            folder=end.folder,
            start_commit=tree.base_commit,
            tree=tree.tree,
            diff_bytes=tree.diff_bytes,
            diff_sha256=tree.diff_sha256,
        )
    if outcome is Outcome.NO_CHANGE_DECLARED:
        update["declared"] = (end.result.summary if end.result else "") or "no change is needed"
    if end.result is not None:
        update["summary"] = end.result.summary or state.summary
        known = {decision.choice for decision in state.decisions}
        fresh = tuple(d for d in end.result.decisions if d.choice not in known)
        update["decisions"] = state.decisions + fresh
        update["could_not_verify"] = end.result.could_not_verify
    return state.model_copy(update=update)


def _absorb_candidate(state: TaskState, outcome: Outcome, facts: CandidateFacts) -> TaskState:
    """A new candidate voids what was checked, approved and gated before it."""
    if outcome is not Outcome.CANDIDATE_COMMITTED:
        keeps_diff = outcome in JUDGED_AGAIN
        return state if keeps_diff else state.model_copy(update={"pending": None})
    return state.model_copy(
        update={
            "candidate": facts.candidate,
            "pending": None,
            "checked": (),
            "failures": (),
            "landing": None,
            "gated": None,
            "previous_task_blob": None,
            "compared": (),
            "conflict_commit": None,
        }
    )


def _absorb_review(state: TaskState, outcome: Outcome, facts: ReviewFacts) -> TaskState:
    """A verdict ends the review round: its findings are the open ones from now on."""
    if outcome not in VERDICTS:
        return state
    counters = state.counters
    highest = max((counters.findings, *(number_of(f) for f in facts.findings)))
    return state.model_copy(
        update={
            "findings": _merge_findings(state.findings, facts.findings),
            "reviews": (*state.reviews, _mark(state, outcome, highest)),
            "declared": "" if outcome is Outcome.MUST_FIX_FOUND else state.declared,
            "counters": counters.model_copy(
                update={
                    "review_rounds": counters.review_rounds + 1,
                    "verdict_misses": 0,
                    "first_call_misses": 0,
                    "findings": highest,
                    "findings_dropped": counters.findings_dropped + facts.dropped,
                }
            ),
        }
    )


def _mark(state: TaskState, outcome: Outcome, highest: int) -> ReviewMark:
    commit = state.candidate.commit if state.candidate else state.base or ""
    is_approved = outcome in (Outcome.REVIEW_APPROVED, Outcome.NO_CHANGE_CONFIRMED)
    return ReviewMark(commit=commit, jobs=state.counters.jobs, approved=is_approved, findings=highest)


def _merge_findings(old: tuple[Finding, ...], new: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """Old and new in order of id; a point raised again stands once, as it was last put."""
    by_id = {finding.id: finding for finding in (*old, *new)}
    return tuple(sorted(by_id.values(), key=number_of))


def number_of(finding: Finding) -> int:
    """The 3 of `F3`."""
    return int(finding.id.removeprefix("F"))


def _absorb_rebase(state: TaskState, facts: RebaseFacts) -> TaskState:
    if facts.landing is None:
        return state.model_copy(update={"seen_tip": facts.onto})
    has_moved = facts.landing.onto != state.base
    return state.model_copy(
        update={
            "seen_tip": facts.onto,
            "landing": facts.landing,
            "gated": None,
            "base": facts.landing.onto,
            "image": None if has_moved else state.image,
            "candidate": facts.candidate or state.candidate,
            "terms": facts.terms or state.terms,
        }
    )


def _absorb_merge(state: TaskState, outcome: Outcome) -> TaskState:
    if outcome is Outcome.MERGED and state.landing is not None:
        return state.model_copy(update={"merged": state.landing.commit})
    return state
