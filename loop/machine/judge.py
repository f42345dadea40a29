"""`judge`: from facts to the outcome's name.

Pure: no I/O.
"""

from instrument.schema.job import JobEnd
from instrument.schema.state import Finding, TaskState
from instrument.schema.vocabulary import EffectKind, Outcome, Severity, Stage
from loop.machine.budget import caps_of, is_money_gone, is_time_gone
from loop.machine.checks import judge_baseline, judge_check, judge_gate
from loop.machine.facts import (
    BaseFacts,
    CandidateFacts,
    CandidateProblem,
    EngineFacts,
    Facts,
    JobFacts,
    MergeFacts,
    RebaseFacts,
    ResolveFacts,
    ReviewFacts,
    SetupFacts,
)
from loop.machine.guards import CODER_GUARDS, COMMANDS_GUARDS, REVIEWER_GUARDS, first_match
from loop.machine.ladder import can_afford
from loop.machine.resume import has_ruling
from loop.machine.spend import add_spend


class StaleFactsError(Exception):
    """The facts answer another key than the attempt under way: a bug of ours or of the driver."""


CANDIDATE_OUTCOMES: dict[CandidateProblem, Outcome] = {
    CandidateProblem.OUT_OF_SCOPE: Outcome.PATHS_OUT_OF_SCOPE,
    CandidateProblem.PROTECTED: Outcome.PATHS_PROTECTED,
    CandidateProblem.NESTED: Outcome.REPOSITORY_NESTED,
    CandidateProblem.UNPROVEN: Outcome.PATCH_UNPROVEN,
    CandidateProblem.EMPTY: Outcome.NOTHING_CHANGED,
    CandidateProblem.WEAKENED: Outcome.TESTS_LOOSENED,
    CandidateProblem.SECRET: Outcome.SECRET_DETECTED,
    CandidateProblem.SUBMODULE: Outcome.SUBMODULE_TOUCHED,
    CandidateProblem.FILTER: Outcome.FILTER_UNSUPPORTED,
}

PROVIDER_OUTCOMES: dict[str, Outcome] = {
    "limited": Outcome.PROVIDER_LIMITED,
    "denied": Outcome.PROVIDER_DENIED,
    "failed": Outcome.PROVIDER_FAILED,
}


def judge(state: TaskState, facts: Facts) -> Outcome:
    """Name what happened.

    Raises:
        StaleFactsError: The facts carry another key than the attempt under way.
    """
    if state.attempt is None or state.attempt.key != facts.key:
        raise StaleFactsError(f"facts for {facts.key}, but the attempt under way is another")
    match facts:
        case BaseFacts():
            return _judge_base(facts)
        case SetupFacts():
            return Outcome.SETUP_FAILED if facts.image is None else Outcome.IMAGE_READY
        case JobFacts():
            return _judge_job(add_spend(state, facts.end), state.attempt.kind, facts.end)
        case ReviewFacts():
            return _judge_review(add_spend(state, facts.end), facts)
        case ResolveFacts():
            return _judge_resolution(add_spend(state, facts.end), facts)
        case CandidateFacts():
            return CANDIDATE_OUTCOMES[facts.problem] if facts.problem else Outcome.CANDIDATE_COMMITTED
        case RebaseFacts():
            if facts.conflicts:
                return Outcome.REBASE_CONFLICTED
            return Outcome.REBASED if facts.landing else Outcome.NOTHING_AHEAD
        case MergeFacts():
            return _judge_merge(state, facts)
        case EngineFacts():
            return Outcome.ENGINE_FAILED


def forestall(state: TaskState) -> Outcome | None:
    """Name why the next job must not even begin: nothing is left for it; none where it may."""
    if state.stage is Stage.RESOLVE:
        return _forestall_resolver(state)
    is_coder = state.stage is Stage.IMPLEMENT and state.pending is None
    is_reviewer = state.stage is Stage.REVIEW
    if not is_coder and not is_reviewer and state.stage not in (Stage.CHECK, Stage.GATE):
        return None
    if state.attempt is not None:
        return None
    if is_time_gone(state, for_coder=is_coder):
        return Outcome.TIME_EXHAUSTED
    if (is_coder or is_reviewer) and is_money_gone(state, for_coder=is_coder):
        return Outcome.SPEND_EXHAUSTED
    return None


def _forestall_resolver(state: TaskState) -> Outcome | None:
    """It hands up unasked where an interrupted try took what was left."""
    return None if state.attempt is not None or can_afford(state) else Outcome.STOP_HANDED_UP


def _judge_base(facts: BaseFacts) -> Outcome:
    if facts.unpriced:
        return Outcome.PRICE_UNKNOWN
    return PROVIDER_OUTCOMES.get(facts.provider, Outcome.BASE_FOUND)


def _judge_job(state: TaskState, kind: EffectKind, end: JobEnd) -> Outcome:
    """Judge a job; `state` has its cost already."""
    if kind is EffectKind.IMPLEMENT:
        return first_match(CODER_GUARDS, state, end) or Outcome.DIFF_RETURNED
    fault = first_match(COMMANDS_GUARDS, state, end)
    if fault is not None:
        return fault
    match kind:
        case EffectKind.BASELINE:
            return judge_baseline(state, end)
        case EffectKind.GATE:
            return judge_gate(state, end)
        case EffectKind.COMPARE_TESTS:
            return Outcome.TESTS_COMPARED
        case _:
            return judge_check(state, end)


def _judge_review(state: TaskState, facts: ReviewFacts) -> Outcome:
    """Judge a review; `state` has its cost already."""
    fault = first_match(REVIEWER_GUARDS, state, facts.end)
    if fault is not None:
        return fault
    if facts.fault is not None:
        return _judge_missing_verdict(state, facts.end)
    if not must_fixes(facts.findings):
        return Outcome.NO_CHANGE_CONFIRMED if state.declared else Outcome.REVIEW_APPROVED
    if state.counters.review_rounds + 1 >= caps_of(state).review:
        return Outcome.MUST_FIX_FOUND_TOO_OFTEN
    return Outcome.MUST_FIX_FOUND


def _judge_resolution(state: TaskState, facts: ResolveFacts) -> Outcome:
    """Judge a model's answer; whatever is not plainly a new ruling hands the stop up."""
    fault = first_match(REVIEWER_GUARDS, state, facts.end)
    if fault is Outcome.JOB_INTERRUPTED:
        return fault
    has_finished = facts.end.agent is not None and facts.end.agent.finished
    climb = state.climb
    if fault is not None or not has_finished or not facts.ruling or climb is None:
        return Outcome.STOP_HANDED_UP
    is_known = has_ruling(state, climb.stop.reason, facts.ruling)
    return Outcome.STOP_HANDED_UP if is_known else Outcome.STOP_RULED


def _judge_missing_verdict(state: TaskState, end: JobEnd) -> Outcome:
    if end.agent is None or not end.agent.finished:
        return Outcome.AGENT_CRASHED
    if state.counters.verdict_misses:
        return Outcome.VERDICT_MISSING_AGAIN
    return Outcome.VERDICT_MISSING


def must_fixes(findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """The findings that send the task back, even under an approval."""
    return tuple(f for f in findings if f.severity is Severity.MUST_FIX and not f.closed)


def _judge_merge(state: TaskState, facts: MergeFacts) -> Outcome:
    if facts.result == "merged":
        return Outcome.MERGED
    if facts.result == "refused":
        return Outcome.PUSH_REFUSED
    if state.counters.main_moves >= caps_of(state).main_moved:
        return Outcome.MAIN_MOVED_TOO_OFTEN
    return Outcome.MAIN_MOVED
