"""Real servers for tests of the engine: each with a home, ports and a database of its own."""

import asyncio
import os
import signal
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from engine.connect import Address, connect
from engine.namespace import ensure_namespace
from engine.server import FOLDER, is_running, stop_server, up_server

POLL_S = 0.01


class OwnServer:
    """One home's server, which a test may kill and start again."""

    def __init__(self, home: Path) -> None:
        self.home = home

    @property
    def pid(self) -> int:
        return int((self.home / FOLDER / "server.lock").read_text())

    def up(self) -> Address:
        return up_server(self.home)

    def ready(self) -> Address:
        """Up, and its namespace can be used."""
        address = self.up()
        asyncio.run(_set_up(address))
        return address

    def kill(self) -> None:
        """End it with SIGKILL; its ports are free when this returns."""
        os.kill(self.pid, signal.SIGKILL)
        while is_running(self.home):
            time.sleep(POLL_S)

    def stop(self) -> None:
        stop_server(self.home)


async def _set_up(address: Address) -> None:
    await ensure_namespace(await connect(address))


async def until(is_so: Callable[[], Awaitable[bool]], *, timeout_s: float = 20) -> None:
    """Wait for something that the server does in its own time."""
    async with asyncio.timeout(timeout_s):
        while True:
            if await is_so():
                return
            await asyncio.sleep(POLL_S)
