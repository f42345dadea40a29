"""What a task's workflow is told and asked, remembers and shows.

Limits: decides nothing about the task; see `engine.workflow` for what a change needs.
"""

import builtins
from collections.abc import Callable
from datetime import timedelta

from temporalio import workflow

from engine import messages as m
from engine import names
from instrument.schema.state import TaskState
from instrument.schema.vocabulary import Stage


class LetGo(Exception):  # noqa: N818 - no error: the task leaves the engine
    """The task leaves the engine as it stands."""

    def __init__(self, how: str, detail: str = "") -> None:
        super().__init__(how)
        self.end = m.TaskEnd(how=how, detail=detail)


class Listening:
    """Signals and queries; the methods that begin with an underscore are for the workflow itself."""

    def __init__(self, memory: m.Memory) -> None:
        self._order = memory.order
        self._state = memory.state
        self._seen = list(memory.seen)
        self._answers = list(memory.answers)
        self._told = dict(memory.told)
        self._gate, self._hold = memory.gate, memory.hold
        self._released: m.Decision | None = None
        self._asks = memory.asks
        self._host = memory.host or memory.order.host
        self._ask: m.TurnAsk | None = None
        self._turn = 0
        self._line = ""
        self._is_poked = False
        self._leaving = ""
        self._waits: list[m.Wait] = []
        carried = workflow.info().typed_search_attributes
        self._shown = {key.name: carried.get(key) or "" for key in names.ATTRIBUTES}

    @property
    def _standing(self) -> TaskState:
        if self._state is None:
            raise LetGo("cancelled", "the task never began")
        return self._state

    def _memory(self) -> m.Memory:
        return m.Memory(
            order=self._order,
            state=self._state,
            seen=tuple(self._seen),
            answers=tuple(self._answers),
            told=self._told,
            gate=self._gate,
            hold=self._hold,
            asks=self._asks,
            host=self._host,
        )

    def _show(self, waits: str) -> None:
        """What `engine status` reads, from the server alone."""
        state = self._state
        stop = state.stop.reason if state is not None and state.stop is not None else ""
        wanted = {
            names.STAGE.name: str(state.stage) if state is not None else "",
            names.STOP.name: stop,
            names.WAITS.name: waits,
            names.HOST.name: self._host or "",
        }
        changed = {name: value for name, value in wanted.items() if self._shown.get(name, "") != value}
        if changed:
            keys = {key.name: key for key in names.ATTRIBUTES}
            workflow.upsert_search_attributes(
                [
                    keys[name].value_set(value) if value else keys[name].value_unset()
                    for name, value in changed.items()
                ]
            )
            self._shown |= wanted

    async def _until(self, condition: Callable[[], bool], within: timedelta | None) -> None:
        try:
            await workflow.wait_condition(lambda: condition() or bool(self._leaving), timeout=within)
        except builtins.TimeoutError:
            return
        if self._leaving:
            raise LetGo(self._leaving)

    @workflow.signal
    def answer(self, answer: m.Answer) -> None:
        """A person's answer; one that answers no question is refused."""
        if answer.id in self._seen:
            return
        self._seen.append(answer.id)
        is_asked = self._state is not None and self._state.stage is Stage.STOPPED
        if answer.needs_a_stop and not is_asked:
            self._told[answer.id] = f"{self._order.task_id} is not stopped, so nothing is asked of you"
            return
        self._answers.append(answer)

    @workflow.signal
    def event(self, name: str, id_: str) -> None:
        """Something happened outside: whatever waits looks again; the same one counts once."""
        if f"{name}:{id_}" not in self._seen:
            self._seen.append(f"{name}:{id_}")
            self._is_poked = True

    @workflow.signal
    def decide(self, decision: m.Decision) -> None:
        """The owner's word on the task's phase; the first one counts."""
        self._gate = self._gate or decision

    @workflow.signal
    def hold(self, decision: m.Decision) -> None:
        """Stop between two effects, until it is released."""
        self._hold = self._hold or decision

    @workflow.signal
    def release(self, decision: m.Decision | None = None) -> None:
        """Go on after a hold; whoever says so may be unknown."""
        self._hold, self._released = None, decision

    @workflow.signal
    def turn(self, n: int) -> None:
        """The repo's workflow lets the task go."""
        self._turn = n

    @workflow.signal
    def told(self, line: str) -> None:
        """The repo's workflow says what the task waits for."""
        self._line = line

    @workflow.signal
    def leave(self, how: str) -> None:
        """Let go of the task: `cancelled` ends its job, `exported` leaves it."""
        self._leaving = self._leaving or how

    @workflow.query
    def refusal(self, answer_id: str) -> str | None:
        """Why an answer was refused; empty: it was taken; none: it was not looked at yet."""
        return self._told.get(answer_id)

    @workflow.query
    def line(self) -> str:
        """What the task waits for, in words."""
        return self._line
