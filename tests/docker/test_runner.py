import json
import os
import subprocess
import sys
import time
from dataclasses import replace
from typing import Any

import docker
import pytest

from instrument.schema.vocabulary import Ended
from jobs.errors import EngineRefusedError, EngineUnavailableError, ImageGoneError
from jobs.order import MIB, Command, Limits
from jobs.pod import job_spec
from jobs.runner import DockerJobs
from support.pods import World, shell

pytestmark = pytest.mark.docker


def raw_inspection(container: str) -> dict[str, Any]:
    client = docker.from_env()
    try:
        answer: dict[str, Any] = client.api.inspect_container(container)
    finally:
        client.close()
    return answer


def test_a_check_job_hands_back_its_commands_and_is_gone_after_release(world: World) -> None:
    order = world.order("check-1", commands=(Command("unit", "cat a.txt; exit 3"), Command("lint", "true")))
    end = world.jobs.run(order, resumed=False)
    assert end.report is not None
    assert [(c.name, c.exit_code) for c in end.report.commands] == [("unit", 3), ("lint", 0)]
    assert (order.folder / end.report.commands[0].output).read_text() == "one\n"
    assert end.container.exit_code == 0
    assert not end.is_lower_bound
    assert end.agent is None
    assert set(world.containers()) == {"job"}
    world.jobs.release(world.run_id, order.identity.key)
    world.jobs.release(world.run_id, order.identity.key)
    assert world.left() == 0


def test_the_same_job_collected_again_says_the_same(world: World) -> None:
    order = world.order("implement-1", agent=shell("echo new > c.txt"))
    first = world.jobs.run(order, resumed=False)
    assert world.jobs.run(order, resumed=True) == first
    assert world.jobs.run(order, resumed=False) == first
    assert first.report is not None
    assert first.report.tree is not None
    assert first.report.tree.changed_paths == 1
    assert (order.folder / "out" / "diff.patch").read_bytes().count(b"+new") == 1


