"""`judge`: from facts to the outcome's name.

Pure: no I/O.
"""

from instrument.schema.job import CommandEnd, JobEnd
from instrument.schema.state import Finding, TaskState, Terms
from instrument.schema.vocabulary import EffectKind, Outcome, Severity, Stage
from loop.machine.budget import is_money_gone, is_time_gone
from loop.machine.facts import (
    BaseFacts,
    CandidateFacts,
    CandidateProblem,
    EngineFacts,
    Facts,
    JobFacts,
    MergeFacts,
    RebaseFacts,
    ReviewFacts,
    SetupFacts,
)
from loop.machine.guards import CODER_GUARDS, COMMANDS_GUARDS, REVIEWER_GUARDS, first_match
from loop.machine.spend import add_spend


class StaleFactsError(Exception):
    """The facts answer another key than the attempt under way: a bug of ours or of the driver."""


CANDIDATE_OUTCOMES: dict[CandidateProblem, Outcome] = {
    CandidateProblem.OUT_OF_SCOPE: Outcome.PATHS_OUT_OF_SCOPE,
    CandidateProblem.PROTECTED: Outcome.PATHS_PROTECTED,
    CandidateProblem.NESTED: Outcome.REPOSITORY_NESTED,
    CandidateProblem.UNPROVEN: Outcome.PATCH_UNPROVEN,
    CandidateProblem.EMPTY: Outcome.NOTHING_CHANGED,
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
    is_coder = state.stage is Stage.IMPLEMENT and state.pending is None
    is_reviewer = state.stage is Stage.REVIEW
    if not is_coder and not is_reviewer and state.stage not in (Stage.CHECK, Stage.GATE):
        return None
    if state.attempt is not None:
        return None
    if is_time_gone(state, for_coder=is_coder):
        return Outcome.TIME_EXHAUSTED
    if (is_coder or is_reviewer) and is_money_gone(state):
        return Outcome.SPEND_EXHAUSTED
    return None


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
    failed = failed_commands(end)
    if kind is EffectKind.BASELINE:
        return judge_baseline(state.terms, end)
    if kind is EffectKind.GATE:
        return _judge_gate(state, failed)
    if not failed:
        return Outcome.CHECKS_PASSED
    if state.counters.check_failures >= state.terms.caps.check:
        return Outcome.CHECKS_FAILED_TOO_OFTEN
    return Outcome.CHECK_FAILED


def failed_commands(end: JobEnd) -> tuple[CommandEnd, ...]:
    """The commands that did not pass, in order; a failed set-up on the actual tree is one of them."""
    if end.report is None:
        return ()
    failed = tuple(command for command in end.report.commands if not command.has_passed)
    if end.report.setup_failed is not None and not failed:
        name = end.report.setup_failed
        return (CommandEnd(name=name, run=name, exit_code=None, output="out/commands"),)
    return failed


def judge_baseline(terms: Terms, end: JobEnd) -> Outcome:
    """Hold a baseline's commands, all of them run, against what the task turns green."""
    if end.report is not None and end.report.setup_failed is not None:
        return Outcome.SETUP_FAILED
    expected = set(terms.turns_green)
    red = {command.name for command in failed_commands(end)}
    if red - expected:
        return Outcome.BASELINE_FAILED
    return Outcome.BASELINE_ALREADY_GREEN if expected - red else Outcome.BASELINE_PASSED


def _judge_gate(state: TaskState, failed: tuple[CommandEnd, ...]) -> Outcome:
    if not failed:
        return Outcome.GATE_PASSED if state.authorised else Outcome.GATE_PASSED_UNAUTHORISED
    if state.counters.gate_failures >= state.terms.caps.gate:
        return Outcome.GATE_FAILED_TOO_OFTEN
    return Outcome.GATE_FAILED


def _judge_review(state: TaskState, facts: ReviewFacts) -> Outcome:
    """Judge a review; `state` has its cost already."""
    fault = first_match(REVIEWER_GUARDS, state, facts.end)
    if fault is not None:
        return fault
    if facts.fault is not None:
        return _judge_missing_verdict(state, facts.end)
    if not must_fixes(facts.findings):
        return Outcome.REVIEW_APPROVED
    if state.counters.review_rounds + 1 >= state.terms.caps.review:
        return Outcome.MUST_FIX_FOUND_TOO_OFTEN
    return Outcome.MUST_FIX_FOUND


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
    if state.counters.main_moves >= state.terms.caps.main_moved:
        return Outcome.MAIN_MOVED_TOO_OFTEN
    return Outcome.MAIN_MOVED
