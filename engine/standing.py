"""What `engine status` shows: every task that is under way, from the server alone.

Limits: no worker is asked, except for the words of a wait, and only for a moment.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from temporalio.client import Client, WorkflowExecution
from temporalio.common import SearchAttributeKey

from engine import messages as m
from engine import names, queues
from engine.errors import or_none

UNDER_WAY = f"WorkflowType = '{queues.TASK_WORKFLOW}' AND ExecutionStatus = 'Running'"
ENDED = f"WorkflowType = '{queues.TASK_WORKFLOW}' AND ExecutionStatus != 'Running'"
HEADS = {
    "person": "Waiting for you",
    "fault": "Waiting until something is mended",
    "gate": "Waiting for your word on their phase",
    "hold": "Held",
    "": "Under way",
    "slot": "Waiting for a slot",
    "turn": "Waiting for their turn",
    "task": "Waiting for other tasks",
}
"""What a task may wait for, those first that a person ends."""


@dataclass(frozen=True, slots=True)
class Standing:
    """One task."""

    task_id: str
    repo: str
    stage: str
    waits: str
    stop: str
    phase: str
    host: str
    since: datetime

    @property
    def command(self) -> str:
        """What a person types about it; empty where nothing is asked of them."""
        match self.waits:
            case "person":
                return f"python -m engine ruling {self.task_id} '…'"
            case "gate":
                return f"python -m engine gate {self.phase}"
            case "hold":
                return f"python -m engine release {self.task_id}"
            case "fault":
                return f"python -m engine event mended COMMIT --repo {self.repo}"
            case _:
                return ""


async def tasks_under_way(client: Client) -> list[Standing]:
    """All of them, oldest first."""
    found = [standing_of(each) async for each in client.list_workflows(UNDER_WAY)]
    return sorted(found, key=lambda each: (each.since, each.task_id))


async def order_of(client: Client, task_id: str) -> m.TaskOrder | None:
    """What was handed over, from the history: no worker is asked, and it may be over; none: unknown."""
    handle = client.get_workflow_handle(task_id)
    first = await or_none(anext(handle.fetch_history_events(page_size=1)))
    if first is None:
        return None
    begun = first.workflow_execution_started_event_attributes.input.payloads
    (memory,) = await client.data_converter.decode(begun, [m.Memory])
    order: m.TaskOrder = memory.order
    return order


async def count_ended(client: Client) -> int:
    """How many have ended and are still kept."""
    return (await client.count_workflows(ENDED)).count


def standing_of(found: WorkflowExecution) -> Standing:
    """What the server knows of one task."""

    def value(key: SearchAttributeKey[str]) -> str:
        return found.typed_search_attributes.get(key) or ""

    return Standing(
        task_id=found.id,
        repo=value(names.REPO),
        stage=value(names.STAGE),
        waits=value(names.WAITS),
        stop=value(names.STOP),
        phase=value(names.PHASE),
        host=value(names.HOST),
        since=found.start_time,
    )


def render(tasks: Iterable[Standing], ended: int) -> str:
    """The text, a block for each kind of wait."""
    tasks = list(tasks)
    lines: list[str] = []
    for waits, head in HEADS.items():
        block = [task for task in tasks if task.waits == waits]
        if block:
            lines += [f"{head}: {len(block)}"]
            for task in block:
                lines += _lines(task)
            lines.append("")
    lines.append(f"{len(tasks)} under way, {ended} ended.")
    return "\n".join(lines) + "\n"


def _lines(task: Standing) -> list[str]:
    where = " ".join(
        word for word in (task.stop or task.stage or "not begun", task.host and f"on {task.host}") if word
    )
    lines = [f"  {task.task_id:<28} {where}"]
    return [*lines, f"      {task.command}"] if task.command else lines
