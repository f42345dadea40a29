"""What only an engine of the test's own can show: other container runtimes, and the engine's own ends.

An engine that stops, dies, has no room or cannot remove a container is named in one sentence; once it is
back, the same job is found as interrupted, which is never charged to the agent.
"""

import gc
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from signal import SIGKILL, SIGTERM

import docker
import pytest

from instrument.schema.job import JobEnd
from instrument.schema.vocabulary import Ended, Outcome
from jobs.engine import Engine
from jobs.errors import EngineRefusedError, EngineUnavailableError, JobsError
from jobs.order import MIB, Command, JobOrder, Limits, ProxyOrder
from jobs.runner import DockerJobs
from loop.machine.guards import CODER_GUARDS, COMMANDS_GUARDS, first_match
from support.lives import new_state
from support.own_engine import OwnEngine, copy_images, find_runsc, leave_out, open_own_engine
from support.pods import World, shell

# Where an engine went away, the SDK leaves the socket open that it could not connect.
pytestmark = [pytest.mark.docker, pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")]

STORY = b"rounds: [{role: coder, turns: [{finish: Done., usage: {input: 1000, output: 100}}]}]"
PROXY = ProxyOrder("", secret="sk-x", budget_microusd=10**6, story=STORY, story_role="coder", story_round=1)
LIMITS = Limits(memory_bytes=512 * MIB, deadline_s=120)
CALL = r"""python3 - <<'CALL'
import http.client, json, socket
way = http.client.HTTPConnection("localhost")
way.sock = socket.socket(socket.AF_UNIX)
way.sock.connect("/run/factory/proxy.sock")
body = json.dumps({"model": "claude-sonnet-4-5", "max_tokens": 10, "messages": []})
way.request("POST", "/v1/messages", body, {"content-type": "application/json"})
print(way.getresponse().status)
CALL
"""
REACH = r"""python3 - <<'REACH'
import errno, socket
try:
    socket.create_connection(("1.1.1.1", 443), 2)
except OSError as error:
    print(errno.errorcode[error.errno])
REACH
"""


@dataclass
class Yard:
    """An engine of our own with the images on it; every `world()` is a program that has just been started."""

    own: OwnEngine
    image: str
    folder: Path
    run_id: str = ""
    opened: list[World] = field(default_factory=list)

    def world(self) -> World:
        engine = Engine.connect()
        jobs = DockerJobs(connect=lambda: engine)
        number = len(self.opened)
        made = World(engine, jobs, self.folder / str(number), self.image)
        self.run_id = self.run_id or made.run_id
        made.run_id = self.run_id
        self.opened.append(made)
        return made

    def close(self) -> None:
        for world in self.opened:
            world.jobs.close()
            world.engine.close()
        gc.collect()  # here, where what the SDK left open is expected


@pytest.fixture(scope="module")
def ready(engine: Engine) -> Iterator[tuple[OwnEngine, str]]:
    with open_own_engine() as own:
        yield own, copy_images(engine, own)


@pytest.fixture
def yard(ready: tuple[OwnEngine, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Yard]:
    own, image = ready
    monkeypatch.setenv("DOCKER_HOST", own.address)
    made = Yard(own, image, tmp_path)
    yield made
    last = made.world()
    last.jobs.reap(made.run_id, keep=None)
    assert last.left() == 0
    made.close()


def run_and_break(world: World, order: JobOrder, harm: Callable[[], None]) -> JobEnd | JobsError:
    """Drive a job, harm the engine once the job's agent is at work, and give what the driver met."""
    met: list[JobEnd | JobsError] = []

    def drive() -> None:
        try:
            met.append(world.jobs.run(order, resumed=False))
        except JobsError as error:
            met.append(error)

    driver = threading.Thread(target=drive)
    # A connection serves one thread.
    looker = Engine.connect()
    driver.start()
    try:
        labels = {"factory.run": world.run_id, "factory.part": "job"}
        wait_for(lambda: any(state.is_running for state in looker.containers.find(labels)))
        job = looker.containers.find(labels)[0].id
        wait_for(lambda: has_file(looker, job, "/repo/begun"))
    finally:
        looker.close()
        harm()
        driver.join(timeout=60)
    return met[0]


def has_file(engine: Engine, container: str, path: str) -> bool:
    archive = engine.containers.get(container, path, max_bytes=MIB)
    if archive is not None:
        archive.close()
    return archive is not None


def wait_for(what: Callable[[], bool], within_s: float = 30) -> None:
    deadline = time.monotonic() + within_s
    while not what():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.1)


def test_a_coder_works_under_gvisor_behind_its_proxy(yard: Yard) -> None:
    if find_runsc() is None:
        leave_out("gVisor's runsc is not installed; Debian has it as the package runsc")
    world = yard.world()
    line = f"dmesg | grep -o 'Starting gVisor'; id -u\n{CALL}\n{REACH}\necho new > c.txt"
    limits = replace(LIMITS, container_runtime="runsc")
    order = world.order("gvisor", agent=shell(line), proxy=PROXY, limits=limits)
    end = world.jobs.run(order, resumed=False)
    assert end.report is not None
    said = (order.folder / "out" / "transcript.jsonl").read_text()
    assert (end.report.ended, end.report.error) == (Ended.EXITED, None)
    *others, reached = said.splitlines()
    assert others == ["Starting gVisor", "10001", "200"]
    assert reached in ("EHOSTUNREACH", "ENETUNREACH")
    assert [call.settled for call in end.ledger.calls] == [True]
    assert b"+new" in (order.folder / "out" / "diff.patch").read_bytes()
    assert first_match(CODER_GUARDS, new_state(), end) is None


@pytest.mark.parametrize("sig", [SIGTERM, SIGKILL])
@pytest.mark.parametrize("proxy", [None, PROXY])
def test_an_engine_that_ends_takes_the_job_along_and_nobody_is_charged(
    yard: Yard, sig: int, proxy: ProxyOrder | None
) -> None:
    line = f"{CALL if proxy else ''}\ntouch begun; sleep 300"
    order = yard.world().order("implement-1", agent=shell(line), proxy=proxy, limits=LIMITS)
    met = run_and_break(yard.opened[0], order, lambda: yard.own.stop(sig))
    assert isinstance(met, EngineUnavailableError)
    assert "No Docker Engine answers" in str(met)
    with pytest.raises(EngineUnavailableError):
        Engine.connect()
    yard.own.start()
    world = yard.world()
    end = world.jobs.run(order, resumed=True)
    assert first_match(CODER_GUARDS, new_state(), end) is Outcome.JOB_INTERRUPTED
    assert [call.settled for call in end.ledger.calls] == ([True] if proxy else [])
    # An engine that was killed gives a helper that outlived it five seconds to answer, then kills what is
    # in its care: a proxy ended in that way had no last word, and the bill says so.
    assert end.is_lower_bound is (sig == SIGKILL and end.container.sidecar_cut)
    again = world.order("implement-2", agent=shell("echo new > c.txt"), limits=LIMITS)
    assert first_match(CODER_GUARDS, new_state(), world.jobs.run(again, resumed=False)) is None


def test_a_machine_that_lost_power_leaves_a_bill_that_says_it_may_lack_a_call(yard: Yard) -> None:
    order = yard.world().order(
        "implement-1", agent=shell(f"{CALL}\ntouch begun; sleep 300"), proxy=PROXY, limits=LIMITS
    )
    run_and_break(yard.opened[0], order, yard.own.lose_power)
    yard.own.start()
    end = yard.world().jobs.run(order, resumed=True)
    assert (end.container.exit_code, end.report) == (255, None)
    assert first_match(CODER_GUARDS, new_state(), end) is Outcome.JOB_INTERRUPTED
    assert [call.settled for call in end.ledger.calls] == [True]
    # The ledger alone may look complete: it is the sidecar's missing last word that tells.
    assert (end.container.sidecar_cut, end.is_lower_bound) == (True, True)


def test_a_container_that_is_stuck_in_removal_is_waited_for(yard: Yard) -> None:
    world = yard.world()
    order = world.order("check-1", commands=(Command("unit", "true"),))
    world.jobs.run(order, resumed=False)
    stuck = stick(yard, world)
    healing = threading.Timer(2, lambda: yard.own.run("chattr", "-i", stuck))
    healing.start()
    world.jobs.release(world.run_id, order.identity.key)
    healing.join()
    assert world.left() == 0


def test_a_job_whose_container_is_half_removed_was_interrupted(yard: Yard) -> None:
    world = yard.world()
    order = world.order("check-2", commands=(Command("unit", "true"),))
    world.jobs.run(order, resumed=False)
    stuck = stick(yard, world)
    try:
        with closing(docker.from_env()) as client, pytest.raises(docker.errors.APIError, match="500"):
            client.api.remove_container(world.containers()["job"].id, force=True)
        assert world.containers()["job"].is_going
        end = world.jobs.run(order, resumed=True)
        assert first_match(COMMANDS_GUARDS, new_state(), end) is Outcome.JOB_INTERRUPTED
        assert not end.is_lower_bound
    finally:
        yard.own.run("chattr", "-i", stuck)
    assert world.jobs.run(order, resumed=False).report is not None


def stick(yard: Yard, world: World) -> str:
    """Put a file into the job's container that its engine cannot remove; returns its path."""
    with closing(docker.from_env()) as client:
        raw = client.api.inspect_container(world.containers()["job"].id)
    path = raw["GraphDriver"]["Data"]["UpperDir"] + "/stuck"
    yard.own.run("touch", path)
    yard.own.run("chattr", "+i", path)
    return str(path)


def test_an_engine_without_room_says_so_before_the_job_and_is_asked_again(yard: Yard) -> None:
    world = yard.world()
    order = world.order("implement-3", agent=shell("echo new > c.txt"), limits=LIMITS)
    try:
        for kib in (8, 100):
            yard.own.leave_free(kib)
            with pytest.raises(
                EngineRefusedError, match=r"disk of the Docker Engine is full \(.*\): free some"
            ):
                world.jobs.run(order, resumed=False)
            assert world.left() == 0
    finally:
        yard.own.make_room()
    end = world.jobs.run(order, resumed=False)
    assert first_match(CODER_GUARDS, new_state(), end) is None


@pytest.mark.parametrize("kib", [1500, 4000, 60_000])
def test_an_engine_that_runs_out_of_room_under_a_job_is_named(yard: Yard, kib: int) -> None:
    world = yard.world()
    fill = "echo x > new; head -c 200000000 /dev/zero > ~/fill; exit 1"
    coder = world.order("implement-4", agent=shell(fill), limits=LIMITS)
    check = world.order("check-4", commands=(Command("unit", fill),), limits=LIMITS)
    for order, guards in ((coder, CODER_GUARDS), (check, COMMANDS_GUARDS)):
        try:
            yard.own.leave_free(kib)
            end = world.jobs.run(order, resumed=False)
        finally:
            yard.own.make_room()
        assert end.report is not None
        assert (end.report.ended, end.report.error) == (Ended.HOST_DISK, None)
        assert first_match(guards, new_state(), end) is Outcome.ENGINE_FAILED, end
        world.jobs.release(world.run_id, order.identity.key)
