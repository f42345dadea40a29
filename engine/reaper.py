"""Takes away what tasks left on this host that nobody waits for any more.

Limits: pods of this home's tasks alone; a task's pod stays while its state names its key, which it does
from before the pod is made until its end is written down. Nothing at all is touched while the server
does not answer.
"""

import asyncio
import sys
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

from temporalio.client import Client, WorkflowExecutionDescription

from engine import ending, names
from engine import messages as m
from engine.errors import or_none
from engine.place import DRIVER, FAULTS, Place
from engine.standing import order_of
from engine.workflow import TaskWorkflow
from instrument.found import find_tasks
from instrument.states import read_state
from jobs.engine import Engine
from jobs.orphans import look_at_pods, remove_pod
from loop.errors import BusyError
from loop.ownership import driver_of
from loop.running import withdraw

EVERY_S = 60.0
ELSEWHERE = timedelta(minutes=10)
"""For so long the job of another host is left to the worker of that host."""


async def reap_for_ever(client: Client, place: Place, host: str, every_s: float = EVERY_S) -> None:
    """Look at once, then again and again, until cancelled."""
    while True:
        try:
            await reap(client, place, host)
        except Exception as error:  # noqa: BLE001 - whatever it is, the next look may go better
            sys.stderr.write(f"worker: no look for what is left: {error}\n")
        await asyncio.sleep(every_s)


async def reap(client: Client, place: Place, host: str) -> int:
    """One look; how many pods went.

    Raises:
        RPCError: The server does not say who needs what; nothing was touched since.
        JobsError: The container engine does not answer.
    """
    for task_id in await asyncio.to_thread(_driven, place.home):
        order = await _order_left(client, task_id, host)
        if order is not None:
            await asyncio.to_thread(_abandon, place, order)
    await client.service_client.check_health()
    return await asyncio.to_thread(_remove_left, place.home)


def _driven(home: Path) -> list[str]:
    """Tasks with the engine's mark."""
    folders = sorted((home / "tasks").glob("*/state.json"))
    return [path.parent.name for path in folders if driver_of(path.parent) == DRIVER]


async def _order_left(client: Client, task_id: str, host: str) -> m.TaskOrder | None:
    """The order of a task whose workflow is over without having let go of it; none: it is under way."""
    handle = client.get_workflow_handle_for(TaskWorkflow.run, task_id)
    found = await or_none(handle.describe())
    if found is None or found.close_time is None or _is_of_another(found, host):
        return None
    return await order_of(client, task_id)


def _is_of_another(found: WorkflowExecutionDescription, host: str) -> bool:
    where = found.typed_search_attributes.get(names.HOST)
    is_fresh = found.close_time is not None and datetime.now(UTC) - found.close_time < ELSEWHERE
    return is_fresh and where is not None and where != host


def _abandon(place: Place, order: m.TaskOrder) -> None:
    try:
        ending.abandon(place, order)
    except (BusyError, *FAULTS) as error:
        sys.stderr.write(f"worker: {order.task_id} cannot be let go of yet: {error}\n")
        return
    withdraw(place.home, order.repo, order.task_id)


def _remove_left(home: Path) -> int:
    """Remove the pods of settled keys; of what another home has on the engine nothing."""
    with closing(Engine.connect()) as engine:
        fates = look_at_pods(engine, home, datetime.now(UTC))
        ours = _runs(home)
        left = [fate.pod for fate in fates if not fate.is_kept and fate.pod.run_id in ours]
        for pod in left:
            remove_pod(engine, pod)
    return len(left)


def _runs(home: Path) -> set[str]:
    states = (read_state(folder)[0] for task in find_tasks(home) for folder in task.folders)
    return {state.run_id for state in states if state is not None}
