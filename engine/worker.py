"""A worker process: workflows and short steps, one host's jobs, or both.

Limits: ends within two seconds of SIGTERM and leaves jobs running; the next worker of the host goes on
with them.
"""

import asyncio
import os
import signal
import socket
import sys
from collections.abc import Mapping
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from temporalio.client import Client
from temporalio.worker import FixedSizeSlotSupplier, Worker, WorkerDeploymentConfig, WorkerTuner
from temporalio.worker.workflow_sandbox import SandboxedWorkflowRunner, SandboxRestrictions

from engine import queues, versions
from engine.control import Control
from engine.hosts import HostWork
from engine.place import Place
from engine.reaper import reap_for_ever
from engine.repo_workflow import RepoWorkflow
from engine.room import Room, WhileRoom
from engine.workflow import TaskWorkflow
from jobs.runner import DockerJobs
from loop.canary import ensure_canary
from loop.progress import Progress
from loop.signals import Signals
from loop.slots import HOST_VARIABLE, host_of
from loop.world import real_world

HEARTBEAT_THROTTLE = timedelta(seconds=1)
"""The SDK's own minute would make a cancel wait for so long."""
LEAVE_S = 1.5
"""The most that a worker takes to tell the server that it goes."""
MANY = 100
READY = "worker: ready"
OURS = ("engine", "loop", "jobs", "proxy", "instrument", "genai_prices", "pathspec", "msgspec", "orjson")
"""What workflow code imports without a copy of its own in each sandbox; that it is pure, a test shows."""


@dataclass(frozen=True, slots=True)
class WorkerOptions:
    """What a worker is for."""

    home: Path
    host: str = ""
    """Label of the host; empty: this machine's own slots, under its own name."""
    slots: int | None = None
    roles: tuple[str, ...] = ("control", "jobs")

    @property
    def name(self) -> str:
        """Of the host, in the name of its queue."""
        return self.host or socket.gethostname()


def _canary_first(environment: Mapping[str, str]) -> None:
    """As before the first paid call of `factory run`: a new engine, agent or image lands a scripted task."""
    jobs, world = real_world(environment, Progress(sys.stderr), Signals())
    try:
        ensure_canary(world, jobs.combination)
    finally:
        jobs.close()


def place_of(options: WorkerOptions, environment: Mapping[str, str]) -> Place:
    """The surroundings of a worker; a host's label and slots are what loops outside the engine go by, too."""
    own = {**environment, "FACTORY_HOME": str(options.home)}
    if options.host:
        own[HOST_VARIABLE] = options.host
    if options.slots is not None:
        own["FACTORY_JOBS"] = str(options.slots)
    return Place(
        home=options.home,
        environment=own,
        now=lambda: datetime.now(UTC),
        jobs=lambda look: DockerJobs(on_progress=lambda _: look()),
        before_paid=lambda: _canary_first(own),
    )


async def run_worker(client: Client, options: WorkerOptions, place: Place) -> None:
    """Work until SIGTERM or SIGINT."""
    ended = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    stack = AsyncExitStack()
    build = versions.build_id(place.environment)
    for worker in _workers(client, options, place, versions.deployed(build)):
        await stack.enter_async_context(worker)
    current = await versions.enter(client, build)
    if current != build:
        sys.stderr.write(f"worker: version {build} waits for its canary; {current} is current\n")
    if "jobs" in options.roles:
        reaping = asyncio.create_task(reap_for_ever(client, place, options.name))
        stack.callback(reaping.cancel)
    sys.stderr.write(f"{READY}\n")
    sys.stderr.flush()
    await ended.wait()
    # A server that is away would keep us: whoever takes over notices then that no heartbeat comes.
    with suppress(TimeoutError, asyncio.CancelledError):
        await asyncio.wait_for(stack.aclose(), LEAVE_S)
    # Threads that wait for jobs are left behind: their containers go on.
    os._exit(0)


def _workers(
    client: Client, options: WorkerOptions, place: Place, deployed: WorkerDeploymentConfig
) -> list[Worker]:
    workers = []
    if "control" in options.roles:
        workers.append(
            Worker(
                client,
                deployment_config=deployed,
                task_queue=queues.CONTROL,
                workflows=[TaskWorkflow, RepoWorkflow],
                activities=Control(client, place).activities(),
                workflow_runner=SandboxedWorkflowRunner(
                    SandboxRestrictions.default.with_passthrough_modules(*OURS)
                ),
                max_concurrent_activities=MANY,
                max_heartbeat_throttle_interval=HEARTBEAT_THROTTLE,
                default_heartbeat_throttle_interval=HEARTBEAT_THROTTLE,
            )
        )
    if "jobs" in options.roles:
        workers += _host_workers(client, options, place, deployed)
    return workers


def _host_workers(
    client: Client, options: WorkerOptions, place: Place, deployed: WorkerDeploymentConfig
) -> list[Worker]:
    room = Room(host_of(place.home, place.environment, DockerJobs().load))
    work = HostWork(place, options.name, room)
    jobs = Worker(
        client,
        deployment_config=deployed,
        task_queue=queues.host_queue(options.name),
        activities=work.activities(),
        max_concurrent_activities=MANY,
        max_heartbeat_throttle_interval=HEARTBEAT_THROTTLE,
        default_heartbeat_throttle_interval=HEARTBEAT_THROTTLE,
    )
    placing = Worker(
        client,
        deployment_config=deployed,
        task_queue=queues.JOBS,
        activities=[work.place],
        max_concurrent_activity_task_polls=1,
        tuner=WorkerTuner.create_composite(
            workflow_supplier=FixedSizeSlotSupplier(1),
            activity_supplier=WhileRoom(room),
            local_activity_supplier=FixedSizeSlotSupplier(1),
            nexus_supplier=FixedSizeSlotSupplier(1),
        ),
    )
    return [jobs, placing]
