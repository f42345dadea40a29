"""Many jobs in a row, two at a time: nothing stays of them, on the engine or in the process that ran them."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from jobs.engine import Engine
from jobs.order import Command, ProxyOrder
from jobs.pod import OURS, select_labels
from jobs.runner import DockerJobs
from support.pods import World, shell

pytestmark = pytest.mark.docker

AT_ONCE = 2
STORY = b"""
model: claude-sonnet-4-5
rounds:
  - role: coder
    turns:
      - finish: Done.
"""
EVERY = 5
"""Every fifth job is an agent's, with a sidecar and volumes."""


class Worker:
    """One thread's own way to the engine, kept for all of its jobs."""

    def __init__(self) -> None:
        self.engine = Engine.connect()
        self.jobs = DockerJobs(connect=lambda: self.engine)
        self.containers: set[str] = set()


def sockets() -> int:
    """How many sockets this process has open."""
    count = 0
    for entry in Path("/proc/self/fd").iterdir():
        try:
            count += str(entry.readlink()).startswith("socket:")
        except OSError:  # the listing's own descriptor is gone
            continue
    return count


def processes_of(containers: set[str]) -> list[str]:
    """Command lines on this host that name one of the containers, as the engine's helpers do."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:  # it ended meanwhile
            continue
        found += [line for container in containers if container in line]
    return found


def do_job(world: World, worker: Worker, n: int) -> None:
    """One job from its order to its release."""
    order = world.order(f"check-{n}", commands=(Command("unit", f"cat a.txt; sleep 0.1; exit {n % 3}"),))
    if n % EVERY == 0:
        proxy = ProxyOrder("", secret="sk-nobodys", story=STORY, story_role="coder", story_round=1)
        order = world.order(f"implement-{n}", agent=shell(f"sleep 300 & echo {n} > c.txt"), proxy=proxy)
    end = worker.jobs.run(order, resumed=False)
    assert end.report is not None
    assert not end.container.lost
    assert not end.container.sidecar_lost
    if order.agent is None:
        assert [c.exit_code for c in end.report.commands] == [n % 3]
    else:
        assert end.report.tree is not None
        assert end.report.tree.changed_paths == 1
    labels = select_labels(world.run_id, order.identity.key)
    worker.containers |= {state.id for state in worker.engine.containers.find(labels)}
    worker.jobs.release(world.run_id, order.identity.key)


@pytest.mark.parametrize(
    "count", [10, pytest.param(100, marks=[pytest.mark.slow, pytest.mark.timeout(900)])], ids="{} jobs".format
)
def test_nothing_is_left_of_jobs_two_at_a_time(world: World, count: int) -> None:
    world.jobs.run(world.order("check-first"), resumed=False)
    world.jobs.release(world.run_id, "demo-001-check-first")
    threads, before = threading.active_count(), sockets()
    workers = [Worker() for _ in range(AT_ONCE)]

    def drive(which: int) -> None:
        try:
            for n in range(which, count, AT_ONCE):
                do_job(world, workers[which], n)
        finally:
            workers[which].jobs.close()

    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(drive, range(AT_ONCE)))

    assert sockets() == before
    assert threading.active_count() == threads
    containers = set().union(*(worker.containers for worker in workers))
    assert len(containers) == count + len(range(0, count, EVERY))
    assert processes_of(containers) == []
    assert world.left() == 0
    assert world.engine.networks({OURS: "1"}) == ()
    assert not [path for path in world.folder.rglob("*") if path.is_socket()]
