"""An engine that is not here: jobs through TCP alone, with nothing of this host mounted.

The way to the engine's socket is a forwarder on 127.0.0.1, which shares nothing with it but bytes.
"""

import hashlib
import json
import socket
import socketserver
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from instrument.schema.vocabulary import Ended
from jobs.engine import Engine
from jobs.engine.client import DEFAULT_SOCKET, address
from jobs.errors import EngineUnavailableError
from jobs.order import ProxyOrder
from jobs.runner import DockerJobs
from support.pods import World, shell

pytestmark = pytest.mark.docker

STORY = b"rounds: [{role: coder, turns: [{finish: Done., usage: {input: 1, output: 1}}]}]"
CALL = r"""
import http.client, json, socket
way = http.client.HTTPConnection("localhost")
way.sock = socket.socket(socket.AF_UNIX)
way.sock.connect("/run/factory/proxy.sock")
body = json.dumps({"model": "claude-sonnet-4-5", "max_tokens": 10, "messages": []})
way.request("POST", "/v1/messages", body, {"content-type": "application/json"})
print(way.getresponse().status)
"""


@dataclass
class Forwarder:
    """A listener on 127.0.0.1 that hands every byte on to a Unix socket, and back."""

    target: str
    carried: list[int] = field(default_factory=list)
    """Bytes of each piece towards the engine."""

    def __post_init__(self) -> None:
        outer = self

        class Handler(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                outer.connect(self.request)

        self.server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        self.address = f"tcp://127.0.0.1:{self.server.server_address[1]}"

    def connect(self, near: socket.socket) -> None:
        """Serve one connection until both of its directions have ended."""
        with socket.socket(socket.AF_UNIX) as far:
            far.connect(self.target)
            back = threading.Thread(target=hand_on, args=(far, near))
            back.start()
            hand_on(near, far, self.carried)
            back.join()


def hand_on(source: socket.socket, target: socket.socket, carried: list[int] | None = None) -> None:
    """One direction; its end is handed on too."""
    try:
        while piece := source.recv(1 << 16):
            target.sendall(piece)
            if carried is not None:
                carried.append(len(piece))
        target.shutdown(socket.SHUT_WR)
    except OSError:
        return  # one side is gone; the other notices


@pytest.fixture
def forwarder(engine: Engine) -> Iterator[Forwarder]:  # noqa: ARG001 - that there is one
    here = str(address().get("base_url") or DEFAULT_SOCKET).removeprefix("http+").removeprefix("unix://")
    if not here.startswith("/"):
        pytest.skip("the engine is a remote one: every other test shows the same")
    made = Forwarder(here)
    serving = threading.Thread(target=made.server.serve_forever)
    serving.start()
    yield made
    made.server.shutdown()
    made.server.server_close()
    serving.join()


def test_a_whole_pod_runs_on_an_engine_that_is_reached_by_tcp(
    world: World, forwarder: Forwarder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", forwarder.address)
    proxy = ProxyOrder(
        "", secret="sk-x", budget_microusd=10**6, story=STORY, story_role="coder", story_round=1
    )
    line = f"python3 - <<'CALL'\n{CALL}\nCALL\necho new > c.txt"
    order = world.order("implement-1", agent=shell(line), proxy=proxy)
    jobs = DockerJobs()
    try:
        end = jobs.run(order, resumed=False)
        assert end.report is not None
        assert (end.report.ended, end.report.exit_code, end.report.error) == (Ended.EXITED, 0, None)
        assert [call.settled for call in end.ledger.calls] == [True]
        assert (order.folder / "out" / "transcript.jsonl").read_text() == "200\n"
        assert b"+new" in (order.folder / "out" / "diff.patch").read_bytes()
        jobs.release(world.run_id, order.identity.key)
    finally:
        jobs.close()
    assert world.left() == 0
    assert sum(forwarder.carried) > order.pack.stat().st_size


def test_the_docker_commands_context_names_the_engine(
    forwarder: Forwarder, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    monkeypatch.delenv("DOCKER_CONTEXT", raising=False)
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    place = tmp_path / "contexts" / "meta" / hashlib.sha256(b"far").hexdigest()
    place.mkdir(parents=True)
    endpoint = {"Host": forwarder.address, "SkipTLSVerify": False}
    (place / "meta.json").write_text(
        json.dumps({"Name": "far", "Metadata": {}, "Endpoints": {"docker": endpoint}})
    )
    (tmp_path / "config.json").write_text(json.dumps({"currentContext": "far"}))
    found = Engine.connect()
    assert found.info().cpus > 0
    found.close()
    assert forwarder.carried
    monkeypatch.setenv("DOCKER_CONTEXT", "elsewhere")
    with pytest.raises(EngineUnavailableError, match="context elsewhere is not defined"):
        Engine.connect()
