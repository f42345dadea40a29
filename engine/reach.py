"""How a command reaches the engine's server, and how its failures become one sentence each.

Limits: the outermost frame of every `python -m engine` command.
"""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn, TypeVar

import click
from temporalio.client import Client
from temporalio.service import RPCError

from engine.connect import Address, connect
from engine.errors import ServerUnavailableError
from engine.server import find_server
from loop.errors import Exit, RunError
from loop.git.errors import GitError
from loop.problems import Problems

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Reach:
    """How a command reaches the engine."""

    home: Path
    own: Address | None
    """A server of the person's own; none: the embedded one."""

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
    """Turn every expected failure into one sentence and its exit code."""
    try:
        return go()
    except RunError as error:
        fail(str(error), error.exit_code)
    except (Problems, GitError) as error:
        fail(str(error), Exit.USAGE)
    except RPCError as error:
        fail(f"The server refuses that: {error.message}", Exit.USAGE)


def fail(text: str, code: int) -> NoReturn:
    """Say it on stderr and leave."""
    click.echo(text, err=True)
    sys.exit(code)
