"""A task leaves the engine in the middle of a job: cancelled, given back, taken over, or torn out."""

import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from temporalio.client import Client
from temporalio.service import RPCError

from engine.reaper import reap
from engine.worker import WorkerOptions, place_of
from instrument.schema.vocabulary import Purpose, Role, Stage
from jobs.engine import Engine
from jobs.engine.states import ContainerState
from jobs.order import Identity
from jobs.pod import ContainerSpec, object_labels
from support.kills import CODER_MICROUSD, REVIEWER_MICROUSD, TASK_ID, Scene, opened
from support.stand import wait_for
from support.temporal import OwnServer

pytestmark = pytest.mark.docker

CANCELLED_S = 2


@pytest.fixture
def scene(engine: Engine, job_image: str, tmp_path: Path) -> Iterator[Scene]:  # noqa: ARG001 - built before
    with opened(engine, tmp_path) as made:
        yield made


def ended_within(scene: Scene, job: ContainerState, seconds: float, since: float) -> None:
    while scene.is_running(job):
        assert time.monotonic() - since < seconds
        time.sleep(0.02)


def was_cancelled(scene: Scene) -> None:
    """Nothing is left but the state, and in it what the job had cost."""
    wait_for(lambda: scene.is_free() or None, "the engine to let go")
    assert scene.pod() == {}
    assert (scene.state.stage, scene.state.attempt) == (Stage.IMPLEMENT, None)
    assert (scene.state.spend.microusd, scene.state.spend.lower_bound) == (CODER_MICROUSD, False)


def goes_on_alone(scene: Scene) -> None:
    """`factory run` takes the cancelled task to its merge, with a coder of its own."""
    process = scene.run("--story", str(scene.story))
    scene.let_go(scene.waiting_job())
    said, _ = process.communicate(timeout=120)
    assert process.returncode == 0, said
    assert scene.state.stage is Stage.DONE
    assert scene.state.spend.microusd == 2 * CODER_MICROUSD + REVIEWER_MICROUSD


def test_a_cancel_ends_the_job_at_once_and_a_run_alone_goes_on(scene: Scene) -> None:
    _, job = scene.begin()
    asked = time.monotonic()
    scene.with_handle(lambda handle: handle.signal("leave", "cancelled"))
    ended_within(scene, job, CANCELLED_S, asked)
    assert scene.with_handle(lambda handle: handle.result())["how"] == "cancelled"
    was_cancelled(scene)
    goes_on_alone(scene)


def test_a_cancel_from_the_servers_own_side_does_the_same(scene: Scene) -> None:
    _, job = scene.begin()
    asked = time.monotonic()
    scene.with_handle(lambda handle: handle.cancel())
    ended_within(scene, job, CANCELLED_S, asked)
    assert scene.with_handle(lambda handle: handle.result())["how"] == "cancelled"
    was_cancelled(scene)


@pytest.mark.slow
def test_the_command_cancels_and_says_so(scene: Scene) -> None:
    scene.begin()
    assert scene.factory.engine("cancel", TASK_ID) == f"{TASK_ID}: cancelled\n"
    was_cancelled(scene)


def test_a_task_that_waits_for_a_slot_is_cancelled_without_one(scene: Scene) -> None:
    scene.factory.engine("up", "--no-worker")
    scene.factory.worker("--roles", "control")
    scene.submit()
    wait_for(lambda: scene.waits() == "slot" or None, "the wait")
    assert scene.factory.engine("cancel", TASK_ID) == f"{TASK_ID}: cancelled\n"
    assert scene.is_free()
    assert scene.state.attempt is None


@pytest.mark.slow
def test_a_cancel_ends_a_task_whose_repository_cannot_be_read(scene: Scene) -> None:
    _, job = scene.begin()
    toml = (scene.repo.checkout / "factory.toml").read_text()
    scene.repo.commit("factory.toml", toml.replace("[merge]", "[merge"))
    assert scene.factory.engine("cancel", TASK_ID) == f"{TASK_ID}: cancelled\n"
    assert not scene.is_running(job)
    assert scene.is_free()


@pytest.mark.slow
def test_a_cancel_without_a_worker_is_done_by_the_next_one(scene: Scene) -> None:
    worker, job = scene.begin()
    scene.factory.kill(worker)
    scene.with_handle(lambda handle: handle.signal("leave", "cancelled"))
    assert scene.is_running(job)
    scene.factory.worker()
    wait_for(lambda: not scene.is_running(job) or None, "the job's end")
    assert scene.with_handle(lambda handle: handle.result())["how"] == "cancelled"
    was_cancelled(scene)


