"""What the journal is told of a transition: events as class and fields, in order.

Limits: no I/O but what `loop.differences` reads of our own data.
"""

from collections import Counter
from collections.abc import Iterable

from instrument.schema.events import (
    AgentDiffered,
    AttemptInterrupted,
    CheckEnded,
    CheckFlaky,
    Event,
    JobEnded,
    LadderStepped,
    ModelCallEnded,
    NoticeRaised,
    RequestDenied,
    ReviewEnded,
    RulingRecorded,
    Transition,
)
from instrument.schema.job import JobEnd
from instrument.schema.ledger import Denied, Notice
from instrument.schema.state import TaskState
from instrument.schema.vocabulary import EffectKind, Outcome, Role, Severity
from loop.differences import differences_of
from loop.machine.effects import ROLES
from loop.machine.facts import CancelledFacts, Facts, JobFacts, ResolveFacts, ReviewFacts, SetupFacts

Entry = tuple[type[Event], dict[str, object]]

REVIEWED = (
    Outcome.REVIEW_APPROVED,
    Outcome.MUST_FIX_FOUND,
    Outcome.MUST_FIX_FOUND_TOO_OFTEN,
    Outcome.VERDICT_MISSING,
    Outcome.VERDICT_MISSING_AGAIN,
)
"""Where a reviewer was heard out; after any other end of its job there was no review."""


def entries_of(
    before: TaskState, outcome: Outcome, facts: Facts | None, after: TaskState, *, round_: int
) -> list[Entry]:
    """The events of one transition.

    Args:
        before: The state with the attempt that the facts answer.
        outcome: What happened.
        facts: None where nothing was begun.
        after: The state that it led to.
        round_: The round of the effect; 0 where it has none.
    """
    entries: list[Entry] = []
    kind = before.attempt.kind if before.attempt else None
    if isinstance(facts, JobFacts | ReviewFacts | ResolveFacts) and kind is not None:
        entries += job_entries(facts.end, kind, round_)
    if isinstance(facts, SetupFacts) and facts.end is not None:
        entries += job_entries(facts.end, EffectKind.SET_UP, round_)
    if isinstance(facts, ReviewFacts) and outcome in REVIEWED:
        entries.append(_review_entry(facts, round_))
    fresh = after.flaky[len(before.flaky) :]
    entries += [(CheckFlaky, {"key": facts.key, "name": name}) for name in fresh if facts is not None]
    if outcome in (Outcome.JOB_INTERRUPTED, Outcome.JOB_INTERRUPTED_TOO_OFTEN) and facts is not None:
        fields = {"key": facts.key, "interruptions": before.counters.interruptions + 1}
        entries.append((AttemptInterrupted, fields))
    entries.append(
        (
            Transition,
            {
                "state_seq": after.seq,
                "key": facts.key if facts else "",
                "from_stage": before.stage,
                "outcome": outcome,
                "to_stage": after.stage,
                "stop": after.stop.reason if after.stop else None,
                "done": after.done,
                "spent_microusd": after.spend.microusd,
                "lower_bound": after.spend.lower_bound,
            },
        )
    )
    return entries + _ladder_entries(before, after)


def _ladder_entries(before: TaskState, after: TaskState) -> list[Entry]:
    """A model's ruling, and the step of the ladder that acts next."""
    entries: list[Entry] = [
        (
            RulingRecorded,
            {"stop": ruling.stop, "digest": ruling.digest, "by": ruling.by.step, "model": ruling.by.model},
        )
        for ruling in after.rulings[len(before.rulings) :]
        if ruling.by is not None
    ]
    steps = [(t.step, t.stop) for t in after.tried[len(before.tried) :] if not t.step.is_model]
    if after.climb is not None and after.climb != before.climb:
        steps.append((after.climb.step, after.climb.stop.reason))
    return entries + [
        (LadderStepped, {"state_seq": after.seq, "step": step, "stop": reason}) for step, reason in steps
    ]


def cancelled_entries(facts: CancelledFacts, kind: EffectKind, round_: int) -> list[Entry]:
    """The events of a job that a person's signal ended: what it had cost."""
    return job_entries(facts.end, kind, round_) if facts.end is not None and kind in ROLES else []


