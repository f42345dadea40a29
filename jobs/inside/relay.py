"""Leads 127.0.0.1 to the proxy's socket, for programs that speak TCP only.

Limits: copies bytes and reads none of them; ended by whoever started it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
from typing import TYPE_CHECKING, Iterator

from .places import User
from .process import fork_as

if TYPE_CHECKING:
    import asyncio

HOST = "127.0.0.1"
# Neither root nor the agent: what the agent sends moves no process of root's, and the agent cannot end this.
NOBODY = User(65534, 65534)
_BACKLOG = 512
_CHUNK_BYTES = 1 << 16
_LOOPBACK_S = 5.0


@contextlib.contextmanager
def open_relay(port: int | None, target: str | None, user: User = NOBODY) -> Iterator[None]:
    """Have the relay run inside the block; nothing is started where no port is given.

    Raises:
        OSError: The port is taken, or the loopback interface is down.
    """
    if port is None or target is None:
        yield
        return
    with socket.create_server((HOST, port), backlog=_BACKLOG) as listener:
        # A connection now shows that the interface is up; the relay takes it and sees its end.
        socket.create_connection((HOST, port), timeout=_LOOPBACK_S).close()
        pid = fork_as(user, lambda: _run(listener, target), before=_load)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def _load() -> None:
    """Load what the child alone needs: it takes as long as laying a small tree, and the agent waits."""
    import asyncio  # noqa: F401, PLC0415


def _run(listener: socket.socket, target: str) -> None:
    import asyncio  # noqa: PLC0415 - see `_load`

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            ahead_reader, ahead_writer = await asyncio.open_unix_connection(target)
        except OSError:
            writer.transport.abort()
            return
        both = (writer, ahead_writer)
        await asyncio.gather(_carry(reader, ahead_writer, both), _carry(ahead_reader, writer, both))
        for end in both:
            end.close()

    async def serve() -> None:
        server = await asyncio.start_server(take, sock=listener)
        await server.serve_forever()

    asyncio.run(serve())


async def _carry(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, both: tuple[asyncio.StreamWriter, ...]
) -> None:
    """One direction to its end, which is handed on; a broken one breaks both."""
    try:
        while data := await reader.read(_CHUNK_BYTES):
            writer.write(data)
            await writer.drain()
        writer.write_eof()
    except OSError:
        for end in both:
            end.transport.abort()
