"""What dies under a job, and is replaced: the worker, the server, the host."""

import signal
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest

from engine import queues
from instrument.schema.vocabulary import Stage
from jobs.engine import Engine
from support.kills import Scene, opened
from support.stand import wait_for
from support.temporal import OwnServer

pytestmark = pytest.mark.docker

ADOPTED_S = queues.HEARTBEAT.total_seconds() + 2


@pytest.fixture
def scene(engine: Engine, job_image: str, tmp_path: Path) -> Iterator[Scene]:  # noqa: ARG001 - built before
    with opened(engine, tmp_path) as made:
        yield made


def test_a_job_whose_worker_is_killed_is_adopted_by_the_next_one(scene: Scene) -> None:
    worker, job = scene.begin()
    before = scene.state
    scene.factory.kill(worker)
    killed = datetime.now(UTC)
    heir = scene.factory.worker()
    adopted = scene.attempt(2)
    assert adopted.last_worker_identity.startswith(f"{heir.pid}@")
    assert (adopted.last_started_time.ToDatetime(UTC) - killed).total_seconds() <= ADOPTED_S
    assert scene.is_running(job)
    assert scene.state == before
    scene.lands(job)


def test_a_worker_that_is_told_to_end_leaves_its_job_to_the_next_one(scene: Scene) -> None:
    worker, job = scene.begin()
    before = scene.state
    told = time.monotonic()
    worker.send_signal(signal.SIGTERM)
    assert worker.wait(10) == 0
    assert time.monotonic() - told < 2
    assert scene.is_running(job)
    heir = scene.factory.worker()
    assert scene.attempt(2).last_worker_identity.startswith(f"{heir.pid}@")
    assert scene.is_running(job)
    assert scene.state == before
    scene.lands(job)


@pytest.mark.slow
def test_a_worker_ends_as_soon_without_a_server(scene: Scene) -> None:
    worker, job = scene.begin()
    OwnServer(scene.factory.home).kill()
    told = time.monotonic()
    worker.send_signal(signal.SIGTERM)
    assert worker.wait(10) == 0
    assert time.monotonic() - told < 2
    scene.factory.engine("up", "--no-worker")
    scene.factory.worker()
    assert scene.is_running(job)
    scene.lands(job)


@pytest.mark.slow
def test_an_activity_that_is_paused_leaves_its_container_alone(scene: Scene) -> None:
    _, job = scene.begin()
    running = scene.pending()
    assert running is not None
    scene.pause(running.activity_id)
    wait_for(scene.is_paused, "the pause")
    assert scene.is_running(job)
    scene.unpause(running.activity_id)
    scene.attempt(2)
    scene.lands(job)


def outage(scene: Scene, seconds: float) -> None:
    """Kill the server, and have it come back after so long."""
    OwnServer(scene.factory.home).kill()
    time.sleep(seconds)
    scene.factory.engine("up", "--no-worker")


@pytest.mark.slow
def test_a_server_that_is_away_for_five_seconds_is_not_noticed_by_a_job(scene: Scene) -> None:
    worker, job = scene.begin()
    outage(scene, 5)
    assert scene.attempt(1).last_worker_identity.startswith(f"{worker.pid}@")
    assert scene.is_running(job)
    scene.lands(job)


@pytest.mark.slow
def test_an_attempt_that_timed_out_meanwhile_is_joined_by_the_next_one(scene: Scene) -> None:
    worker, job = scene.begin()
    outage(scene, 20)
    assert scene.attempt(2).last_worker_identity.startswith(f"{worker.pid}@")
    assert scene.is_running(job)
    scene.lands(job)


@pytest.mark.slow
def test_a_job_that_ends_while_the_server_is_away_is_counted_once(scene: Scene) -> None:
    _, job = scene.begin()
    OwnServer(scene.factory.home).kill()
    scene.let_go(job)
    while scene.is_running(job):
        time.sleep(0.1)
    time.sleep(queues.HEARTBEAT.total_seconds() + 2)
    scene.factory.engine("up", "--no-worker")
    scene.merges()


@pytest.mark.slow
@pytest.mark.parametrize("is_lost", [True, False])
def test_a_dead_hosts_task_is_placed_elsewhere_with_its_rounds_as_they_were(
    scene: Scene,
    is_lost: bool,  # noqa: FBT001 - whether the containers died with the host, or only its worker
) -> None:
    scene.factory.engine("up", "--no-worker")
    scene.factory.worker("--roles", "control")
    host = scene.factory.worker("--roles", "jobs", "--host", "a", "--slots", "2")
    scene.hand_over(claimed_s=5)
    job = scene.waiting_job()
    before = scene.state
    scene.factory.worker("--roles", "jobs", "--host", "b", "--slots", "2")
    scene.factory.kill(host)
    if not is_lost:
        wait_for(lambda: scene.host() == "b" or None, "the other host")
        assert scene.is_running(job)
        scene.lands(job)
        return
    for each in scene.pod().values():
        scene.engine.containers.remove(each.id)
    wait_for(lambda: scene.state.attempt != before.attempt or None, "the interruption")
    again = scene.waiting_job()
    assert again.labels["factory.host"] == "b"
    after = scene.state.counters
    assert after.interruptions == before.counters.interruptions + 1
    assert (after.coder_rounds, after.review_rounds) == (
        before.counters.coder_rounds,
        before.counters.review_rounds,
    )
    scene.let_go(again)
    wait_for(lambda: scene.state.stage is Stage.DONE or None, "the merge", 120)
    assert scene.state.counters.coder_rounds == 1
    assert scene.state.spend.lower_bound, "what the lost job had cost is not known"


@pytest.mark.slow
def test_a_worker_that_dies_in_every_job_costs_time_alone(scene: Scene) -> None:
    scene.factory.engine("up", "--no-worker")
    scene.submit()
    known: set[str] = set()
    while True:
        worker = scene.factory.worker()
        key = wait_for(partial(scene.next_job, known), "another job, or the end", 60)
        if scene.state.stage.is_terminal:
            break
        known.add(key)
        scene.factory.kill(worker)
    assert len(known) == len(("baseline", "coder", "check", "reviewer", "gate"))
    scene.merges()
