"""A provider of its own in another container, over a real network: no story in the sidecar."""

import contextlib
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass

import docker
import pytest
from testcontainers.core.config import testcontainers_config
from testcontainers.core.container import DockerContainer

from instrument.schema.vocabulary import Ended, RuntimeName
from jobs.engine import Engine
from jobs.images import ImageShelf
from jobs.order import AgentWork, FallbackOrder, ProxyOrder
from support.pods import World

pytestmark = pytest.mark.docker

KEY = "sk-test-only-the-proxy-has-this"
SECOND_KEY = "sk-test-of-the-fallback-alone"
PORT = 8000
STORY = """
rounds:
  - role: coder
    round: 1
    turns:
      - run: "echo two lines >> a.txt"
        usage: {input: 1000, output: 100}
      - finish: "Done."
        usage: {input: 10, output: 10, cache_read: 1000}
"""
PROGRAM = f"""
import sys
from http.server import ThreadingHTTPServer
from proxy.scripted.server import Handler, Script, Server
from proxy.scripted.story import load_story

class Noting(Handler):
    def do_POST(self):
        print("key", self.headers.get("x-api-key"), flush=True)
        super().do_POST()

class Open(Server):
    def __init__(self, script):
        self.script = script
        ThreadingHTTPServer.__init__(self, ("0.0.0.0", {PORT}), Noting)

server = Open(Script(load_story(sys.argv[1]), "coder", 1, None))
print("ready", flush=True)
server.serve_forever()
"""


@dataclass
class Provider:
    url: str
    container: DockerContainer

    @property
    def said(self) -> str:
        return self.container.get_logs()[0].decode()


@pytest.fixture
def provider(engine: Engine) -> Iterator[Provider]:
    testcontainers_config.ryuk_disabled = True  # its image comes from a registry; the block below ends it
    image = ImageShelf(engine).sidecar()
    container = DockerContainer(image).with_command(["python3", "-c", PROGRAM, STORY])
    with container.with_kwargs(entrypoint=[]) as running:
        made = Provider("", running)
        deadline = time.monotonic() + 20
        while "ready" not in made.said:
            assert time.monotonic() < deadline, running.get_logs()
            time.sleep(0.1)
        wrapped = running.get_wrapped_container()
        wrapped.reload()
        address = wrapped.attrs["NetworkSettings"]["Networks"]["bridge"]["IPAddress"]
        made.url = f"http://{address}:{PORT}"
        yield made


def test_the_key_goes_to_the_provider_and_never_into_the_job(world: World, provider: Provider):
    work = AgentWork(RuntimeName.CLAUDE, "claude-sonnet-4-5", b"Add a line to a.txt.")
    proxy = ProxyOrder(base_url=provider.url, secret=KEY, budget_microusd=1_000_000)
    order = world.order("upstream", agent=work, proxy=proxy)
    end = world.jobs.run(order, resumed=False)
    assert end.report is not None
    assert end.report.ended is Ended.EXITED
    assert [call.status for call in end.ledger.calls] == [200, 200]
    # 1000 x 3 + 100 x 15 = 4500; 10 x 3 + 10 x 15 + 1000 x 0.30 = 480 micro-dollars
    assert [call.cost_microusd for call in end.ledger.calls] == [4500, 480]
    assert provider.said.count(f"key {KEY}") == 2
    diff = (order.folder / "out" / "diff.patch").read_text()
    assert "+two lines" in diff
    kept = [
        path for path in order.folder.rglob("*") if path.is_file() and KEY in path.read_text(errors="replace")
    ]
    assert kept == []


def test_a_fallback_answers_for_a_provider_that_nobody_reaches_and_its_key_is_in_no_container(
    world: World, provider: Provider
):
    work = AgentWork(RuntimeName.CLAUDE, "claude-sonnet-4-5", b"Add a line to a.txt.")
    nobody = provider.url.replace(f":{PORT}", f":{PORT + 1}")
    fallback = FallbackOrder(provider.url, SECOND_KEY, "api_key")
    proxy = ProxyOrder(base_url=nobody, secret=KEY, budget_microusd=1_000_000, fallbacks=(fallback,))
    order = world.order("fallback", agent=work, proxy=proxy)
    end = world.jobs.run(order, resumed=False)
    assert end.report is not None
    assert end.report.ended is Ended.EXITED
    # Once only: whoever answered is asked first from then on.
    assert [call.status for call in end.ledger.calls] == [None, 200, 200]
    assert [call.cost_microusd for call in end.ledger.calls] == [0, 4500, 480]
    assert provider.said.count(f"key {SECOND_KEY}") == 2
    assert f"key {KEY}" not in provider.said
    with contextlib.closing(docker.from_env()) as client:
        for state in world.containers("fallback").values():
            seen = json.dumps(client.api.inspect_container(state.id)) + client.api.logs(state.id).decode()
            assert not any(key in seen for key in (KEY, SECOND_KEY))
    kept = [path for path in order.folder.rglob("*") if path.is_file()]
    assert not [path for path in kept if SECOND_KEY in path.read_text(errors="replace")]
