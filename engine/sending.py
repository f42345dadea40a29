"""What a person tells a task, delivered now or as soon as the server is up again.

Limits: a signal a file below `<home>/engine/outbox`, in the order in which they were written; a task
takes the same one once, so that delivering twice does no harm.
"""

import time
from pathlib import Path
from typing import Literal

from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from engine import messages as m
from engine.errors import EngineError
from instrument.schema.base import Frozen
from loop.atomic import write_atomic
from loop.home import make_private

TAKEN_S = 10.0
"""How long a command waits for a worker to look at an answer."""


class Sent(Frozen):
    """One signal to one task."""

    task_id: str
    signal: Literal["answer", "event", "decide", "hold", "release", "leave"]
    answer: m.Answer | None = None
    decision: m.Decision | None = None
    words: tuple[str, ...] = ()

    @property
    def arguments(self) -> list[object]:
        """As the workflow takes them."""
        return [each for each in (self.answer, self.decision, *self.words) if each is not None]


class NoSuchTaskError(EngineError):
    """The engine does not carry this task."""


async def send(client: Client, sent: Sent) -> None:
    """Tell the task.

    Raises:
        NoSuchTaskError: The engine does not carry it.
    """
    try:
        await client.get_workflow_handle(sent.task_id).signal(sent.signal, args=sent.arguments)
    except RPCError as error:
        if error.status is not RPCStatusCode.NOT_FOUND:
            raise
        raise NoSuchTaskError(
            f"{sent.task_id} is not under way here; see:  python -m engine status"
        ) from error


def keep(home: Path, sent: Sent) -> Path:
    """Put it aside for when the server is up."""
    folder = make_private(home / "engine" / "outbox")
    path = folder / f"{time.time_ns():020d}.json"
    write_atomic(path, sent.model_dump_json().encode())
    return path


async def deliver(client: Client, home: Path) -> int:
    """Send what was put aside, oldest first; one whose task is gone is dropped. How many were sent."""
    count = 0
    for path in sorted((home / "engine" / "outbox").glob("*.json")):
        sent = Sent.model_validate_json(path.read_bytes())
        try:
            await send(client, sent)
            count += 1
        except NoSuchTaskError:
            path.rename(path.with_suffix(".undelivered"))
            continue
        path.unlink()
    return count
