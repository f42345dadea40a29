"""A real session of a real agent program: recorded once, then played again without a provider."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest
from testcontainers.core.container import DockerContainer

from instrument.schema.vocabulary import Ended, RuntimeName
from jobs.engine import Engine
from jobs.images import ImageShelf
from jobs.order import AgentWork, JobOrder, ProxyOrder
from support.pods import World
from support.witness import PORT, provider_container

pytestmark = pytest.mark.docker

KEY = "sk-test-only-the-proxy-has-this"
STORY = """
rounds:
  - role: coder
    turns:
      - {say: "I add a line.", run: "echo two lines >> a.txt", usage: {input: 1000, output: 100}}
      - {error: {status: 529, type: overloaded_error, message: busy, retry_after: 0}, times: 1}
      - {finish: "Done.", usage: {input: 10, output: 10, cache_read: 1000}}
"""
PROGRAM = f"""
import sys, threading
from pathlib import Path
from proxy.address import Address
from proxy.scripted.recorder import Recorder, Recording
from proxy.scripted.script import Script
from proxy.scripted.server import Server
from proxy.scripted.story import load_story

server = Server(Script(load_story(sys.argv[1]), "coder", 1, None))
threading.Thread(target=server.serve_forever, daemon=True).start()
provider = Address("127.0.0.1", server.server_port, is_tls=False, prefix=b"")
recording = Recording(Path("/tmp/out.json"), "coder", 1, has_pauses=False)
recorder = Recorder(("0.0.0.0", {PORT}), provider, recording)
print("ready", flush=True)
recorder.serve_forever()
"""


@dataclass
class Stand:
    """A recorder in a container, before a provider that is busy once."""

    url: str
    container: DockerContainer

    def recording(self) -> str:
        code, text = self.container.exec(["cat", "/tmp/out.json"])
        assert code == 0
        return str(text.decode())


@pytest.fixture
def stand(engine: Engine) -> Iterator[Stand]:
    image = ImageShelf(engine).sidecar()
    with provider_container(image, PROGRAM, STORY) as (url, container):
        yield Stand(url, container)


def test_a_recorded_session_costs_nothing_the_second_time_and_ends_the_same(world: World, stand: Stand):
    work = AgentWork(RuntimeName.CLAUDE, "claude-sonnet-4-5", b"Add a line to a.txt.")
    proxy = ProxyOrder(base_url=stand.url, secret=KEY, budget_microusd=1_000_000)
    first = run(world, world.order("recorded", agent=work, proxy=proxy))
    text = stand.recording()
    assert KEY not in text

    played = replace(
        proxy, base_url="", secret="sk-x", story=text.encode(), story_role="coder", story_round=1
    )
    second = run(world, world.order("played", agent=work, proxy=played))
    assert first == second
    statuses, costs, diff = first
    assert statuses == [200, 529, 200]
    # 1000 x 3 + 100 x 15 = 4500; 10 x 3 + 10 x 15 + 1000 x 0.30 = 480 micro-dollars
    assert costs == [4500, 0, 480]
    assert "+two lines" in diff


def run(world: World, order: JobOrder) -> tuple[list[int | None], list[int], str]:
    """Statuses and costs of the calls, and the diff."""
    end = world.jobs.run(order, resumed=False)
    assert end.report is not None
    assert end.report.ended is Ended.EXITED
    calls = end.ledger.calls
    diff = (order.folder / "out" / "diff.patch").read_text(encoding="utf-8")
    return [call.status for call in calls], [call.cost_microusd for call in calls], diff
