"""The workflow of one task: the loop's machine, its effects done by activities.

Limits: pure but for what Temporal does for it; every decision about the task is `loop.machine`'s.

Whoever changes it, `engine.delegating` or `engine.listening`: a task may have begun months ago, and its
history is replayed with the new code. What the workflow asks of Temporal (activities and their order,
timers, signals sent, search attributes) may change only behind `workflow.patched("NAME")`, whose old
branch goes once no history without it is left. A rule of the machine needs no patch: it goes by the
state's `machine_version`, which a task keeps. `tests/engine/test_histories.py` holds recorded lives
against it; `tests/tools/histories.py` records them anew, which is right only where a change is behind a
patch or nothing was released yet.
"""

import asyncio
from datetime import timedelta

from temporalio import workflow
from temporalio.exceptions import FailureError, is_cancelled_exception

from engine import messages as m
from engine import queues
from engine.delegating import Delegating
from engine.listening import LetGo
from instrument.schema.state import TaskState
from instrument.schema.vocabulary import Outcome, Stage, WaitedFor
from loop.machine.advance import advance, begin, cancel
from loop.machine.effects import Effect
from loop.machine.facts import CancelledFacts
from loop.machine.judge import forestall, judge
from loop.machine.plan import plan


@workflow.defn(name=queues.TASK_WORKFLOW)
class TaskWorkflow(Delegating):
    """One task from its gate to its end; a stop is a wait for an answer, however long."""

    @workflow.init
    def __init__(self, memory: m.Memory) -> None:
        super().__init__(memory)

    @workflow.run
    async def run(self, memory: m.Memory) -> m.TaskEnd:  # noqa: ARG002 - `__init__` has it
        """Carry the task to its end."""
        try:
            await self._pass_gate()
            end = await self._live()
        except LetGo as gone:
            end = gone.end
        except (asyncio.CancelledError, FailureError) as error:
            if not is_cancelled_exception(error):
                raise
            # From the server's own page, or its command line.
            end = m.TaskEnd(how="cancelled")
        await self._call(queues.LEAVE, m.Leaving(order=self._order))
        await self._call(queues.CLOSE, m.Closing(order=self._order, how=end.how))
        self._show("")
        return end

    async def _live(self) -> m.TaskEnd:
        answer = self._answers.pop(0) if self._answers else None
        while True:
            await self._open(answer)
            state = self._standing
            if not state.stage.is_terminal:
                await self._take_turn()
                state = await self._drive()
                await self._leave_turn()
            if state.stage is Stage.DONE:
                return m.TaskEnd(how="done", detail=state.merged or "")
            await self._call(queues.CLOSE, m.Closing(order=self._order))
            answer = await self._next_answer(state)

    async def _drive(self) -> TaskState:
        while not (state := self._standing).stage.is_terminal:
            if self._leaving or self._hold is not None:
                await self._pass_hold()
                continue
            if self._answers:
                await self._open(self._answers.pop(0), is_under_way=True)
                continue
            outcome = forestall(state)
            if outcome is not None:
                await self._settle(state, None, outcome, _stamped(advance(state, outcome, None)))
                continue
            effect = plan(state)
            await self._do(begin(state, effect), effect)
        return state

    async def _do(self, begun: TaskState, effect: Effect) -> None:
        self._state = begun
        self._show("")
        facts = (await self._run(m.Doing(order=self._order, begun=begun, effect=effect))).facts
        if isinstance(facts, CancelledFacts):
            await self._settle(begun, effect, None, cancel(begun, facts))
            raise LetGo("cancelled")
        outcome = judge(begun, facts)
        await self._settle(begun, effect, outcome, _stamped(advance(begun, outcome, facts)))

    async def _settle(
        self, before: TaskState, effect: Effect | None, outcome: Outcome | None, after: TaskState
    ) -> None:
        """Have it written down; what the effect left on its host goes after that."""
        settling = m.Settling(order=self._order, before=before, effect=effect, outcome=outcome, after=after)
        await self._call(queues.SETTLE, settling)
        self._state = after
        if effect is not None and effect.kind.is_job and after.attempt is None and self._host:
            await self._release(m.Released(run_id=before.run_id, key=effect.key), self._host)
            self._host = None

    async def _open(self, answer: m.Answer | None, *, is_under_way: bool = False) -> None:
        """Bring the task to where the answer leads; while that cannot be, wait until it can."""
        while True:
            self._asks += 1
            # What happens from here on may not have been seen by this look.
            self._is_poked = False
            opening = m.Opening(
                order=self._order,
                answer=answer,
                n=self._asks,
                is_under_way=is_under_way,
                waits=tuple(self._waits),
            )
            opened = await self._call(queues.OPEN, opening, m.Opened)
            if opened.state is not None:
                if answer is not None:
                    self._told[answer.id] = opened.refused
                self._state, self._ask = opened.state, opened.ask
                del self._waits[: len(opening.waits)]
                return
            if opened.waits:
                await self._wait(WaitedFor.TASK, "task", lambda: False, opened.waits, queues.MEND_AGAIN)

    async def _take_turn(self) -> None:
        ask = self._ask
        if ask is None:
            return
        await self._call(queues.ASK, m.Asking(repo=self._order.repo, ask=ask, build=self._order.build))
        await self._wait(WaitedFor.TASK, "turn", lambda: self._turn == ask.n)

    async def _leave_turn(self) -> None:
        self._turn = 0
        await self._call(queues.LEAVE, m.Leaving(order=self._order))

    async def _pass_gate(self) -> None:
        if self._order.phase is None:
            return
        await self._wait(
            WaitedFor.GATE, "gate", lambda: self._gate is not None, whose=lambda: _whose(self._gate)
        )
        if self._gate is not None and not self._gate.is_go:
            raise LetGo(
                "no_go", f"{self._gate.why} ({self._gate.who}, {self._gate.at_utc:%Y-%m-%d %H:%M} UTC)"
            )

    async def _pass_hold(self) -> None:
        """Between two effects: a task that is held stands in nobody's way."""
        if self._leaving:
            raise LetGo(self._leaving)
        held = self._hold
        await self._leave_turn()
        await self._wait(
            WaitedFor.HOLD, "hold", lambda: self._hold is None, whose=lambda: _whose(held, self._released)
        )
        await self._open(None, is_under_way=True)
        await self._take_turn()

    async def _next_answer(self, state: TaskState) -> m.Answer | None:
        """Wait for a person, or for what may have removed the cause; none is a bare look again."""
        reset = state.stop.retry_at_utc if state.stop else None
        self._show("person")
        within = None if reset is None else max(reset - workflow.now(), timedelta(seconds=1))
        await self._until(lambda: bool(self._answers) or self._is_poked, within)
        if workflow.info().is_continue_as_new_suggested():
            workflow.continue_as_new(self._memory())
        return self._answers.pop(0) if self._answers else None


def _stamped(state: TaskState) -> TaskState:
    """The machine knows no clock: the time of an end is put in here."""
    return state.model_copy(update={"ended_utc": workflow.now()}) if state.stage.is_terminal else state


def _whose(decided: m.Decision | None, released: m.Decision | None = None) -> m.Whose:
    return m.Whose(
        who=decided.who if decided else "",
        decided_utc=decided.at_utc if decided else None,
        released_by=released.who if released else "",
        released_utc=released.at_utc if released else None,
    )
