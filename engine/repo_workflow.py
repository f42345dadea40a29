"""The one workflow of a repo: it lets its tasks go, one after another or side by side.

Limits: holds who asked; who may go is decided by `engine.turns` and the claims in the home, which
loops outside the engine share.
"""

from contextlib import suppress

from temporalio import workflow
from temporalio.exceptions import ActivityError, ApplicationError, FailureError

from engine import messages as m
from engine import queues
from engine.delegating import briefly
from engine.turns import in_order


@workflow.defn(name=queues.REPO_WORKFLOW)
class RepoWorkflow:
    """Runs for as long as the server does; without anybody who waits it costs nothing."""

    @workflow.init
    def __init__(self, memory: m.RepoMemory) -> None:
        self._repo = memory.repo
        self._waiting = {ask.task_id: ask for ask in memory.waiting}
        self._lines: dict[str, str] = {}
        self._is_changed = bool(self._waiting)

    @workflow.run
    async def run(self, memory: m.RepoMemory) -> None:  # noqa: ARG002 - `__init__` has it
        """Look whenever somebody asks or leaves, and now and then while somebody waits."""
        while True:
            within = queues.LOOK_AGAIN if self._waiting else None
            with suppress(TimeoutError):
                await workflow.wait_condition(lambda: self._is_changed, timeout=within)
            self._is_changed = False
            await self._look()
            if workflow.info().is_continue_as_new_suggested() and not self._is_changed:
                waiting = tuple(self._waiting.values())
                workflow.continue_as_new(m.RepoMemory(repo=self._repo, waiting=waiting))

    async def _look(self) -> None:
        if not self._waiting:
            return
        looking = m.Looking(repo=self._repo, waiting=in_order(self._waiting.values()))
        turns = await self._turns(looking)
        asked = {ask.task_id: ask for ask in looking.waiting}
        for task_id in turns.granted:
            if self._waiting.get(task_id) == asked[task_id]:
                del self._waiting[task_id]
            self._lines.pop(task_id, None)
            await self._tell(task_id, "turn", asked[task_id].n)
        for task_id, line in turns.lines.items():
            if self._lines.get(task_id) != line:
                self._lines[task_id] = line
                await self._tell(task_id, "told", line)

    async def _turns(self, looking: m.Looking) -> m.Turns:
        """Who may go; nobody where the repository cannot be read, which the next look may find mended."""
        try:
            return await briefly(queues.GRANT, looking, m.Turns)
        except ActivityError as error:
            fault = error.cause.message if isinstance(error.cause, ApplicationError) else str(error)
            return m.Turns(lines={ask.task_id: fault for ask in looking.waiting})

    async def _tell(self, task_id: str, signal: str, argument: int | str) -> None:
        """A task that has ended meanwhile is told nothing; its claim is taken away at the next look."""
        try:
            await workflow.get_external_workflow_handle(task_id).signal(signal, argument)
        except FailureError:
            self._is_changed = True

    @workflow.signal
    def ask(self, ask: m.TurnAsk) -> None:
        """A task would go; a later ask of the same one replaces it."""
        self._waiting[ask.task_id] = ask
        self._is_changed = True

    @workflow.signal
    def left(self, task_id: str) -> None:
        """A task stands in nobody's way any more."""
        self._waiting.pop(task_id, None)
        self._lines.pop(task_id, None)
        self._is_changed = True
