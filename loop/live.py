"""The live view of a run: its stages, the job that runs, what it costs, what it does.

Limits: for a terminal; is drawn when something is told, by no thread of its own. What `Progress` says in
lines scrolls by above it.
"""

import time
from collections.abc import Callable
from typing import TextIO

from rich.console import Group
from rich.text import Text

from instrument.money import show_usd
from instrument.schema.ledger import LedgerSummary
from instrument.schema.state import TaskState
from instrument.schema.vocabulary import Outcome, Stage
from instrument.show import plain, show_ms
from loop.display import Display, one_line
from loop.machine.effects import Effect
from loop.machine.facts import Facts
from loop.progress import Progress, bill_of

_STAGES = tuple(stage for stage in Stage if not stage.is_terminal and stage is not Stage.RESOLVE)
"""Those of every task's way; `resolve` is beside it."""


class LiveProgress(Progress):
    """Order of calls: as `Progress`; the view is there from the first effect until `close`, or the end."""

    def __init__(self, stream: TextIO, *, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(stream, clock=clock)
        self._display = Display(stream)
        self._state: TaskState | None = None
        self._limit_ms: int | None = None

    def began(self, state: TaskState, effect: Effect, *, resumed: bool) -> None:
        """Show the effect."""
        super().began(state, effect, resumed=resumed)
        self._state = state
        self._limit_ms = getattr(effect, "deadline_ms", None)
        self._draw(f"{self._label} …", "")

    def beats(self, elapsed_s: float, ledger: LedgerSummary, doing: str = "") -> None:
        """Show how far the job is."""
        # The view is the sign of life: no line is due.
        self._spoke = self._clock()
        super().beats(elapsed_s, ledger, doing)
        limit = "" if self._limit_ms is None else f" of {show_ms(self._limit_ms)}"
        self._draw(f"{self._label}  {show_ms(int(elapsed_s * 1000))}{limit}{bill_of(ledger)}", doing, ledger)

    def ended(self, before: TaskState, outcome: Outcome, after: TaskState, facts: Facts | None) -> None:
        """Say what came of it; after the last effect the view goes."""
        super().ended(before, outcome, after, facts)
        self._state = after
        if after.stage.is_terminal:
            self.close()
        elif self._display.is_shown:
            self._draw("…", "")

    def close(self) -> None:
        """Take the view away and give the cursor back."""
        self._display.close()

    def _say(self, text: str) -> None:
        if self._display.is_shown:
            self._display.say(text)
        else:
            super()._say(text)

    def _draw(self, job: str, doing: str, ledger: LedgerSummary | None = None) -> None:
        state = self._state
        if state is None:
            return
        spent = show_usd(
            state.spend.microusd + (ledger.settled_microusd if ledger else 0),
            lower_bound=state.spend.lower_bound,
        )
        rows = [self._stages(state.stage), one_line(f"{job}; {spent} in all")]
        if doing:
            rows.append(one_line(f"$ {plain(doing)}", "dim"))
        self._display.show(Group(*rows))

    def _stages(self, now: Stage) -> Text:
        """Those passed, the present one, those ahead; a task that was sent back has some ahead again."""
        passed, present = ("+ ", "> ") if self._display.console.options.ascii_only else ("✓ ", "▸ ")
        row = one_line("")
        climb = self._state.climb if self._state else None
        if now is Stage.RESOLVE and climb is not None:
            row.append(f"{present}{climb.step} looks into {climb.stop.reason}  ", "bold")
            now = climb.stop.stage
        for stage in _STAGES:
            if stage is now:
                row.append(f"{present}{stage}  ", "bold")
            elif _STAGES.index(stage) < _STAGES.index(now):
                row.append(f"{passed}{stage}  ", "green")
            else:
                row.append(f"{stage}  ", "dim")
        return row
