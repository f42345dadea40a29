"""A run folder written by hand, for the tests of the report."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

READY = "2026-03-01T10:00:00Z"
MERGED = "2026-03-01T10:12:03.500Z"
"""Twelve minutes, three and a half seconds after READY: 723,500 ms."""
NO_USAGE: dict[str, int] = {}


@dataclass(frozen=True)
class Folder:
    """One run's folder; `purpose` goes into its state and each event."""

    path: Path
    purpose: str

    def write_state(self, **fields: Any) -> None:
        state: dict[str, Any] = {
            "run_id": "0a1b2c3d",
            "nonce": "0" * 32,
            "task_id": self.path.name,
            "purpose": self.purpose,
            "created_utc": READY,
            "repo": "api",
            "task_path": "tasks/007-retry.md",
            "task_blob": "1" * 40,
            "terms": {
                "coder": {"runtime": "claude", "model": "claude-sonnet-4-5"},
                "reviewer": {"runtime": "claude", "model": "claude-sonnet-4-5"},
            },
            "ready_utc": READY,
        }
        (self.path / "state.json").write_text(json.dumps(state | fields))

    def write_merged(self, microusd: int, **counters: Any) -> None:
        self.write_state(
            stage="done",
            done="merged",
            ended_utc=MERGED,
            counters=counters,
            spend={"microusd": microusd, "job_ms": 60_000},
        )

    def write_events(self, *events: Mapping[str, Any], tail: bytes = b"") -> None:
        lines = [json.dumps(self.line(number, event)) for number, event in enumerate(events, start=1)]
        (self.path / "events.jsonl").write_bytes("".join(f"{line}\n" for line in lines).encode() + tail)

    def line(self, number: int, event: Mapping[str, Any]) -> dict[str, Any]:
        common = {
            "schema_version": 1,
            "n": number,
            "at_utc": READY,
            "task_id": self.path.name,
            "run_id": "0a1b2c3d",
            "purpose": self.purpose,
        }
        return common | dict(event)


@dataclass(frozen=True)
class Home:
    path: Path

    def folder(self, name: str, purpose: str = "task") -> Folder:
        path = self.path / "tasks" / name
        path.mkdir(parents=True)
        return Folder(path, purpose)


@dataclass(frozen=True)
class Events:
    """Lines of the record without what all lines carry."""

    @staticmethod
    def call(
        key: str, number: int, cost: Any, usage: Mapping[str, Any] = NO_USAGE, **fields: Any
    ) -> dict[str, Any]:
        return {
            "kind": "model_call",
            "key": key,
            "call": number,
            "role": "coder",
            "round": 1,
            "model_asked": "claude-sonnet-4-5",
            "model_answered": "claude-sonnet-4-5-20250929",
            "status": 200,
            "error_type": None,
            "usage": dict(usage),
            "cost_microusd": cost,
            "settled": True,
            "estimated": False,
            "unknown_price": False,
            "duration_ms": 900,
        } | fields

    @staticmethod
    def job(key: str, cost: int, calls: int, **fields: Any) -> dict[str, Any]:
        return {
            "kind": "job_ended",
            "key": key,
            "effect": "job.implement",
            "role": "coder",
            "round": 1,
            "folder": "jobs/0002-coder-1",
            "lost": False,
            "sidecar_lost": False,
            "ended": "exited",
            "exit_code": 0,
            "oom": False,
            "duration_ms": 61_000,
            "peak_memory_bytes": None,
            "runtime": "claude",
            "version": "2.1.332",
            "model_asked": "claude-sonnet-4-5",
            "model_answered": "claude-sonnet-4-5",
            "calls": calls,
            "cost_microusd": cost,
            "lower_bound": False,
        } | fields

    @staticmethod
    def differed(key: str, what: str, asked: str, found: str, **fields: Any) -> dict[str, Any]:
        return {
            "kind": "agent_differed",
            "key": key,
            "role": "coder",
            "round": 1,
            "what": what,
            "asked": asked,
            "found": found,
        } | fields

    @staticmethod
    def noticed(key: str, what: str, **fields: Any) -> dict[str, Any]:
        return {
            "kind": "notice_raised",
            "key": key,
            "role": "coder",
            "round": 1,
            "what": what,
            "call": 3,
            "spent_microusd": 8,
            "budget_microusd": 10,
        } | fields

    @staticmethod
    def stopped(state_seq: int, stop: str) -> dict[str, Any]:
        return {
            "kind": "transition",
            "state_seq": state_seq,
            "key": "api-007-check-1-00000000",
            "from_stage": "check",
            "outcome": "checks_failed_too_often",
            "to_stage": "stopped",
            "stop": stop,
            "spent_microusd": 0,
            "lower_bound": False,
        }


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


@pytest.fixture
def events() -> Events:
    return Events()