def job_entries(end: JobEnd, kind: EffectKind, round_: int) -> list[Entry]:
    """A job's end, its model calls, denials, notices and checks, where its agent differed."""
    role = ROLES[kind]
    entries: list[Entry] = [(ModelCallEnded, fields) for fields in _calls(end, role, round_)]
    entries += _denials(end.key, end.ledger.denied)
    common: dict[str, object] = {"key": end.key, "role": role, "round": round_}
    entries += [(NoticeRaised, common | _notice_fields(notice)) for notice in end.ledger.notices]
    report = end.report
    for command in report.commands if report and role is not Role.SETUP else ():
        fields: dict[str, object] = {"key": end.key, "name": command.name, "exit_code": command.exit_code}
        fields |= {"timed_out": command.timed_out, "duration_ms": command.duration_ms}
        entries.append((CheckEnded, fields))
    entries += [(AgentDiffered, common | found) for found in differences_of(end)]
    entries.append((JobEnded, _job_fields(end, kind, role, round_)))
    return entries


def _denials(key: str, denied: Iterable[Denied]) -> list[Entry]:
    counts = Counter((row.reason, row.path if row.reason == "egress" else None) for row in denied)
    return [
        (RequestDenied, {"key": key, "reason": reason, "count": count, "host": host})
        for (reason, host), count in sorted(counts.items(), key=str)
    ]


def _calls(end: JobEnd, role: Role, round_: int) -> list[dict[str, object]]:
    return [
        {
            "key": end.key,
            "call": call.n,
            "role": role,
            "round": round_,
            "model_asked": call.model_asked,
            "model_answered": call.model_answered,
            "status": call.status,
            "error_type": call.error_type,
            "usage": call.usage,
            "cost_microusd": call.cost_microusd,
            "settled": call.settled,
            "estimated": call.estimated,
            "unknown_price": call.unknown_price,
            "duration_ms": call.duration_ms,
            "host": call.host,
        }
        for call in end.ledger.calls
    ]


def _notice_fields(notice: Notice) -> dict[str, object]:
    return {
        "what": notice.what,
        "call": notice.n,
        "spent_microusd": notice.spent_microusd,
        "budget_microusd": notice.budget_microusd,
        "calls": notice.calls,
        "input_tokens": notice.input_tokens,
    }


def _job_fields(end: JobEnd, kind: EffectKind, role: Role, round_: int) -> dict[str, object]:
    report = end.report
    names = (report.agent if report else None) or end.agent
    return {
        "key": end.key,
        "effect": kind,
        "role": role,
        "round": round_,
        "folder": end.folder,
        "lost": end.container.lost,
        "sidecar_lost": end.container.sidecar_lost,
        "ended": report.ended if report else None,
        "exit_code": report.exit_code if report else end.container.exit_code,
        "oom": end.container.oom_killed or bool(report and report.oom_kills),
        "duration_ms": end.duration_ms,
        "peak_memory_bytes": report.peak_memory_bytes if report else None,
        "peak_pids": report.peak_pids if report else None,
        "cpu_ms": report.cpu_ms if report else None,
        "runtime": names.runtime if names else None,
        "version": names.version if names else None,
        "model_asked": names.model_asked if names else None,
        "model_answered": names.model_answered if names else None,
        "calls": len(end.ledger.calls),
        "cost_microusd": end.ledger.cost_microusd,
        "lower_bound": end.is_lower_bound,
    }


def _review_entry(facts: ReviewFacts, round_: int) -> Entry:
    weights = Counter(finding.severity for finding in facts.findings)
    verdict = facts.fault or ("changes" if weights[Severity.MUST_FIX] else "approve")
    return (
        ReviewEnded,
        {
            "key": facts.key,
            "round": round_,
            "verdict": verdict,
            "must_fix": weights[Severity.MUST_FIX],
            "should_fix": weights[Severity.SHOULD_FIX],
            "notes": weights[Severity.NOTE],
            "dropped": facts.dropped,
        },
    )
