"""The activities of one host: it says when it has room, does jobs, and cleans up after them.

Limits: jobs run in threads. A container is killed by `end` alone, which is asked for where a person
cancels: an activity that is cancelled, for whatever reason, leaves its thread and its container alone.
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import closing
from datetime import timedelta
from typing import Any

from temporalio import activity
from temporalio.exceptions import ApplicationError

from engine import ending, queues, steps
from engine import messages as m
from engine.control import as_faults
from engine.doings import Doings, Watch
from engine.place import DRIVER, Place, unwatched
from engine.room import Room
from instrument.schema.vocabulary import EffectKind
from loop.home import task_folder
from loop.ownership import driver_of

AGAIN = timedelta(seconds=1)
SETTLED_S = 10.0
"""How long a thread whose job was killed may take to collect it."""


class HostWork:
    """One a worker process with the jobs role."""

    def __init__(self, place: Place, host: str, room: Room) -> None:
        self._place = place
        self._host = host
        self._room = room
        self._doings = Doings()

    def activities(self) -> Sequence[Callable[..., Any]]:
        """Those of this host's own queue."""
        return (self.release, self.end, *(self._effect(kind) for kind in EffectKind if kind.is_job))

    @activity.defn(name=queues.PLACE)
    async def place(self, doing: m.Doing) -> str:
        """Keep a slot for this job and say where; the queue's worker asks only while there is room."""

        def go() -> bool:
            return self._room.keep(doing.effect.key, steps.memory_of(self._place, doing.order))

        if not await asyncio.to_thread(as_faults(go)):
            # A loop outside the engine was quicker.
            raise ApplicationError(f"{self._host} has no room any more", next_retry_delay=AGAIN)
        return self._host

    @activity.defn(name=queues.RELEASE)
    async def release(self, released: m.Released) -> None:
        """Take away what a job left in the engine, once its end is written down."""
        self._room.give_back(released.key)

        def go() -> None:
            with closing(self._place.jobs(unwatched)) as jobs:
                jobs.release(released.run_id, released.key)

        await asyncio.to_thread(go)

    @activity.defn(name=queues.END)
    async def end(self, doing: m.Doing) -> m.Found:
        """Kill a job, also one that no thread of ours waits for, and find out what it had cost."""
        begun = self._doings.find(doing.effect.key)
        if begun is not None:
            begun.watch.end()
        await asyncio.to_thread(ending.kill_job, self._place, doing)
        if begun is not None:
            await begun.over(SETTLED_S)
        cancel = as_faults(lambda: ending.cancel_job(self._place, doing))
        return m.Found(facts=await asyncio.to_thread(cancel))

    def _effect(self, kind: EffectKind) -> Callable[..., Any]:
        @activity.defn(name=kind.value)
        async def do(doing: m.Doing) -> m.Found:
            return await self._do(doing)

        return do

    async def _do(self, doing: m.Doing) -> m.Found:
        folder = task_folder(self._place.home, doing.order.task_id)
        begun = self._doings.join(
            doing.effect.key,
            lambda: Watch(lambda: driver_of(folder) == DRIVER, self._room.slot),
            lambda watch: as_faults(lambda: steps.do_effect(self._place, doing, watch))(),
        )
        # Where this is cancelled the thread goes on: the next attempt joins it, or adopts its container.
        return await begun.beating()
