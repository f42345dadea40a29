"""The engine's own workflows on activities that answer from stories: no Docker, no git, no disk.

What a person's answer does to a task is the machine's own `resume`; whoever asks for a turn has it.
"""

import asyncio
import signal
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from temporalio import activity
from temporalio.client import Client, WorkflowHandle
from temporalio.worker import Worker, WorkflowRunner
from temporalio.worker.workflow_sandbox import SandboxedWorkflowRunner, SandboxRestrictions

from engine import messages as m
from engine import queues, versions
from engine.connect import Address, connect
from engine.facts_file import slim
from engine.repo_workflow import RepoWorkflow
from engine.worker import OURS
from engine.workflow import TaskWorkflow
from instrument.schema.state import TaskState
from instrument.schema.vocabulary import EffectKind, Outcome, Stage
from loop.machine.facts import CancelledFacts
from loop.machine.resume import allow, grant, park, record_ruling, resume
from support.ends import START
from support.lives import Move, Scripted, new_state

HOST = "box"
Step = tuple[Stage, Outcome | None, Stage]


def continued(state: TaskState, answer: m.Answer | None, now: datetime) -> TaskState:
    """Where an answer leads from a stop; it stays where it leads nowhere."""
    if state.stage is not Stage.STOPPED:
        return state
    answer = answer or m.Answer(id="")
    if answer.park is not None:
        return park(state, answer.park)
    for text in answer.rulings:
        state = record_ruling(state, text, finding=None)
    if answer.rulings:
        return resume(state, "ruling") or state
    for glob in answer.allow:
        state = allow(state, glob)
    if answer.allow:
        return resume(state, "allow") or state
    for counter, value in answer.grants:
        state = grant(state, counter, value)
        return resume(state, "grant", counter=counter) or state
    if answer.auto_merge:
        return resume(state.model_copy(update={"authorised": True}), "auto_merge") or state
    if state.stop is not None and state.stop.retry_at_utc is not None and now < state.stop.retry_at_utc:
        return state
    return resume(state, "rerun") or state


@dataclass
class Tale:
    """One task: what happens to it, and what came of that."""

    state: TaskState
    shell: Scripted
    trail: list[Step] = field(default_factory=list)
    found: dict[str, m.Found] = field(default_factory=dict)
    waits: list[m.Wait] = field(default_factory=list)
    closed: list[str] = field(default_factory=list)
    """How the engine let go of it; empty: it stood still."""
    answers: list[str] = field(default_factory=list)
    """Ids of the answers that it was opened with."""
    left: int = 0
    asked: int = 0

    async def stands(self) -> bool:
        """Whether it stood still, or was let go of, at least once."""
        return bool(self.closed)

    async def has_left(self) -> bool:
        """Whether it gave its turn back."""
        return self.left > 0


