import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import docker
import pytest

from instrument.schema.vocabulary import RuntimeName
from jobs.order import MIB, AgentWork, Command, JobOrder, Limits, ProxyOrder
from jobs.pod import sidecar_name
from jobs.progress import Progress
from jobs.runner import DockerJobs
from support.pods import World, shell

pytestmark = pytest.mark.docker

KEY = "sk-the-real-key-of-a-person"
STORY = b"""
model: claude-sonnet-4-5
rounds:
  - role: coder
    turns:
      - say: "I write the file."
        run: "echo new > c.txt"
        usage: {input: 1200, output: 80, cache_write_5m: 300}
        delay_ms: DELAY
      - finish: "Done."
        usage: {input: 100, output: 20}
"""
COST_MICROUSD = 1200 * 3 + 80 * 15 + 300 * 3.75 + 100 * 3 + 20 * 15
"""By hand, at 3, 15 and 3.75 dollars a million tokens."""
CHILD = """
import sys
from pathlib import Path
sys.path[:0] = {path!r}
from support.pods import World, shell
from test_runner_pod import claude_order
from jobs.engine import Engine
from jobs.order import Command
from jobs.runner import DockerJobs
engine = Engine.connect()
jobs = DockerJobs(connect=lambda: engine)
world = World(engine, jobs, Path({folder!r}), {image!r}, {run_id!r})
jobs.run({order}, resumed=False)
"""


def claude_order(world: World, key: str, delay_ms: int = 0, **changes: Any) -> JobOrder:
    """The real program on the scripted provider, in a pod of its own."""
    values: dict[str, Any] = {
        "agent": AgentWork(RuntimeName.CLAUDE, "claude-sonnet-4-5", b"Write c.txt."),
        "proxy": ProxyOrder(
            "",
            secret=KEY,
            budget_microusd=5_000_000,
            story=STORY.replace(b"DELAY", b"%d" % delay_ms),
            story_role="coder",
            story_round=1,
        ),
        "limits": Limits(memory_bytes=2048 * MIB, deadline_s=90),
    }
    return world.order(key, **{**values, **changes})


def start_child(world: World, order: str) -> subprocess.Popen[bytes]:
    """Drive a job from a process of its own, which the test will kill."""
    code = CHILD.format(
        path=[str(Path(__file__).parent), *sys.path],
        folder=str(world.folder),
        image=world.image,
        run_id=world.run_id,
        order=order,
    )
    return subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.DEVNULL)


def wait_for(what: Callable[[], bool], within_s: float = 30) -> None:
    deadline = time.monotonic() + within_s
    while not what():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.1)


def test_a_round_of_the_real_program_through_pod_and_proxy(world: World) -> None:
    seen: list[Progress] = []
    jobs = DockerJobs(connect=lambda: world.engine, on_progress=seen.append)
    order = claude_order(world, "implement-1", delay_ms=5000, env={"TOKEN": "env-secret-value"})
    end = jobs.run(order, resumed=False)
    assert end.agent is not None
    assert (end.agent.version, end.agent.finished, end.agent.error) == ("2.1.332", True, None)
    assert end.agent.model_answered == "claude-sonnet-4-5"
    assert (end.ledger.cost_microusd, len(end.ledger.calls)) == (COST_MICROUSD, 2)
    assert not end.is_lower_bound
    assert b"+new" in (order.folder / "out" / "diff.patch").read_bytes()
    rows = (order.folder / "requests.jsonl").read_bytes().splitlines()
    assert ["claude-cli/2.1.332" in json.loads(row)["user_agent"] for row in rows] == [True, True]
    assert {p.key for p in seen} == {order.identity.key}
    assert any(len(p.ledger.calls) == 1 for p in seen)
    assert 1.5 < seen[0].elapsed_s < 20

    _check_secrets(world, order)
    world.jobs.release(world.run_id, order.identity.key)
    assert world.left() == 0


def _check_secrets(world: World, order: JobOrder) -> None:
    """Neither inspection nor log nor kept file holds the key or a value of the environment."""
    client = docker.from_env()
    try:
        for state in world.containers().values():
            text = json.dumps(client.api.inspect_container(state.id)) + client.api.logs(state.id).decode()
            assert KEY not in text
            assert "env-secret-value" not in text
    finally:
        client.close()
    for path in order.folder.rglob("*"):
        assert path.is_dir() or KEY.encode() not in path.read_bytes(), path


def test_the_sidecar_is_fenced(world: World) -> None:
    order = claude_order(world, "implement-2")
    world.jobs.run(order, resumed=False)
    client = docker.from_env()
    try:
        raw = client.api.inspect_container(sidecar_name(order.identity))
    finally:
        client.close()
    host = raw["HostConfig"]
    assert (host["CapDrop"], host["CapAdd"] or []) == (["ALL"], [])
    assert host["ReadonlyRootfs"] is True
    assert host["NetworkMode"] in ("default", "bridge")
    assert {(m["Destination"], m["RW"]) for m in raw["Mounts"]} == {("/run/factory", True), ("/ledger", True)}
    assert raw["State"]["ExitCode"] == 0, "it ends politely"


