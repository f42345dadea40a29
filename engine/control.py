"""The activities of the control role: git, what is written down, and which tasks of a repo go at once.

Limits: each is one call of `engine.steps` or `engine.claims` in a thread; may be called again after a
crash with the same argument.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from temporalio import activity
from temporalio.client import Client
from temporalio.exceptions import ApplicationError

from engine import claims, ending, queues, steps, versions
from engine import messages as m
from engine.alerts import alert
from engine.doings import Abandoned, Doings, Watch
from engine.errors import or_none
from engine.place import FAULTS, Place
from engine.workflow import TaskWorkflow
from instrument.schema.vocabulary import EffectKind
from loop.running import withdraw

R = TypeVar("R")


class Control:
    """One a worker process."""

    def __init__(self, client: Client, place: Place) -> None:
        self._client = client
        self._place = place
        self._doings = Doings()

    def activities(self) -> Sequence[Callable[..., Any]]:
        """All of them, for a worker."""
        kinds = [kind for kind in EffectKind if not kind.is_job]
        return (
            self.open,
            self.settle,
            self.note,
            self.close,
            self.ask,
            self.grant,
            self.leave,
            self.alert,
            self.end,
            *(self._effect(kind) for kind in kinds),
        )

    @activity.defn(name=queues.OPEN)
    async def open(self, opening: m.Opening) -> m.Opened:
        """See `steps.open_task`."""
        return await self._in_thread(lambda: steps.open_task(self._place, opening))

    @activity.defn(name=queues.SETTLE)
    async def settle(self, settling: m.Settling) -> None:
        """See `steps.settle`."""
        await self._in_thread(lambda: steps.settle(self._place, settling))

    @activity.defn(name=queues.NOTE)
    async def note(self, noting: m.Noting) -> None:
        """See `steps.note`."""
        await self._in_thread(lambda: steps.note(self._place, noting))

    @activity.defn(name=queues.CLOSE)
    async def close(self, closing: m.Closing) -> None:
        """See `ending.close`."""
        await self._in_thread(lambda: ending.close(self._place, closing))

    @activity.defn(name=queues.ALERT)
    async def alert(self, told: m.Alert) -> None:
        """See `alerts.alert`."""
        await self._in_thread(lambda: alert(self._place, told))

    @activity.defn(name=queues.ASK)
    async def ask(self, asking: m.Asking) -> None:
        """Put an ask before its repo's workflow, which begins where it is not there."""
        await self._client.start_workflow(
            queues.REPO_WORKFLOW,
            args=[m.RepoMemory(repo=asking.repo)],
            id=queues.repo_workflow_id(asking.repo),
            task_queue=queues.CONTROL,
            versioning_override=versions.pinned(asking.build) if asking.build else None,
            start_signal="ask",
            start_signal_args=[asking.ask],
        )

    @activity.defn(name=queues.GRANT)
    async def grant(self, looking: m.Looking) -> m.Turns:
        """See `claims.grant`; claims of tasks that have left the engine are taken away first."""
        claimed = claims.claimed(self._place.home, looking.repo)
        gone = [task_id for task_id in claimed if not await is_open(self._client, task_id)]

        def go() -> m.Turns:
            for task_id in gone:
                withdraw(self._place.home, looking.repo, task_id)
            return claims.grant(self._place, looking)

        return await self._in_thread(go)

    @activity.defn(name=queues.LEAVE)
    async def leave(self, leaving: m.Leaving) -> None:
        """Take a task's claim away, and let its repo's workflow look again."""
        order = leaving.order
        await self._in_thread(lambda: withdraw(self._place.home, order.repo, order.task_id))
        handle = self._client.get_workflow_handle(queues.repo_workflow_id(order.repo))
        await or_none(handle.signal("left", order.task_id))

    @activity.defn(name=queues.END)
    async def end(self, doing: m.Doing) -> m.Found:
        """See `ending.cancel_job`; asked for where the job's host does not answer."""
        facts = await self._in_thread(lambda: ending.cancel_job(self._place, doing))
        return m.Found(facts=facts)

    def _effect(self, kind: EffectKind) -> Callable[..., Any]:
        @activity.defn(name=kind.value)
        async def do(doing: m.Doing) -> m.Found:
            return await self._in_thread(lambda: steps.do_effect(self._place, doing, Watch(lambda: True)))

        return do

    async def _in_thread(self, step: Callable[[], R]) -> R:
        info = activity.info()
        key = f"{info.workflow_run_id}/{info.activity_id}"
        work = as_faults(step)
        return await self._doings.join(key, lambda: Watch(lambda: True), lambda _: work()).beating()


def as_faults(step: Callable[[], R]) -> Callable[[], R]:
    """The same, with what a person has to mend as the error that no retry touches."""

    def go() -> R:
        try:
            return step()
        except FAULTS as error:
            raise ApplicationError(str(error), type=queues.FAULT, non_retryable=True) from error
        except Abandoned:
            raise ApplicationError("this is not the engine's any more", non_retryable=True) from None

    return go


async def is_open(client: Client, task_id: str) -> bool:
    """Whether the engine still carries this task."""
    found = await or_none(client.get_workflow_handle_for(TaskWorkflow.run, task_id).describe())
    return found is not None and found.close_time is None