@pytest.mark.parametrize("kind", ["terminal", "cron", "open pipe"])
def test_case_03_nothing_can_wait_on_stdin(world: World, kind: str) -> None:
    """The agent reads to the end before it works, whatever standard input we have ourselves."""
    code = (
        "import sys; from pathlib import Path; from support.pods import World, shell\n"
        "from jobs.engine import Engine; from jobs.runner import DockerJobs\n"
        "engine = Engine.connect(); jobs = DockerJobs(connect=lambda: engine)\n"
        "world = World(engine, jobs, Path(sys.argv[1]), sys.argv[2], sys.argv[3])\n"
        "end = jobs.run(world.order('implement-3', agent=shell('cat > got; wc -c < got')), resumed=False)\n"
        "jobs.release(world.run_id, end.key); jobs.close()\n"
        "print(end.report.agent_ms, end.report.tree.changed_paths)\n"
    )
    read, write = os.openpty() if kind == "terminal" else os.pipe()
    stdin = {"terminal": write, "cron": subprocess.DEVNULL, "open pipe": read}[kind]
    try:
        done = subprocess.run(
            [sys.executable, "-c", code, str(world.folder / "child"), world.image, world.run_id],
            stdin=stdin,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
    finally:
        os.close(read)
        os.close(write)
    assert done.returncode == 0, done.stderr
    agent_ms, changed = done.stdout.split()
    assert int(agent_ms) < 1000
    assert changed == "1"


def test_case_05_a_clean_exit_with_nothing_done_has_no_diff(world: World) -> None:
    end = world.jobs.run(world.order("implement-5", agent=shell("echo all done, tests pass")), resumed=False)
    assert end.report is not None
    assert end.report.exit_code == 0
    assert end.report.tree is not None
    assert (end.report.tree.diff_bytes, end.report.tree.changed_paths) == (0, 0)
    assert end.report.tree.tree == end.report.tree.base_tree


def test_case_05_the_structured_no_change_needed_comes_along(world: World) -> None:
    line = 'printf \'{"outcome": "no_change_needed", "summary": "is so"}\' > "$FACTORY_RESULT"'
    end = world.jobs.run(world.order("implement-6", agent=shell(line)), resumed=False)
    assert end.result is not None
    assert end.result.outcome == "no_change_needed"


def test_case_04_a_failing_agent_with_a_valid_diff_keeps_it(world: World) -> None:
    end = world.jobs.run(world.order("implement-4", agent=shell("echo x > c; exit 1")), resumed=False)
    assert end.report is not None
    assert end.report.exit_code == 1
    assert end.report.tree is not None
    assert end.report.tree.changed_paths == 1


def test_case_11_a_timeout_really_ends_it(world: World) -> None:
    line = "trap '' TERM; echo part > partial; (trap '' TERM HUP; sleep 600) & sleep 600"
    order = world.order(
        "implement-11", agent=shell(line), limits=Limits(memory_bytes=256 * MIB, deadline_s=5)
    )
    began = time.monotonic()
    end = world.jobs.run(order, resumed=False)
    world.jobs.release(world.run_id, order.identity.key)
    assert time.monotonic() - began < 20
    assert world.left() == 0
    assert end.report is not None
    assert end.report.ended is Ended.DEADLINE
    assert not end.container.backstop
    assert b"+part" in (order.folder / "out" / "diff.patch").read_bytes()


def test_the_container_is_fenced(world: World) -> None:
    order = world.order("implement-7", agent=shell("true"), env={"TOKEN": "env-secret-value"})
    world.jobs.run(order, resumed=False)
    raw = raw_inspection(job_spec(order).name)
    host = raw["HostConfig"]
    assert host["NetworkMode"] == "none"
    assert host["CapDrop"] == ["ALL"]
    assert {c.removeprefix("CAP_") for c in host["CapAdd"]} == {"SETUID", "SETGID", "KILL", "DAC_READ_SEARCH"}
    assert any("no-new-privileges" in option for option in host["SecurityOpt"])
    assert host["Memory"] == host["MemorySwap"] == order.limits.memory_bytes
    assert host["PidsLimit"] == order.limits.pids
    assert host["Init"] is True
    assert host["AutoRemove"] is False
    assert host["RestartPolicy"]["Name"] in ("", "no")
    assert host["LogConfig"] == {"Type": "json-file", "Config": {"max-size": "1m", "max-file": "1"}}
    assert not host["Binds"]
    assert raw["Mounts"] == []
    assert "env-secret-value" not in json.dumps(raw)


def test_the_agent_has_no_network_no_root_and_no_capability(world: World) -> None:
    line = "id -u; grep CapEff /proc/self/status; grep NoNewPrivs /proc/self/status; ls /sys/class/net"
    order = world.order("implement-8", agent=shell(line))
    end = world.jobs.run(order, resumed=False)
    assert end.report is not None
    words = (order.folder / "out" / "transcript.jsonl").read_text().split()
    assert words == ["10001", "CapEff:", "0000000000000000", "NoNewPrivs:", "1", "lo"]


def test_case_06_home_is_writable_and_git_works(world: World) -> None:
    line = "id -un; touch ~/x && git status --porcelain && git log --format=%s -1"
    order = world.order("implement-9", agent=shell(line))
    end = world.jobs.run(order, resumed=False)
    assert end.report is not None
    assert end.report.exit_code == 0, (order.folder / "out" / "agent-stderr.txt").read_text()
    assert (order.folder / "out" / "transcript.jsonl").read_text().startswith("agent\n")


def test_memory_is_limited_and_the_end_says_so(world: World) -> None:
    line = "python3 -c 'x = bytearray(400 * 1024 * 1024)'"
    order = world.order(
        "implement-10", agent=shell(line), limits=Limits(memory_bytes=128 * MIB, deadline_s=30)
    )
    end = world.jobs.run(order, resumed=False)
    assert end.container.oom_killed or (end.report is not None and end.report.oom_kills)


def test_an_absent_job_is_lost_and_costs_nothing(world: World) -> None:
    end = world.jobs.run(world.order("check-9", commands=(Command("unit", "true"),)), resumed=True)
    assert end.container.lost
    assert end.report is None
    assert not end.is_lower_bound
    assert world.left() == 0


def test_a_job_that_was_created_and_never_started_is_lost(world: World) -> None:
    order = world.order("check-8", commands=(Command("unit", "true"),))
    world.engine.containers.create(job_spec(order))
    assert world.jobs.run(order, resumed=True).container.lost
    assert world.containers() == {}
    world.engine.containers.create(job_spec(order))
    fresh = world.jobs.run(order, resumed=False)
    assert fresh.report is not None


def test_another_runs_job_of_the_same_key_is_not_ours(world: World) -> None:
    order = world.order("check-7", commands=(Command("unit", "true"),))
    world.jobs.run(order, resumed=False)
    other = World(world.engine, world.jobs, world.folder / "other", world.image)
    assert other.jobs.run(other.order("check-7"), resumed=True).container.lost
    other.jobs.release(other.run_id, order.identity.key)
    assert other.jobs.reap(other.run_id, keep=None) == 0
    assert set(world.containers("check-7")) == {"job"}


def test_reap_keeps_the_current_key_alone(world: World) -> None:
    for key in ("check-1", "check-2"):
        world.jobs.run(world.order(key, commands=(Command("unit", "true"),)), resumed=False)
    assert world.jobs.reap(world.run_id, keep="demo-001-check-2") == 1
    assert set(world.containers("check-2")) == {"job"}
    assert world.jobs.reap(world.run_id, keep=None) == 1
    assert world.left() == 0


def test_a_name_taken_by_a_stranger_is_refused_and_the_stranger_stays(world: World) -> None:
    order = world.order("check-6", commands=(Command("unit", "true"),))
    spec = job_spec(order)
    stranger = world.engine.containers.create(replace(spec, labels={"someone": "else"}))
    try:
        with pytest.raises(EngineRefusedError, match="name is taken"):
            world.jobs.run(order, resumed=False)
        assert world.engine.containers.inspect(stranger) is not None
    finally:
        world.engine.containers.remove(stranger)
    assert world.jobs.run(order, resumed=False).report is not None


def test_an_absent_image_is_one_sentence_and_leaves_nothing(world: World) -> None:
    order = world.order("check-5", commands=(Command("unit", "true"),), image="sha256:" + "0" * 64)
    with pytest.raises(ImageGoneError, match="is no longer on the engine"):
        world.jobs.run(order, resumed=False)
    assert world.left() == 0


def test_no_engine_is_one_error(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "tcp://127.0.0.1:1")
    with pytest.raises(EngineUnavailableError, match="No Docker Engine answers"):
        DockerJobs().run(world.order("check-4"), resumed=False)
