"""How far a bake-off is, on one line: lively on a terminal, else two lines a cell.

Limits: is drawn when something is told, by no thread of its own.
"""

import time
from collections.abc import Callable, Mapping
from io import StringIO
from typing import TextIO

from instrument.money import show_usd
from instrument.schema.ledger import LedgerSummary
from instrument.schema.state import TaskState
from instrument.schema.vocabulary import Outcome
from instrument.show import show_ms
from loop.display import Display, one_line
from loop.machine.effects import FOLDER_LABELS, Effect
from loop.machine.facts import Facts
from loop.progress import Progress, bill_of

SIGN_OF_LIFE_S = 60


class BakeoffProgress(Progress):
    """Order of calls: `cell`, then what its run tells, and so on; `close` at the end, or before a trace."""

    def __init__(
        self, stream: TextIO, *, is_live: bool = False, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__(stream, clock=clock)
        self._head = ""
        self._job = ""
        self._display = Display(stream) if is_live else None

    def cell(self, head: str) -> None:
        """A cell begins; `head` names it."""
        self._head = head
        self._job, self._spoke = "", self._clock()
        if self._display is None:
            self._say(head)
        self._draw("")

    def began(self, state: TaskState, effect: Effect, *, resumed: bool) -> None:  # noqa: ARG002 - the base's
        """Show the effect."""
        self._began = self._spoke = self._clock()
        round_ = getattr(effect, "round", None)
        name = FOLDER_LABELS.get(effect.kind, effect.kind.slug)
        self._job = name if round_ is None else f"{name} {round_}"
        self._draw("")

    def beats(self, elapsed_s: float, ledger: LedgerSummary, doing: str = "") -> None:  # noqa: ARG002 - the base's
        """Show how far the job is; without a terminal a line a minute."""
        far = f"{show_ms(int(elapsed_s * 1000))}{bill_of(ledger)}"
        if self._display is None and self._clock() - self._spoke >= SIGN_OF_LIFE_S:
            self._spoke = self._clock()
            self._say(f"  {self._job}  {far}")
        self._draw(far)

    def ended(self, before: TaskState, outcome: Outcome, after: TaskState, facts: Facts | None) -> None:
        """Its outcome is in the record."""

    def close(self) -> None:
        """Take the line away and give the cursor back."""
        if self._display is not None:
            self._display.close()

    def _say(self, text: str) -> None:
        if self._display is not None and self._display.is_shown:
            self._display.say(text)
        else:
            super()._say(text)

    def _draw(self, far: str) -> None:
        if self._display is not None:
            self._display.show(one_line(f"{self._head}  {self._job}  {far}"))


class CellProgress(Progress):
    """For a cell's own run: what it does is shown, what it says is meant for whoever runs one task."""

    def __init__(self, outer: BakeoffProgress) -> None:
        super().__init__(StringIO())
        self._outer = outer

    def began(self, state: TaskState, effect: Effect, *, resumed: bool) -> None:
        """Show the effect."""
        self._outer.began(state, effect, resumed=resumed)

    def beats(self, elapsed_s: float, ledger: LedgerSummary, doing: str = "") -> None:
        """Show how far the job is."""
        self._outer.beats(elapsed_s, ledger, doing)

    def ended(self, before: TaskState, outcome: Outcome, after: TaskState, facts: Facts | None) -> None:
        """Its outcome is in the record."""

    def note(self, text: str) -> None:
        """Its command is not the one that was typed here."""


def open_progress(stream: TextIO, environment: Mapping[str, str]) -> BakeoffProgress:
    """Lively where a person looks on, plain lines where not."""
    is_live = stream.isatty() and environment.get("TERM", "dumb") != "dumb"
    return BakeoffProgress(stream, is_live=is_live)


def head_of(number: int, total: int, name: str, spent_microusd: int) -> str:
    """A cell's line: its place, its name, and what all before it cost."""
    return f"[{number}/{total}] {name}; {show_usd(spent_microusd)} so far"
