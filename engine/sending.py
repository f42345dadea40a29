"""What a person tells a task, delivered now or as soon as the server is up again.

Limits: a signal a file below `<home>/engine/outbox`, in the order in which they were written; a task
takes the same one once, so that delivering twice does no harm. What cannot be delivered is said and kept
under another name.
"""

import sys
import time
from pathlib import Path
from typing import Literal

from pydantic import ValidationError
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from engine import messages as m
from engine.errors import EngineError, ServerUnavailableError
from instrument.schema.base import Frozen
from loop.atomic import write_atomic
from loop.home import make_private
from loop.leases import hold_briefly

ALONE_S = 60
TAKEN_S = 10.0
"""How long a command waits for a worker to look at an answer."""


class Sent(Frozen):
    """One signal to one task."""

    task_id: str
    signal: Literal["answer", "event", "decide", "hold", "release", "leave"]
    answer: m.Answer | None = None
    decision: m.Decision | None = None
    words: tuple[str, ...] = ()
    server: str = ""
    """See `Reach.server`."""

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
        ServerUnavailableError: The server went away.
    """
    try:
        await client.get_workflow_handle(sent.task_id).signal(sent.signal, args=sent.arguments)
    except RPCError as error:
        if error.status in (RPCStatusCode.UNAVAILABLE, RPCStatusCode.DEADLINE_EXCEEDED):
            raise ServerUnavailableError(f"The server went away: {error.message}") from error
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


async def deliver(client: Client, home: Path, server: str) -> None:
    """Send what was put aside for this server, oldest first.

    Raises:
        ServerUnavailableError: The server went away; what is left stays for the next time.
        BusyError: Another process is sending it all the time.
    """
    folder = home / "engine" / "outbox"
    if not folder.is_dir():
        return
    with hold_briefly(folder / "lock", ALONE_S, "another process is sending what was kept"):
        for path in sorted(folder.glob("*.json")):
            try:
                sent = Sent.model_validate_json(path.read_bytes())
                if sent.server != server:
                    continue
                await send(client, sent)
            except (NoSuchTaskError, ValidationError) as error:
                kept = path.rename(path.with_suffix(".undelivered"))
                why = error if isinstance(error, NoSuchTaskError) else "it cannot be read"
                sys.stderr.write(f"an answer that was kept is not delivered ({kept}): {why}\n")
                continue
            path.unlink()
