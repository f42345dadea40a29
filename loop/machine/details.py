"""The evidence lines of a stop: paths, names and numbers, taken from facts.

Pure: no I/O.
"""

from datetime import datetime, timedelta

from instrument.money import show_usd
from instrument.schema.job import JobEnd
from instrument.schema.state import TaskState
from instrument.schema.vocabulary import Ended, Outcome
from loop.machine.budget import money_budget, time_budget_ms
from loop.machine.checks import commands_of, failed_of, how_ended
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
from loop.machine.judge import PROVIDER_OUTCOMES, must_fixes

MAX_DETAILS = 20
MAX_DETAIL_CHARS = 300
MAX_CHOICES = 5


def stop_details(state: TaskState, outcome: Outcome, facts: Facts | None) -> tuple[str, ...]:
    """The lines of a brief that are particular to this stop; at most 20 of 300 characters."""
    lines = _lines(state, facts)
    if outcome is Outcome.SPEND_EXHAUSTED:
        budget = money_budget(state) or 0
        lines = (f"budget {show_usd(budget)}, spent {show_usd(state.spend.microusd)} before this", *lines)
    if outcome is Outcome.TIME_EXHAUSTED:
        minutes = (time_budget_ms(state) or 0) // 60_000
        lines = (f"time budget {minutes} min of job run time", *lines)
    return tuple(line[:MAX_DETAIL_CHARS] for line in lines[:MAX_DETAILS])


def _lines(state: TaskState, facts: Facts | None) -> tuple[str, ...]:
    match facts:
        case None:
            return ()
        case BaseFacts():
            unknown = tuple(f"model without a known price: {model}" for model in facts.unpriced)
            return unknown or ((facts.detail,) if facts.detail else ())
        case SetupFacts() | EngineFacts():
            return (facts.detail,)
        case JobFacts() | ResolveFacts():
            return _job_lines(facts.end)
        case ReviewFacts():
            return _review_lines(facts)
        case CandidateFacts():
            return facts.details
        case RebaseFacts():
            return facts.conflicts
        case MergeFacts():
            return facts.details or (f"the branch moved {state.counters.main_moves + 1} times",)


def _review_lines(facts: ReviewFacts) -> tuple[str, ...]:
    if facts.fault is not None:
        return (f"no verdict: {facts.fault}", *_job_lines(facts.end))
    return tuple(f"{f.id} {f.path}: {f.text}" for f in must_fixes(facts.findings)) or _job_lines(facts.end)


def _job_lines(end: JobEnd) -> tuple[str, ...]:
    lines = [f"{c.name}: {how_ended(c)}: {c.run}" for c in failed_of(commands_of(end))]
    if end.report_error:
        lines.append(end.report_error)
    if end.report is not None:
        lines += _report_lines(end)
    calls = end.ledger.calls
    if calls and not calls[-1].has_succeeded:
        lines.append(f"last model call: HTTP {calls[-1].status}, {calls[-1].error_type or 'no error type'}")
    lines += [f"model without a known price: {c.model_answered}" for c in calls if c.unknown_price]
    if end.agent is not None and end.agent.error:
        lines.append(f"the agent said: {end.agent.error}")
    if end.result_error:
        lines.append(end.result_error)
    if end.result is not None and end.result.outcome == "blocked":
        lines.insert(0, end.result.question or end.result.summary or "the coder is blocked and asks nothing")
    return tuple(lines)


def _report_lines(end: JobEnd) -> list[str]:
    report = end.report
    if report is None:
        return []
    lines = [report.error] if report.error else []
    if report.ended is Ended.HOST_DISK:
        lines.append("the disk of the Docker Engine was full: free some of it, then run again")
    if report.stalled_command:
        lines.append(f"run {report.stalled_count} times without a change: {report.stalled_command}")
    if report.setup_failed:
        lines.append(f"set-up command failed: {report.setup_failed}")
    ends = (("exit code", report.exit_code), ("signal", report.signal))
    lines.append(", ".join([f"ended: {report.ended}", *(f"{of} {n}" for of, n in ends if n is not None)]))
    tree = report.tree
    if tree is not None and tree.oversized:
        lines.append(f"{tree.total_files} files, {tree.total_bytes} bytes; the biggest:")
        lines += [f"{big.path} ({big.size_bytes} bytes)" for big in tree.biggest]
    if tree is not None:
        lines += [f"nested repository: {path}" for path in tree.nested_repos]
        lines += [f"cannot be captured: {path}" for path in tree.unreadable]
        lines += [f"not in the encoding that .gitattributes names: {path}" for path in tree.unencodable]
    return lines


def stop_choices(outcome: Outcome, facts: Facts | None) -> tuple[str, ...]:
    """The answers that a blocked coder offers; at most five, each a line."""
    is_asked = outcome is Outcome.CODER_BLOCKED
    if not is_asked or not isinstance(facts, JobFacts) or facts.end.result is None:
        return ()
    return tuple(choice[:MAX_DETAIL_CHARS] for choice in facts.end.result.choices[:MAX_CHOICES])


def retry_time(outcome: Outcome, facts: Facts | None) -> datetime | None:
    """When the provider said that its limit resets; none where it did not say, or is not the reason."""
    if (
        outcome not in PROVIDER_OUTCOMES.values()
        or not isinstance(facts, JobFacts | ReviewFacts)
        or not facts.end.ledger.calls
    ):
        return None
    last = facts.end.ledger.calls[-1]
    if last.has_succeeded or last.retry_after_s is None:
        return None
    return last.started_utc + timedelta(milliseconds=last.duration_ms, seconds=last.retry_after_s)
