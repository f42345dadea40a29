"""Starts the scripted provider as a program of its own, for a sidecar that was given a story.

Limits: the only module of the proxy that starts a process.
"""

import asyncio
import os
import sys
from asyncio.subprocess import PIPE, Process
from pathlib import Path

import orjson

from proxy.address import Address

START_TIMEOUT_S = 20.0
END_TIMEOUT_S = 2.0
_ROOT = str(Path(__file__).parents[1])


class ProviderError(Exception):
    """The scripted provider did not start; the text is one sentence."""


class ScriptedProvider:
    """Order of calls: `start`, then `stop`, which may be called twice.

    The child also ends by itself when this process does: its standard input closes.
    """

    def __init__(self) -> None:
        self._process: Process | None = None

    async def start(self, story: str, role: str, story_round: int, requests: Path) -> Address:
        """Start it and learn its port; `requests` is the file where it counts what it is asked.

        Raises:
            ProviderError: The story is wrong, or the program ended.
        """
        order = {"story": story, "role": role, "round": story_round, "requests": str(requests)}
        # -P: a folder the program happens to stand in must not lend it modules.
        self._process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", "proxy.scripted"),
            stdin=PIPE,
            stdout=PIPE,
            env={**os.environ, "PYTHONPATH": _ROOT},
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(orjson.dumps(order) + b"\n")
        try:
            async with asyncio.timeout(START_TIMEOUT_S):
                line = (await self._process.stdout.readline()).strip()
        except TimeoutError:
            raise ProviderError("The scripted provider did not start in time: run it again.") from None
        if not line.isdigit():
            raise ProviderError(line.decode(errors="replace") or "The scripted provider did not start.")
        return Address("127.0.0.1", int(line), is_tls=False, prefix=b"")

    async def stop(self) -> None:
        """End it now: closed input is its sign, a kill follows where it does not see it."""
        process, self._process = self._process, None
        if process is None:
            return
        assert process.stdin is not None
        process.stdin.close()
        try:
            async with asyncio.timeout(END_TIMEOUT_S):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()
