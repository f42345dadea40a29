import asyncio
import os
import socket
import stat
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
from temporalio.common import SearchAttributePair, TypedSearchAttributes

from engine.connect import connect
from engine.errors import EngineError, ServerUnavailableError
from engine.names import TASK
from engine.server import FOLDER, IP, find_server, is_running, stop_server, up_server
from support.temporal import OwnServer

UP = """
import os, sys
from pathlib import Path
from engine.server import up_server
print(up_server(Path(sys.argv[1])).host_port, flush=True)
os._exit(0)  # the SDK may crash an interpreter that is torn down right after a call
"""
ROOT = Path(__file__).parents[2]


class Up(NamedTuple):
    address: str
    code: int


def up_at_once(home: Path, count: int) -> list[Up]:
    """Processes that start at the same time."""
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", UP, str(home)],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        for _ in range(count)
    ]
    return [Up(process.communicate(timeout=60)[0].strip(), process.returncode) for process in processes]


def test_up_twice_is_one_server(own_server: OwnServer) -> None:
    first = own_server.up()
    pid = own_server.pid

    assert own_server.up() == first
    assert own_server.pid == pid


def test_two_at_once_start_one_server_and_it_outlives_them(own_server: OwnServer) -> None:
    first, second = up_at_once(own_server.home, 2)

    assert first == second
    assert first.code == 0
    assert own_server.up().host_port == first.address


def test_a_killed_server_comes_up_again_with_its_ports_and_its_workflows(own_server: OwnServer) -> None:
    before = own_server.ready()
    ui_url = server_of(own_server).ui_url
    asyncio.run(start_one(own_server, "a-1"))
    pid = own_server.pid

    own_server.kill()
    after = own_server.up()

    assert own_server.pid != pid
    assert after == before
    assert server_of(own_server).ui_url == ui_url
    assert asyncio.run(task_of(own_server, "a-1")) == "shop-001"


def server_of(own: OwnServer):
    server = find_server(own.home)
    assert server is not None
    return server


async def start_one(own: OwnServer, workflow_id: str) -> None:
    """A workflow that no worker takes up: it stands on the server as long as that keeps it."""
    client = await connect(server_of(own).address)
    pairs = TypedSearchAttributes([SearchAttributePair(TASK, "shop-001")])
    await client.start_workflow("Waiting", id=workflow_id, task_queue="nobody", search_attributes=pairs)


async def task_of(own: OwnServer, workflow_id: str) -> str | None:
    client = await connect(server_of(own).address)
    found = await client.get_workflow_handle(workflow_id).describe()
    return found.typed_search_attributes.get(TASK)


def test_a_stopped_server_is_gone_and_comes_up_again(own_server: OwnServer) -> None:
    own_server.up()

    assert stop_server(own_server.home)
    assert not is_running(own_server.home)
    assert not stop_server(own_server.home)
    own_server.up()
    assert is_running(own_server.home)


def test_another_process_with_the_old_id_is_neither_believed_nor_ended(own_server: OwnServer) -> None:
    own_server.up()
    own_server.stop()
    with subprocess.Popen(["sleep", "600"]) as other:
        (own_server.home / FOLDER / "server.lock").write_text(f"{other.pid}\n")

        assert not stop_server(own_server.home)
        own_server.up()
        assert own_server.pid != other.pid
        own_server.stop()

        assert other.poll() is None
        other.terminate()


def test_a_port_that_another_program_has_taken_is_said(own_server: OwnServer) -> None:
    own_server.up()
    port = server_of(own_server).port
    own_server.stop()

    with socket.create_server((IP, port)), pytest.raises(ServerUnavailableError, match=f"port {port}"):
        own_server.up()
    own_server.up()


def test_a_damaged_server_file_costs_the_ports_alone(own_server: OwnServer) -> None:
    own_server.ready()
    asyncio.run(start_one(own_server, "a-1"))
    own_server.stop()
    (own_server.home / FOLDER / "server.json").write_text("{")

    own_server.up()

    assert asyncio.run(task_of(own_server, "a-1")) == "shop-001"


def test_a_server_whose_file_is_gone_is_not_started_twice(own_server: OwnServer) -> None:
    own_server.up()
    pid = own_server.pid
    (own_server.home / FOLDER / "server.json").unlink()

    with pytest.raises(EngineError, match=str(pid)):
        own_server.up()


def test_all_that_the_server_writes_is_private(own_server: OwnServer) -> None:
    own_server.ready()

    folder = own_server.home / FOLDER
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}


def test_no_key_of_ours_reaches_the_server(own_server: OwnServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-secret")
    own_server.up()

    environment = Path(f"/proc/{own_server.pid}/environ")
    if not environment.exists():
        pytest.skip("no /proc here")
    assert b"sk-secret" not in environment.read_bytes()


def test_a_missing_program_is_said_with_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", os.devnull)

    with pytest.raises(EngineError, match=r"factory-loop\[engine\]"):
        up_server(tmp_path / "home")
