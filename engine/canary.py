"""The engine's canary: the demo's task, landed by a new version of our code before that gets any other task.

Costs nothing: the scripted provider answers. Limits: a repo and a name of its own each time; what bears
that name in the home goes once it has landed, and stays where it has not.
"""

import asyncio
import re
import secrets
import shutil
import time
from contextlib import suppress
from pathlib import Path

from temporalio.client import Client
from temporalio.service import RPCError

from engine import messages as m
from engine import queues, versions
from engine.handing import start
from engine.standing import Standing, standing_of
from engine.workflow import TaskWorkflow
from instrument.schema.vocabulary import Purpose
from loop.canary import CanaryError
from loop.demo import EXAMPLE, STORY, TASK
from loop.git.seed import seed_repository
from loop.home import make_private

LAND_S = 900.0
"""It may have to build the images first."""
POLL_S = 0.5
NAME = re.compile(r'^name = ".*"$', re.MULTILINE)


async def promote(client: Client, home: Path, build: str) -> None:
    """Make this version current, if its canary lands; where it is current already, nothing is done.

    Raises:
        CanaryError: It did not land; the old version stays current.
        EngineError: No worker of this version has come up.
    """
    if await versions.enter(client, build) != build:
        await run_canary(client, home, build)
        await versions.make_current(client, build)


async def run_canary(client: Client, home: Path, build: str) -> None:
    """Land the demo's task in a workflow that is pinned to this version.

    Raises:
        CanaryError: It did not land.
        EngineError: No worker of this version has come up.
    """
    if not EXAMPLE.is_dir():
        return  # Installed without the examples: there is nothing to land.
    name = f"canary-{secrets.token_hex(4)}"
    folder = make_private(home / "canary") / name
    order = await asyncio.to_thread(_order, folder, name, build)
    try:
        await _land(client, order, build, home)
    finally:
        await _end(client, order.task_id)
        await _end(client, queues.repo_workflow_id(name))
    await asyncio.to_thread(clear, home, name)


def clear(home: Path, name: str) -> None:
    """Take away whatever a canary made: clones, locks, claims, its task's record."""
    for path in home.glob(f"*/{name}*"):
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def _order(folder: Path, name: str, build: str) -> m.TaskOrder:
    """A copy of the demo under a name that no other task has."""
    source = folder / "source"
    shutil.copytree(EXAMPLE, source)
    config = source / "factory.toml"
    config.write_text(NAME.sub(f'name = "{name}"', config.read_text(encoding="utf-8"), count=1))
    seed_repository(source, folder / name, folder / "origin.git")
    return m.TaskOrder(
        task_id=f"{name}-001",
        repo=name,
        checkout=str(folder / name),
        task=TASK,
        auto_merge=True,
        story=str(STORY),
        purpose=Purpose.CANARY,
        urgent=True,
        build=build,
    )


async def _land(client: Client, order: m.TaskOrder, build: str, home: Path) -> None:
    see = f"see {order.checkout} and {home / 'tasks' / order.task_id}"
    await versions.when_known(build, lambda: start(client, order))
    deadline = time.monotonic() + LAND_S
    while (found := await _standing(client, order.task_id)) is not None:
        if found.waits in ("person", "fault") or time.monotonic() > deadline:
            why = found.stop or ("a fault" if found.waits else "no end in time")
            raise CanaryError(
                f"The canary of version {build} did not land ({why}): the version before it stays; {see}."
            )
        await asyncio.sleep(POLL_S)
    end = await client.get_workflow_handle_for(TaskWorkflow.run, order.task_id).result()
    if end.how != "done":
        raise CanaryError(f"The canary of version {build} was {end.how}: the version before it stays; {see}.")


async def _standing(client: Client, task_id: str) -> Standing | None:
    """How it stands; none: it has ended."""
    found = await client.get_workflow_handle(task_id).describe()
    return standing_of(found) if found.close_time is None else None


async def _end(client: Client, workflow_id: str) -> None:
    """A workflow that nobody needs any more; it may never have begun, or be over."""
    with suppress(RPCError):
        await client.get_workflow_handle(workflow_id).terminate("the canary is over")