class Fakes:
    """The activities; a test looks at its tales, and may hold back an effect or every turn."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.tales: dict[str, Tale] = {}
        self.reached: set[tuple[str, EffectKind]] = set()
        self.held: dict[EffectKind, asyncio.Event] = {}
        self.has_turns = True
        self.now: Callable[[], datetime] = lambda: START

    def tell(self, state: TaskState, **moves: Iterable[Move]) -> Tale:
        """Add a task with what happens to it."""
        by_kind = {EffectKind[name.upper()]: list(each) for name, each in moves.items()}
        tale = self.tales[state.task_id] = Tale(state, Scripted(by_kind))
        return tale

    @activity.defn(name=queues.OPEN)
    async def open(self, opening: m.Opening) -> m.Opened:
        tale = self.tales[opening.order.task_id]
        tale.waits += opening.waits
        if opening.answer is not None:
            tale.answers.append(opening.answer.id)
        state = tale.state = continued(tale.state, opening.answer, self.now())
        return m.Opened(state=state, ask=None if state.stage.is_terminal else self._ask(opening))

    def _ask(self, opening: m.Opening) -> m.TurnAsk:
        order = opening.order
        return m.TurnAsk(
            task_id=order.task_id,
            n=opening.n,
            asked_utc=START,
            urgent=order.urgent,
            checkout=order.checkout,
            task=order.task,
            files=(),
            generated=(),
            must_pass=(),
            count=1,
        )

    @activity.defn(name=queues.SETTLE)
    async def settle(self, settling: m.Settling) -> None:
        tale = self.tales[settling.order.task_id]
        if tale.state.seq != settling.after.seq:
            tale.trail.append((settling.before.stage, settling.outcome, settling.after.stage))
        tale.state = settling.after

    @activity.defn(name=queues.NOTE)
    async def note(self, noting: m.Noting) -> None:
        self.tales[noting.order.task_id].waits += noting.waits

    @activity.defn(name=queues.CLOSE)
    async def close(self, closing: m.Closing) -> None:
        self.tales[closing.order.task_id].closed.append(closing.how)

    @activity.defn(name=queues.ASK)
    async def ask(self, asking: m.Asking) -> None:
        self.tales[asking.ask.task_id].asked += 1
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
        ids = tuple(ask.task_id for ask in looking.waiting)
        return m.Turns(granted=ids) if self.has_turns else m.Turns(lines=dict.fromkeys(ids, "waits"))

    @activity.defn(name=queues.LEAVE)
    async def leave(self, leaving: m.Leaving) -> None:
        self.tales[leaving.order.task_id].left += 1

    @activity.defn(name=queues.ALERT)
    async def alert(self, told: m.Alert) -> None: ...

    @activity.defn(name=queues.PLACE)
    async def place(self, doing: m.Doing) -> str:  # noqa: ARG002
        return HOST

    @activity.defn(name=queues.RELEASE)
    async def release(self, released: m.Released) -> None: ...

    @activity.defn(name=queues.END)
    async def end(self, doing: m.Doing) -> m.Found:
        return m.Found(facts=CancelledFacts(key=doing.effect.key, end=None, signal=signal.SIGINT))

    def _effect(self, kind: EffectKind) -> Callable[..., Any]:
        @activity.defn(name=kind.value)
        async def do(doing: m.Doing) -> m.Found:
            return await self._do(doing)

        return do

    async def _do(self, doing: m.Doing) -> m.Found:
        tale, effect = self.tales[doing.order.task_id], doing.effect
        self.reached.add((doing.order.task_id, effect.kind))
        await self._pass(effect.kind)
        if effect.key not in tale.found:
            facts = tale.shell.perform(doing.begun, effect, resumed=False)
            tale.found[effect.key] = m.Found(facts=slim(facts))
        return tale.found[effect.key]

    async def _pass(self, kind: EffectKind) -> None:
        if kind not in self.held:
            return
        while not self.held[kind].is_set():
            activity.heartbeat()
            await asyncio.wait([asyncio.ensure_future(self.held[kind].wait())], timeout=0.1)

    @property
    def control(self) -> list[Callable[..., Any]]:
        """Activities of the control role."""
        short = [self.open, self.settle, self.note, self.close, self.ask, self.grant, self.leave, self.alert]
        return [*short, self.end, *(self._effect(kind) for kind in EffectKind if not kind.is_job)]

    @property
    def of_host(self) -> list[Callable[..., Any]]:
        """Activities of the one host."""
        return [self.release, self.end, *(self._effect(kind) for kind in EffectKind if kind.is_job)]


def passing_through() -> WorkflowRunner:
    """The sandbox as workers have it."""
    return SandboxedWorkflowRunner(SandboxRestrictions.default.with_passthrough_modules(*OURS))


@asynccontextmanager
async def working(
    client: Client,
    fakes: Fakes,
    *,
    runner: WorkflowRunner | None = None,
    build: str | None = None,
) -> AsyncIterator[None]:
    """Workers for all queues until the end of the block; of no version, or of one."""
    options: dict[str, Any] = {
        "max_heartbeat_throttle_interval": timedelta(seconds=0.2),
        "deployment_config": versions.deployed(build) if build else None,
    }
    async with AsyncExitStack() as stack:
        control = Worker(
            client,
            task_queue=queues.CONTROL,
            workflows=[TaskWorkflow, RepoWorkflow],
            activities=fakes.control,
            workflow_runner=runner or passing_through(),
            **options,
        )
        placing = Worker(client, task_queue=queues.JOBS, activities=[fakes.place], **options)
        host = Worker(client, task_queue=queues.host_queue(HOST), activities=fakes.of_host, **options)
        for worker in (control, placing, host):
            await stack.enter_async_context(worker)
        yield


@asynccontextmanager
async def working_at(address: Address) -> AsyncIterator[tuple[Client, Fakes]]:
    """The same at a server that others reach, too, with fakes that have no task yet."""
    client = await connect(address)
    fakes = Fakes(client)
    async with working(client, fakes):
        yield client, fakes


def order(task_id: str, **changes: Any) -> m.TaskOrder:
    """A task that was handed over; its repo is its own, so that no other test's stands before it."""
    fields = {"task_id": task_id, "repo": f"of-{task_id}", "checkout": "/checkout", "task": "tasks/001-x.md"}
    return m.TaskOrder(**(fields | changes))


async def hand_over(client: Client, task_id: str, **changes: Any) -> WorkflowHandle[Any, m.TaskEnd]:
    """Begin a task's workflow."""
    given = order(task_id, **changes)
    return await client.start_workflow(
        TaskWorkflow.run,
        args=[m.Memory(order=given)],
        id=task_id,
        task_queue=queues.CONTROL,
        versioning_override=versions.pinned(given.build) if given.build else None,
    )


def state_of(task_id: str, **changes: Any) -> TaskState:
    """A task that has just been created, under a name of its own."""
    return new_state(task_id=task_id, repo=f"of-{task_id}", **changes)
