"""The real agent programs for the suite that all of them pass: orders, and what comes of them.

Limits: orders only; the pods are those of the `World` that is given.
"""

import json
from dataclasses import dataclass
from typing import Any

import pytest

from instrument.schema.job import AgentRun, JobEnd, JobReport
from instrument.schema.vocabulary import ProviderName, RuntimeName
from jobs.order import MIB, AgentWork, JobOrder, Limits, ProxyOrder
from support.pods import World


@dataclass(frozen=True)
class Program:
    """What differs from one runtime to the next, or from one provider to the next."""

    name: RuntimeName
    model: str
    provider: ProviderName
    version: str
    budget_microusd: int
    """Spent soon after a summary, by a call that no other summary follows."""

    @property
    def label(self) -> str:
        return f"{self.name}-{self.provider}"

    def work(self, prompt: bytes = b"Do it.", **more: Any) -> AgentWork:
        return AgentWork(self.name, self.model, prompt, provider=self.provider, **more)


PROGRAMS = (
    Program(RuntimeName.CLAUDE, "claude-sonnet-4-5", ProviderName.ANTHROPIC, "2.1.332", 885_000),
    Program(RuntimeName.OPENCODE, "claude-sonnet-4-5", ProviderName.ANTHROPIC, "1.18.18", 305_000),
    Program(RuntimeName.OPENCODE, "gpt-5.5", ProviderName.OPENAI, "1.18.18", 740_000),
    Program(RuntimeName.CODEX, "gpt-5.5", ProviderName.OPENAI, "0.171.0", 510_000),
)
CLAUDE, _, _, CODEX = PROGRAMS
every_program = pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.label)

PROMPT = "".join(f"line {n:05} of a long task\n" for n in range(12_000)) + "Do it."
"""300 KB."""


def make_order(world: World, program: Program, key: str, story: str, **changes: Any) -> JobOrder:
    """A coder's order for a program, on a story that is told in the sidecar."""
    proxy = ProxyOrder(
        "",
        secret="sk-x",
        protocol=program.provider,
        budget_microusd=program.budget_microusd,
        story=story.encode(),
        story_role="coder",
        story_round=1,
    )
    values: dict[str, Any] = {
        "agent": program.work(),
        "proxy": proxy,
        "limits": Limits(memory_bytes=2048 * MIB, deadline_s=150, same_command=0),
    }
    return world.order(f"{key}-{program.label}", **{**values, **changes})


def run(world: World, order: JobOrder) -> tuple[JobEnd, JobReport, AgentRun]:
    end = world.jobs.run(order, resumed=False)
    assert end.report is not None, end.report_error
    assert end.report.error is None
    assert end.agent is not None
    return end, end.report, end.agent


def diff_of(order: JobOrder) -> str:
    return (order.folder / "out" / "diff.patch").read_text(encoding="utf-8")


def requests_of(order: JobOrder) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (order.folder / "requests.jsonl").read_bytes().splitlines()]
