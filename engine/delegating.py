"""How a task's workflow has things done: short steps by any worker, jobs on a host, waits on the record.

Limits: decides nothing about the task; see `engine.workflow` for what a change needs.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta
from typing import TypeVar

from pydantic import BaseModel
from temporalio import workflow
from temporalio.exceptions import (
    ActivityError,
    ApplicationError,
    TimeoutError,  # noqa: A004 - the server's, which says what timed out
    TimeoutType,
)

from engine import messages as m
from engine import queues
from engine.listening import LetGo, Listening
from instrument.schema.vocabulary import WaitedFor

LEAST_WAIT = timedelta(seconds=1)
"""A shorter wait is not worth a line of the record."""
R = TypeVar("R", bound=BaseModel)


class Delegating(Listening):
    """Activities, where they run, and what becomes of it where nobody does them."""

    async def _run(self, doing: m.Doing) -> m.Found:
        """Do an effect where it has to be done; a host that does not begin it is taken for dead."""
        if not doing.effect.kind.is_job:
            return await self._call(doing.effect.kind.value, doing, m.Found)
        while True:
            try:
                self._host = self._host or await self._place(doing)
                self._show("")
                return await self._run_job(doing, self._host)
            except ActivityError as error:
                if _fault_of(error):
                    await self._mend(_fault_of(error))
                elif not _never_began(error):
                    raise
                self._host = None

    async def _run_job(self, doing: m.Doing, host: str) -> m.Found:
        job: workflow.ActivityHandle[m.Found] = workflow.start_activity(
            doing.effect.kind.value,
            doing,
            result_type=m.Found,
            task_queue=queues.host_queue(host),
            schedule_to_start_timeout=self._order.claimed,
            start_to_close_timeout=queues.LONGEST_JOB,
            heartbeat_timeout=queues.HEARTBEAT,
            retry_policy=queues.RETRY,
            cancellation_type=workflow.ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
        )
        try:
            await workflow.wait_condition(lambda: job.done() or bool(self._leaving))
        except asyncio.CancelledError:
            self._leaving = "cancelled"
        if self._leaving == "exported" and not job.done():
            # Its container is left alone: whoever takes the task over finds it by the same key.
            raise LetGo("exported")
        if self._leaving and not job.done():
            job.cancel()
            found = await self._end_job(doing, host)
            with suppress(ActivityError):
                await job
            return found
        return await job

    async def _end_job(self, doing: m.Doing, host: str) -> m.Found:
        """Have a job killed and what it had cost kept; without its host, by whoever may reach it."""
        try:
            ended: m.Found = await workflow.execute_activity(
                queues.END,
                doing,
                result_type=m.Found,
                task_queue=queues.host_queue(host),
                schedule_to_start_timeout=self._order.claimed,
                start_to_close_timeout=queues.MOMENT,
                retry_policy=queues.RETRY,
            )
        except ActivityError:
            # Where nobody does, its cost is a lower bound, and its host removes it when it comes back.
            self._host = None
            return await self._call(queues.END, doing, m.Found)
        return ended

    async def _place(self, doing: m.Doing) -> str:
        began = workflow.now()
        self._show("slot")
        placed: workflow.ActivityHandle[str] = workflow.start_activity(
            queues.PLACE,
            doing,
            result_type=str,
            task_queue=queues.JOBS,
            start_to_close_timeout=queues.MOMENT,
            retry_policy=queues.RETRY,
            priority=queues.priority(self._order.repo, urgent=self._order.urgent),
        )
        await self._until(placed.done, None)
        await self._note(WaitedFor.SLOT, began)
        return await placed

    async def _release(self, released: m.Released, host: str) -> None:
        """A host that is gone keeps it: its worker looks for leftovers when it comes back."""
        try:
            await workflow.execute_activity(
                queues.RELEASE,
                released,
                task_queue=queues.host_queue(host),
                schedule_to_close_timeout=self._order.claimed,
                start_to_close_timeout=queues.MOMENT,
                retry_policy=queues.RETRY,
            )
        except ActivityError:
            workflow.logger.warning("the host of %s did not clean up", released.key)

    async def _call(self, name: str, argument: BaseModel, result: type[R] | None = None) -> R:
        """Have a short activity done by any worker of the control role."""
        while True:
            try:
                return await briefly(name, argument, result)
            except ActivityError as error:
                if not _fault_of(error):
                    raise
                await self._mend(_fault_of(error))

    async def _mend(self, fault: str) -> None:
        """One alert a repo, then a wait until somebody has mended what cannot be read."""
        await briefly(queues.ALERT, m.Alert(order=self._order, fault=fault))
        await self._wait(WaitedFor.FAULT, "fault", lambda: False, fault, queues.MEND_AGAIN)
        self._is_poked = False

    async def _wait(
        self,
        what: WaitedFor,
        shown: str,
        condition: Callable[[], bool],
        line: str = "",
        again: timedelta | None = None,
        whose: Callable[[], m.Whose] = m.Whose,
    ) -> None:
        """Wait until the condition holds; where there is `again`, a poke or that time end it, too."""
        began = workflow.now()
        self._line = line
        self._show(shown)
        await self._until(lambda: condition() or (again is not None and self._is_poked), again)
        self._line = ""
        self._show("")
        await self._note(what, began, whose())

    async def _note(self, what: WaitedFor, began: datetime, whose: m.Whose | None = None) -> None:
        """Have the wait recorded; before the task has a record, as soon as it has one."""
        waited = workflow.now() - began
        if waited < LEAST_WAIT:
            return
        ms = round(waited / timedelta(milliseconds=1))
        said = whose.model_dump() if whose else {}
        self._waits.append(m.Wait(what=what, duration_ms=ms, ended_utc=workflow.now(), **said))
        if self._state is not None:
            waits, self._waits = self._waits, []
            await self._call(queues.NOTE, m.Noting(order=self._order, waits=tuple(waits)))


async def briefly(name: str, argument: BaseModel, result: type[R] | None = None) -> R:
    """Have a short activity done by any worker of the control role, as often as it takes.

    Raises:
        ActivityError: A person has to mend something first.
    """
    found: R = await workflow.execute_activity(
        name,
        argument,
        result_type=result,
        start_to_close_timeout=queues.BRIEF,
        heartbeat_timeout=queues.HEARTBEAT,
        retry_policy=queues.RETRY,
    )
    return found


def _fault_of(error: ActivityError) -> str:
    cause = error.cause
    return cause.message if isinstance(cause, ApplicationError) and cause.type == queues.FAULT else ""


def _never_began(error: ActivityError) -> bool:
    """Whether no worker of the host took it in time."""
    cause = error.cause
    return isinstance(cause, TimeoutError) and cause.type is TimeoutType.SCHEDULE_TO_START
