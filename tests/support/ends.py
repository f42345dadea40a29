"""Builders of job ends and facts for tests of the machine: values only."""

from datetime import UTC, datetime, timedelta
from typing import Any

from instrument.schema.job import (
    AgentResult,
    AgentRun,
    CommandEnd,
    ContainerEnd,
    JobEnd,
    JobReport,
    Tree,
)
from instrument.schema.ledger import Denied, LedgerSummary, ModelCall
from instrument.schema.state import Finding
from instrument.schema.usage import Usage
from instrument.schema.vocabulary import Ended, Role, RuntimeName, Severity
from jobs.pins import pinned_versions

START = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
BASE_TREE = "b" * 40


def call(n: int = 1, **changes: Any) -> ModelCall:
    """One model call that succeeded and cost 1,000 micro-dollars."""
    fields: dict[str, Any] = {
        "n": n,
        "path": "/v1/messages",
        "model_asked": "claude-sonnet-4-5",
        "model_answered": "claude-sonnet-4-5",
        "status": 200,
        "error_type": None,
        "retry_after_s": None,
        "usage": Usage(input_tokens=100, output_tokens=10),
        "cost_microusd": 1000,
        "settled": True,
        "estimated": False,
        "unknown_price": False,
        "user_agent": "claude-cli/2",
        "started_utc": START,
        "duration_ms": 5,
    }
    return ModelCall(**(fields | changes))


def failed_call(status: int | None, n: int = 1) -> ModelCall:
    """One model call that the provider refused, free of charge."""
    return call(n, status=status, cost_microusd=0, usage=Usage(), model_answered=None, error_type="x_error")


def denied(reason: str) -> Denied:
    """One refusal of the proxy."""
    return Denied.model_validate(
        {"at_utc": START, "reason": reason, "method": "POST", "path": "/v1/messages"}, strict=False
    )


def command(name: str = "unit", exit_code: int | None = 0, **changes: Any) -> CommandEnd:
    """One command of a check job."""
    fields: dict[str, Any] = {
        "name": name,
        "run": f"run {name}",
        "exit_code": exit_code,
        "duration_ms": 10,
        "output": f"out/commands/{name}.txt",
    }
    return CommandEnd(**(fields | changes))


def tree(digit: str = "c", **changes: Any) -> Tree:
    """A captured tree that differs from its base."""
    fields: dict[str, Any] = {
        "base_commit": "a" * 40,
        "base_tree": BASE_TREE,
        "tree": digit * 40,
        "diff_bytes": 10,
        "diff_sha256": "d" * 64,
        "changed_paths": 1,
    }
    return Tree(**(fields | changes))


def end(  # noqa: PLR0913 - a builder
    key: str,
    *,
    role: Role = Role.CODER,
    report: dict[str, Any] | None = None,
    container: dict[str, Any] | None = None,
    calls: tuple[ModelCall, ...] = (),
    denials: tuple[Denied, ...] = (),
    agent: AgentRun | None = None,
    result: AgentResult | None = None,
    seconds: float = 60,
    **changes: Any,
) -> JobEnd:
    """A job that ended well, changed as asked."""
    fields: dict[str, Any] = {
        "key": key,
        "role": role,
        "ended": Ended.EXITED,
        "exit_code": 0,
        "signal": None,
        "started_utc": START,
        "duration_ms": round(seconds * 1000),
    }
    ran: dict[str, Any] = {
        "exit_code": 0,
        "started_utc": START,
        "finished_utc": START + timedelta(seconds=seconds),
    }
    whole: dict[str, Any] = {
        "key": key,
        "folder": "jobs/0001-x-1",
        "container": ContainerEnd(**(ran | (container or {}))),
        "report": JobReport(**(fields | (report or {}))),
        "ledger": LedgerSummary(calls=calls, denied=denials),
        "agent": agent,
        "result": result,
    }
    return JobEnd(**(whole | changes))


def agent_run(*, finished: bool = True, runtime: RuntimeName = RuntimeName.CLAUDE) -> AgentRun:
    """What an adapter read from an agent's output."""
    return AgentRun(
        runtime=runtime,
        version=pinned_versions().get(runtime),
        model_asked="claude-sonnet-4-5",
        model_answered="claude-sonnet-4-5",
        finished=finished,
    )


def coder_end(key: str, **changes: Any) -> JobEnd:
    """A coder that changed the tree after one model call."""
    report = {"tree": tree()} | changes.pop("report", {})
    defaults: dict[str, Any] = {"calls": (call(),), "agent": agent_run()}
    return end(key, report=report, **(defaults | changes))


def review_end(key: str, **changes: Any) -> JobEnd:
    """A reviewer that finished after one model call."""
    defaults: dict[str, Any] = {"calls": (call(),), "agent": agent_run(), "role": Role.REVIEWER}
    return end(key, **(defaults | changes))


def resolver_end(key: str, **changes: Any) -> JobEnd:
    """A resolver that finished after one model call."""
    defaults: dict[str, Any] = {"calls": (call(),), "agent": agent_run(), "role": Role.RESOLVER}
    return end(key, **(defaults | changes))


def commands_end(key: str, *commands: CommandEnd, **changes: Any) -> JobEnd:
    """A check, baseline or gate job; `report=None`: it handed nothing back."""
    given = changes.pop("report", {})
    made = end(key, role=Role.CHECK, report={"commands": commands or (command(),)} | (given or {}), **changes)
    return made if given is not None else made.model_copy(update={"report": None})


def finding(number: int, round_: int, severity: Severity = Severity.MUST_FIX) -> Finding:
    """A reviewer's remark."""
    return Finding(id=f"F{number}", severity=severity, path="src/x.py", text="wrong", round=round_)
