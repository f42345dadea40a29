"""The program in a job's sidecar: `python -m proxy.sidecar`, settings as one line on standard input.

Limits: wires the parts and waits; it decides nothing. Exit codes: 0 ended by a signal, 1 the ledger
or a bug of ours, 2 settings, story or socket.
"""

import asyncio
import gc
import signal
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import uvloop

from proxy.books import Clock
from proxy.client import ClientConnection
from proxy.desk import Desk, Terms
from proxy.egress import Egress
from proxy.ledger import Ledger
from proxy.listener import ListenerError, listen
from proxy.masking import Masker
from proxy.prices import load_prices
from proxy.provider import ProviderError, ScriptedProvider
from proxy.relay import House
from proxy.routes import Route, Routes
from proxy.settings import Settings, SettingsError, load_settings
from proxy.upstream import Upstream

MAX_LINE_BYTES = 16 * 1024 * 1024
COLLECT_AFTER = 20_000
"""Objects made and not yet freed; the interpreter's own 700 are passed with every second call."""


def main() -> int:
    """Read the settings, serve until a signal, and return the exit code."""
    # Process 1 of a container ignores what it has no handler for, and nothing may have been read yet.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    gc.set_threshold(COLLECT_AFTER)
    try:
        settings = load_settings(sys.stdin.buffer.readline(MAX_LINE_BYTES))
        uvloop.run(serve(settings))
    except (SettingsError, ListenerError, ProviderError) as error:
        return _complain(str(error), 2)
    except OSError as error:
        return _complain(f"The sidecar cannot go on: {error}.", 1)
    except Exception:  # noqa: BLE001 - the outermost frame
        traceback.print_exc()
        return 1
    return 0


async def serve(settings: Settings) -> None:
    """Serve calls until SIGTERM or SIGINT; every call that still runs is then booked.

    Raises:
        ListenerError: The socket cannot be made.
        ProviderError: The scripted provider did not start.
        OSError: The ledger or the marker cannot be written.
    """
    stop: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    _stop_at_signals(stop)
    async with AsyncExitStack() as stack:
        ledger = Ledger(Path(settings.ledger))
        stack.callback(ledger.close)
        desk = Desk(
            settings.wire,
            Terms(settings.budget_microusd, settings.deadline_s, settings.own_prices),
            ledger,
            Clock(utc=partial(datetime.now, UTC), monotonic=time.monotonic),
            partial(Path(settings.marker).touch, 0o644),
            Masker(settings.secrets),
        )
        desk.open()
        routes = await _find_routes(settings, stack)
        stack.callback(routes.close)
        connections: set[ClientConnection] = set()
        egress = Egress(settings.rules)
        house = House(settings.wire, desk, routes, _fail_with(stop), egress)
        server = await asyncio.get_running_loop().create_unix_server(
            lambda: ClientConnection(house, connections), sock=listen(Path(settings.socket))
        )
        stack.push_async_callback(_end_calls, connections)
        stack.callback(server.close)
        await asyncio.to_thread(load_prices)
        # All of this stays: the collector need not look at it again.
        gc.freeze()
        await stop


async def _find_routes(settings: Settings, stack: AsyncExitStack) -> Routes:
    """The providers with the headers that pay them: the real ones, or a story's alone."""
    wire = settings.wire
    if settings.story is None:
        return Routes([Route(Upstream(p.address()), p.auth_header(wire)) for p in settings.providers])
    provider = ScriptedProvider()
    stack.push_async_callback(provider.stop)
    requests = Path(settings.ledger).with_name("requests.jsonl")
    address = await provider.start(settings.story, settings.story_role, settings.story_round, requests)
    return Routes([Route(Upstream(address), wire.auth_header(b"scripted", is_bearer=False))])


async def _end_calls(connections: set[ClientConnection]) -> None:
    """Drop every connection and wait until its call is booked."""
    tasks = [connection.task for connection in connections if connection.task is not None]
    for connection in list(connections):
        connection.cut()
    await asyncio.gather(*tasks, return_exceptions=True)


def _stop_at_signals(stop: asyncio.Future[None]) -> None:
    """Let SIGTERM and SIGINT end the wait; a second one changes nothing."""

    def end() -> None:
        if not stop.done():
            stop.set_result(None)

    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, end)


def _fail_with(stop: asyncio.Future[None]) -> Callable[[BaseException], None]:
    """End the wait with an error: a sidecar that cannot write its rows must not serve."""

    def fail(error: BaseException) -> None:
        if not stop.done():
            stop.set_exception(error)

    return fail


def _complain(sentence: str, code: int) -> int:
    """Say what is wrong in one line."""
    sys.stderr.write(sentence + "\n")
    return code


if __name__ == "__main__":
    sys.exit(main())
