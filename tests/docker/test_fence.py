"""The fence as it is seen from inside: one coder job behind a real sidecar looks at everything around it.

Elsewhere: the limits that end a job, time, disk and memory, in test_supervisor.py and test_runner.py; what
the engine was asked for in test_runner.py; what an agent does against the fence in test_attack.py.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from jobs.engine import Engine
from jobs.errors import EngineRefusedError
from jobs.order import MIB, Command, Limits, ProxyOrder
from jobs.pod import OPEN_FILES
from jobs.runner import DockerJobs
from support.pods import World, shell

pytestmark = pytest.mark.docker

CAPABILITIES = {"DAC_READ_SEARCH": 2, "KILL": 5, "SETGID": 6, "SETUID": 7}
"""Bits as in linux/capability.h."""
FILTERED = "2"
"""How /proc shows a seccomp filter."""
LIMITS = Limits(memory_bytes=300 * MIB, cpus=1.0, pids=77, disk_bytes=900 * MIB, deadline_s=60)
STORY = b"rounds: [{role: coder, turns: [{finish: Done., usage: {input: 1, output: 1}}]}]"
LOOK = r"""
import json, os, resource
def text(path):
    try:
        with open(path, errors="replace") as file:
            return file.read().strip()
    except OSError:
        return None
v1 = os.path.isdir("/sys/fs/cgroup/memory")
folder = "/sys/fs/cgroup/"
print(json.dumps({
    "status": dict(line.split(":\t", 1) for line in text("/proc/self/status").splitlines() if ":\t" in line),
    "init": text("/proc/1/cmdline").split("\0"),
    "limits": {name: resource.getrlimit(getattr(resource, "RLIMIT_" + name))
               for name in ("NOFILE", "CORE", "FSIZE")},
    "memory": text(folder + ("memory/memory.limit_in_bytes" if v1 else "memory.max")),
    "swap": text(folder + ("memory/memory.memsw.limit_in_bytes" if v1 else "memory.swap.max")),
    "pids": text(folder + ("pids/pids.max" if v1 else "pids.max")),
    "cpu": [text(folder + "cpu/cpu.cfs_quota_us"), text(folder + "cpu/cpu.cfs_period_us")] if v1
           else text(folder + "cpu.max").split(),
    "is_v1": v1,
    "mounts": [line.split()[1:4] for line in text("/proc/mounts").splitlines()],
    "interfaces": os.listdir("/sys/class/net"),
    "routes": text("/proc/net/route").splitlines()[1:] + text("/proc/net/ipv6_route").splitlines(),
    "devices": sorted(name for name in os.listdir("/dev") if not os.path.isdir("/dev/" + name)),
    "environment": sorted(os.environ),
}))
"""


@pytest.fixture(scope="module")
def seen(
    engine: Engine, runs: set[str], job_image: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Any]:
    jobs = DockerJobs(connect=lambda: engine)
    world = World(engine, jobs, tmp_path_factory.mktemp("fence"), job_image)
    runs.add(world.run_id)
    proxy = ProxyOrder("", secret="sk-x", story=STORY, story_role="coder", story_round=1)
    look = shell(f"cat > /tmp/look.py <<'LOOK'\n{LOOK}\nLOOK\npython3 /tmp/look.py")
    order = world.order("fence", agent=look, proxy=proxy, limits=LIMITS)
    end = jobs.run(order, resumed=False)
    try:
        assert end.report is not None
        assert end.report.exit_code == 0, (order.folder / "out" / "agent-stderr.txt").read_text()
        yield json.loads((order.folder / "out" / "transcript.jsonl").read_bytes())
    finally:
        jobs.reap(world.run_id, keep=None)


def test_the_agent_is_nobody_and_can_become_nobody_else(seen: Any) -> None:
    status = seen["status"]
    assert status["Uid"].split() == status["Gid"].split() == ["10001"] * 4
    assert status["Groups"].split() == []
    mask = sum(1 << bit for bit in CAPABILITIES.values())
    held = {name: int(status[f"Cap{name}"], 16) for name in ("Inh", "Prm", "Eff", "Amb", "Bnd")}
    assert held == {"Inh": 0, "Prm": 0, "Eff": 0, "Amb": 0, "Bnd": mask}
    assert status["NoNewPrivs"] == "1"
    assert status["Seccomp"] == FILTERED


def test_an_init_is_process_1(seen: Any) -> None:
    program, *arguments = seen["init"]
    assert program.endswith("-init")
    assert "/job/inside" in arguments


def test_memory_processes_processors_and_files_are_limited(seen: Any) -> None:
    assert int(seen["memory"]) == LIMITS.memory_bytes
    # Version 1 counts memory and swap together, version 2 apart; without swap accounting there is no file.
    assert seen["swap"] in (None, str(LIMITS.memory_bytes if seen["is_v1"] else 0))
    assert int(seen["pids"]) == LIMITS.pids
    quota, period = map(int, seen["cpu"])
    assert quota == period * LIMITS.cpus
    assert seen["limits"] == {
        "NOFILE": [OPEN_FILES] * 2,
        "CORE": [0, 0],
        "FSIZE": [LIMITS.disk_bytes] * 2,
    }


def test_nothing_of_the_host_is_mounted_and_the_sockets_volume_is_read_only(seen: Any) -> None:
    options = {target: options.split(",") for target, _, options in seen["mounts"]}
    own = {target for target in options if not target.startswith(("/proc", "/sys", "/dev"))}
    init = seen["init"][0]
    engines = {"/etc/resolv.conf", "/etc/hostname", "/etc/hosts"}
    assert {target for target in own if not target.endswith(init.rpartition("/")[2])} == {
        *("/", "/run/factory"),
        *engines,
    }
    assert "ro" in options["/run/factory"]
    assert "ro" in options["/proc/sys"]
    assert "ro" in options["/sys"]
    groups = [options[t] for t, kind, _ in seen["mounts"] if kind in ("cgroup", "cgroup2")]
    assert groups
    assert all("ro" in found for found in groups)


def test_there_is_one_interface_and_no_way_out_of_it(seen: Any) -> None:
    assert seen["interfaces"] == ["lo"]
    # The kernel lists what leads to the loopback, and what leads nowhere, as routes of `lo`.
    assert [line for line in seen["routes"] if line.split()[-1] != "lo"] == []


def test_there_is_no_device_of_the_host(seen: Any) -> None:
    assert set(seen["devices"]) <= {
        *("console", "core", "full", "null", "ptmx", "random", "tty", "urandom", "zero"),
        *("stderr", "stdin", "stdout"),
    }


def test_the_environment_holds_what_was_ordered_alone(seen: Any) -> None:
    shells = {"PWD", "SHLVL", "_", "OLDPWD"}
    assert set(seen["environment"]) - shells == {
        *("HOME", "LANG", "PATH"),
        *("FACTORY_PROMPT", "FACTORY_RESULT", "FACTORY_ROLE"),
    }


def test_a_runtime_that_the_engine_does_not_know_costs_nothing(world: World) -> None:
    limits = Limits(container_runtime="sysbox-runc")
    known = ", ".join(world.engine.info().runtimes)
    assert "runc" in known
    order = world.order("check-1", commands=(Command("unit", "true"),), limits=limits)
    for ask in (
        lambda: world.jobs.set_up(world.setup_order("setup-1", limits=limits)),
        lambda: world.jobs.run(order, resumed=False),
    ):
        with pytest.raises(EngineRefusedError, match=rf"sysbox-runc .*; it knows {re.escape(known)}:"):
            ask()
    assert world.left() == 0


def test_a_job_runs_under_the_runtime_that_was_named(world: World) -> None:
    order = world.order(
        "check-2", commands=(Command("unit", "true"),), limits=Limits(container_runtime="runc")
    )
    end = world.jobs.run(order, resumed=False)
    assert end.report is not None
    assert end.report.commands[0].has_passed
