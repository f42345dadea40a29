"""Whether this host has room for one more job, and the slots that it keeps for jobs that are on their way.

Limits: the slots are the ones that loops outside the engine take, too; threads may share one object.
"""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from temporalio.worker import (
    CustomSlotSupplier,
    SlotMarkUsedContext,
    SlotPermit,
    SlotReleaseContext,
    SlotReserveContext,
)

from engine.queues import CLAIMED
from instrument.schema.vocabulary import EffectKind
from loop.machine.effects import Effect
from loop.session import Session
from loop.slotfiles import JobLease, Need
from loop.slots import Host, job_slot, try_job_slot

LOOK_S = 0.5
PLACED_S = 0.02


class Room:
    """One a worker process with the jobs role."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._lock = threading.Lock()
        self._kept: dict[str, tuple[float, JobLease]] = {}

    def has_room(self) -> bool:
        """One look; nothing is held afterwards."""
        self._forget_old()
        found = try_job_slot(self._host, Need(key=""))
        if not isinstance(found, JobLease):
            return False
        found.release()
        return True

    def keep(self, key: str, memory_bytes: int) -> bool:
        """Keep a slot for a job until it begins; whether there was one."""
        with self._lock:
            if key in self._kept:
                return True
            found = try_job_slot(self._host, Need(key=key, memory_bytes=memory_bytes))
            if isinstance(found, JobLease):
                self._kept[key] = (time.monotonic(), found)
            return isinstance(found, JobLease)

    def give_back(self, key: str) -> None:
        """Free a slot that was kept; one that is in use is freed by its user."""
        with self._lock:
            _, lease = self._kept.pop(key, (0.0, None))
        if lease is not None:
            lease.release()

    @contextmanager
    def slot(
        self, session: Session, effect: Effect, *, resumed: bool, look: Callable[[], None]
    ) -> Iterator[None]:
        """Hold the slot that was kept for a job, or wait for one; one that has begun never waits."""
        with self._lock:
            _, lease = self._kept.pop(effect.key, (0.0, None))
        if lease is not None:
            with lease:
                yield
            return
        need = Need(key=effect.key, memory_bytes=session.config.limits.memory_bytes)
        has_begun = resumed and effect.kind is not EffectKind.SET_UP
        with job_slot(self._host, need, None, has_begun=has_begun, interrupted=look):
            yield

    def _forget_old(self) -> None:
        """A job that did not come in the time that it had is not coming here."""
        with self._lock:
            late = time.monotonic() - CLAIMED.total_seconds()
            old = [key for key, (since, _) in self._kept.items() if since < late]
        for key in old:
            self.give_back(key)


class WhileRoom(CustomSlotSupplier):
    """Lets a worker ask for a job to place only while its host has room, and for one at a time.

    The server hands jobs out in the order of its queue, urgent ones first; one that were asked for
    without room would be out of that order.
    """

    def __init__(self, room: Room) -> None:
        self._room = room
        self._is_placing = False

    async def reserve_slot(self, ctx: SlotReserveContext) -> SlotPermit:  # noqa: ARG002
        """Wait until there is room."""
        # Other processes take and give back slots, too: there is nothing to be woken by.
        # Whoever else waits here may have been let go during the look.
        while (  # noqa: ASYNC110
            self._is_placing or not await asyncio.to_thread(self._room.has_room) or self._is_placing
        ):
            await asyncio.sleep(PLACED_S if self._is_placing else LOOK_S)
        self._is_placing = True
        return SlotPermit()

    def try_reserve_slot(self, ctx: SlotReserveContext) -> SlotPermit | None:  # noqa: ARG002
        """No short cut: a job is placed by way of the queue."""
        return None

    def mark_slot_used(self, ctx: SlotMarkUsedContext) -> None:
        """Nothing to note: the lease says it."""

    def release_slot(self, ctx: SlotReleaseContext) -> None:  # noqa: ARG002
        """The job has its place, and holds the lease; the next one may be asked for."""
        self._is_placing = False