@pytest.mark.slow
def test_a_job_of_a_dead_host_is_cancelled_and_removed_when_the_host_is_back(scene: Scene) -> None:
    scene.factory.engine("up", "--no-worker")
    scene.factory.worker("--roles", "control")
    words = ("--roles", "jobs", "--host", "a")
    host = scene.factory.worker(*words)
    scene.hand_over(claimed_s=5)
    job = scene.waiting_job()
    scene.factory.kill(host)
    scene.with_handle(lambda handle: handle.signal("leave", "cancelled"))
    assert scene.with_handle(lambda handle: handle.result())["how"] == "cancelled"
    assert scene.is_free()
    assert not scene.is_running(job)
    assert scene.pod() != {}
    scene.factory.worker(*words)
    wait_for(lambda: scene.pod() == {} or None, "the reaper's first look")
    was_cancelled(scene)


def look(scene: Scene, host: str = "") -> int:
    """One look of the reaper, as a worker of this home makes it."""
    options = WorkerOptions(home=scene.factory.home, host=host)
    place = place_of(options, scene.factory.environment)
    return scene.ask(lambda client: reap(client, place, options.name))


def leftover(scene: Scene, image: str) -> str:
    """A container of the same run under a key that is not its attempt's."""
    identity = Identity(
        run_id=scene.state.run_id, key=f"{TASK_ID}-check-99-0", task_id=TASK_ID, purpose=Purpose.TASK
    )
    spec = ContainerSpec(
        name=f"factory-{identity.run_id}-{identity.key}",
        image=image,
        labels=object_labels(identity, Role.CHECK, "job"),
        entrypoint=("true",),
        network="none",
        memory_bytes=64 * 2**20,
        pids=16,
    )
    return scene.engine.containers.create(spec)


@pytest.mark.slow
def test_a_run_that_was_terminated_is_cleared_away_and_its_cost_is_kept(scene: Scene) -> None:
    _, job = scene.begin()
    scene.with_handle(lambda handle: handle.terminate())
    look(scene, "elsewhere")
    assert scene.is_running(job), "the host that it runs on knows what it cost"
    wait_for(lambda: look(scene) or scene.pod() == {} or None, "the look that clears it away")
    was_cancelled(scene)
    goes_on_alone(scene)


@pytest.mark.slow
def test_a_look_takes_only_what_no_activity_needs(scene: Scene, job_image: str) -> None:
    _, job = scene.begin()
    left = leftover(scene, job_image)
    options = WorkerOptions(home=scene.factory.home)
    place = place_of(options, scene.factory.environment)

    async def look_in_vain(client: Client) -> None:
        OwnServer(scene.factory.home).kill()
        with pytest.raises(RPCError):
            await reap(client, place, options.name)

    scene.ask(look_in_vain)
    assert scene.engine.containers.inspect(left) is not None
    scene.factory.engine("up", "--no-worker")
    assert look(scene) == 1
    assert scene.engine.containers.inspect(left) is None
    assert scene.is_running(job)
    scene.lands(job)


def test_a_run_alone_is_told_how_to_take_a_task_over_and_adopts_its_job(scene: Scene) -> None:
    _, job = scene.begin()
    before = scene.state
    refused = scene.run("--story", str(scene.story))
    said, _ = refused.communicate(timeout=60)
    assert refused.returncode == 4
    assert said.endswith(
        f"the engine drives this task; to take it over:  python -m engine export {TASK_ID}\n"
    )
    assert scene.factory.engine("export", TASK_ID) == f"{TASK_ID}: exported\n"
    assert scene.is_running(job)
    assert scene.state == before
    assert scene.is_free()
    process = scene.run("--story", str(scene.story))
    wait_for(lambda: "goes on at implement" in (process.stdout.readline() if process.stdout else ""), "it")
    scene.let_go(job)
    said, _ = process.communicate(timeout=120)
    assert process.returncode == 0, said
    scene.was_undisturbed()


@pytest.mark.parametrize(
    "number", [pytest.param(signal.SIGTERM, marks=pytest.mark.slow), signal.SIGKILL], ids=str
)
def test_the_engine_takes_over_a_job_whose_loop_is_gone(scene: Scene, number: signal.Signals) -> None:
    process = scene.run("--story", str(scene.story))
    job = scene.waiting_job()
    scene.factory.engine("up", "--no-worker")
    words = ("import", scene.task, *scene.words, "--story", str(scene.story))
    said = scene.factory.engine(*words, code=4)
    held = "another loop holds this task (task_locked); wait for it, or let `factory run --wait` do so"
    assert said == f"{TASK_ID}: {held}\n"
    before = scene.state
    process.send_signal(number)
    process.communicate(timeout=20)
    assert scene.is_running(job)
    scene.factory.engine(*words)
    scene.factory.worker()
    scene.attempt(1)
    assert scene.is_running(job)
    assert scene.state.attempt == before.attempt
    assert scene.state.counters == before.counters
    scene.lands(job)
