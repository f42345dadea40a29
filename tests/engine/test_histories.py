"""Lives that were recorded once are what the workflow of today would do, whole and at every prefix."""

import asyncio
import gzip
from collections.abc import Iterator
from pathlib import Path

import pytest
from temporalio.api.enums.v1 import EventType
from temporalio.client import WorkflowHistory
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.worker import Replayer, UnsandboxedWorkflowRunner, WorkflowReplayResults
from temporalio.workflow import NondeterminismError

from engine.workflow import TaskWorkflow
from support.carried import passing_through

FOLDER = Path(__file__).with_name("histories")
RECORDED = sorted(path.name.removesuffix(".json.gz") for path in FOLDER.glob("*.json.gz"))


def read(name: str) -> WorkflowHistory:
    text = gzip.decompress((FOLDER / f"{name}.json.gz").read_bytes()).decode()
    return WorkflowHistory.from_json(name, text)


def prefixes(history: WorkflowHistory) -> Iterator[WorkflowHistory]:
    """What a worker may be handed: a history up to each of its workflow tasks, and all of it."""
    for n, event in enumerate(history.events, start=1):
        if event.event_type == EventType.EVENT_TYPE_WORKFLOW_TASK_STARTED:
            yield WorkflowHistory(f"{history.workflow_id}-{n}", history.events[:n])
    yield history


async def replay(history: WorkflowHistory, **options: object) -> WorkflowReplayResults:
    async def each():
        for prefix in prefixes(history):
            yield prefix

    options = {"workflow_runner": passing_through()} | options
    replayer = Replayer(workflows=[TaskWorkflow], data_converter=pydantic_data_converter, **options)
    return await replayer.replay_workflows(each(), raise_on_replay_failure=False)


def test_a_merge_a_ruling_and_a_hold_are_recorded():
    assert RECORDED == ["hold", "merge", "ruling"]


@pytest.mark.parametrize("name", RECORDED)
def test_a_recorded_history_is_replayed_at_every_prefix(name: str):
    history = read(name)
    results = asyncio.run(replay(history))
    assert results.replay_failures == {}


@pytest.mark.parametrize("name", RECORDED)
def test_a_workflow_that_asks_for_something_else_is_noticed(monkeypatch: pytest.MonkeyPatch, name: str):
    async def keep_turn(_: TaskWorkflow) -> None:
        """A change without a patch: the turn is not given back."""

    monkeypatch.setattr(TaskWorkflow, "_leave_turn", keep_turn)
    results = asyncio.run(replay(read(name), workflow_runner=UnsandboxedWorkflowRunner()))
    assert results.replay_failures
    assert all(isinstance(error, NondeterminismError) for error in results.replay_failures.values())
