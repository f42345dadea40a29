"""How a command reaches the engine's server, and how its failures become one sentence each.

Limits: within the outermost frame of every `python -m engine` command.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from temporalio.client import Client
from temporalio.service import RPCError

from engine.connect import Address, connect
from engine.errors import ServerUnavailableError
from engine.server import find_server
from loop import guard
from loop.errors import UsageError

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Reach:
    """How a command reaches the engine."""

    home: Path
    own: Address | None
    """A server of the person's own; none: the embedded one."""

    @property
    def server(self) -> str:
        """What tells one server's namespace from another's; empty: the embedded one."""
        return f"{self.own.host_port}/{self.own.namespace}" if self.own is not None else ""

    def address(self) -> Address:
        """Where the server is.

        Raises:
            ServerUnavailableError: The embedded one was never started.
        """
        if self.own is not None:
            return self.own
        server = find_server(self.home)
        if server is None:
            raise ServerUnavailableError("No engine runs for this home; start it with:  python -m engine up")
        return server.address


def with_client(reach: Reach, go: Callable[[Client], Awaitable[T]]) -> T:
    """Do something with the server, every failure one sentence."""
    return guarded(lambda: run(reach, go))


def run(reach: Reach, go: Callable[[Client], Awaitable[T]]) -> T:
    """Connect and do it."""

    async def connected() -> T:
        return await go(await connect(reach.address()))

    return asyncio.run(connected())


def guarded(go: Callable[[], T]) -> T:
    """As of every command of ours, with what the server refuses."""

    def asked() -> T:
        try:
            return go()
        except RPCError as error:
            raise UsageError(f"The server refuses that: {error.message}") from error

    return guard.guarded(asked)