def test_case_12_a_killed_program_is_followed_by_one_that_adopts(world: World) -> None:
    child = start_child(world, "claude_order(world, 'implement-12', delay_ms=5000)")
    order = claude_order(world, "implement-12", delay_ms=5000)
    wait_for(lambda: "job" in world.containers() and world.containers()["job"].is_running)
    before = world.containers()
    child.send_signal(signal.SIGKILL)
    child.wait()
    end = world.jobs.run(order, resumed=True)
    after = world.containers()
    assert {part: state.id for part, state in after.items()} == {part: s.id for part, s in before.items()}
    assert after["job"].started_utc == before["job"].started_utc
    assert end.report is not None
    assert end.agent is not None
    assert end.agent.finished
    assert not end.container.sidecar_lost
    assert (end.ledger.cost_microusd, end.is_lower_bound) == (COST_MICROUSD, False)


def test_case_12_a_job_that_ended_while_nobody_looked_is_collected(world: World) -> None:
    child = start_child(world, "world.order('check-12', commands=(Command('unit', 'sleep 1; echo ok'),))")
    order = world.order("check-12", commands=(Command("unit", "sleep 1; echo ok"),))
    wait_for(lambda: "job" in world.containers() and world.containers()["job"].has_started)
    child.send_signal(signal.SIGKILL)
    child.wait()
    wait_for(lambda: not world.containers()["job"].is_running)
    end = world.jobs.run(order, resumed=True)
    assert end.report is not None
    assert [c.exit_code for c in end.report.commands] == [0]
    assert len(world.containers()) == 1


def test_a_dead_sidecar_ends_the_job_at_once(world: World) -> None:
    order = claude_order(world, "implement-13", delay_ms=60_000)
    other = start_child(world, "claude_order(world, 'implement-13', delay_ms=60000)")
    wait_for(lambda: {"job", "proxy"} == set(world.containers()) and world.containers()["job"].is_running)
    wait_for(lambda: _has_call(world))
    world.engine.containers.kill(world.containers()["proxy"].id)
    wait_for(lambda: not world.containers()["job"].is_running, within_s=15)
    assert other.wait(timeout=30) == 0
    end = world.jobs.run(order, resumed=True)
    assert end.container.sidecar_lost
    assert end.container.exit_code == 137
    assert end.report is None
    assert end.is_lower_bound, "a call began and its end was never written"
    assert len(end.ledger.calls) == 1


def _has_call(world: World) -> bool:
    archive = world.engine.containers.get(
        world.containers()["proxy"].id, "/ledger/ledger.jsonl", max_bytes=MIB
    )
    if archive is None:
        return False
    with archive:
        return b"call_started" in archive.read()


def test_a_running_job_whose_sidecar_died_unseen_is_ended_at_adoption(world: World) -> None:
    child = start_child(world, "claude_order(world, 'implement-14', delay_ms=60000)")
    wait_for(lambda: {"job", "proxy"} == set(world.containers()) and world.containers()["job"].is_running)
    child.send_signal(signal.SIGKILL)
    child.wait()
    world.engine.containers.kill(world.containers()["proxy"].id)
    end = world.jobs.run(claude_order(world, "implement-14", delay_ms=60_000), resumed=True)
    assert end.container.sidecar_lost
    assert not world.containers()["job"].is_running


def test_the_loops_own_deadline_ends_a_supervisor_that_hangs(world: World, tmp_path: Path) -> None:
    inside = tmp_path / "hung"
    inside.mkdir()
    (inside / "__main__.py").write_text("import time\ntime.sleep(600)\n")
    jobs = DockerJobs(connect=lambda: world.engine, inside=inside)
    order = world.order("check-15", commands=(Command("unit", "true"),))
    hurried = replace(order, limits=replace(order.limits, deadline_s=-27))
    end = jobs.run(hurried, resumed=False)
    assert end.container.backstop
    assert end.report is None
    assert jobs.run(hurried, resumed=True).container.backstop


def test_a_supervisor_that_fails_leaves_its_words(world: World, tmp_path: Path) -> None:
    inside = tmp_path / "broken"
    inside.mkdir()
    (inside / "__main__.py").write_text("raise SystemExit('cannot go on with env-secret-value')\n")
    order = world.order("check-16", commands=(Command("unit", "true"),), env={"TOKEN": "env-secret-value"})
    end = DockerJobs(connect=lambda: world.engine, inside=inside).run(order, resumed=False)
    assert end.report is None
    assert "no job.json" in str(end.report_error)
    assert (order.folder / "supervisor.log").read_text() == "cannot go on with ***\n"


def test_cancel_ends_the_pod_within_ten_seconds_and_keeps_the_ledger(world: World) -> None:
    order = claude_order(world, "implement-17", delay_ms=60_000)
    child = start_child(world, "claude_order(world, 'implement-17', delay_ms=60000)")
    wait_for(lambda: "proxy" in world.containers() and _has_call(world))
    child.send_signal(signal.SIGKILL)
    child.wait()
    began = time.monotonic()
    end = world.jobs.cancel(order)
    assert time.monotonic() - began < 10
    assert not any(state.is_running for state in world.containers().values())
    assert not end.container.sidecar_lost
    assert len(end.ledger.calls) == 1
    absent = world.order("check-17", commands=())
    assert world.jobs.cancel(absent).container.lost


def test_a_job_waits_for_no_proxy_where_none_is_ordered(world: World) -> None:
    end = world.jobs.run(
        world.order("implement-18", agent=shell("test ! -e /run/factory/proxy.sock")), resumed=False
    )
    assert end.report is not None
    assert end.report.exit_code == 0
    assert set(world.containers()) == {"job"}
