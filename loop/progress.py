"""Plain progress lines for a person: stage, job, elapsed time, tokens, cost.

Limits: writes to the stream it was given, nothing else.
"""

import time
from collections.abc import Callable
from typing import TextIO

from instrument.money import show_usd
from instrument.schema.ledger import LedgerSummary, Notice
from instrument.schema.state import TaskState
from instrument.schema.vocabulary import EffectKind, NoticeKind, Outcome
from instrument.show import show_count
from loop.machine.effects import FOLDER_LABELS, Effect
from loop.machine.facts import Facts, JobFacts, ResolveFacts, ReviewFacts

HEARTBEAT_S = 15


class Progress:
    """Implements `loop.drive.Watcher` with one line at an effect's beginning and one at its end."""

    def __init__(self, stream: TextIO, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream
        self._clock = clock
        self._began = clock()
        self._spoke = clock()
        self._label = ""
        self._told: set[NoticeKind] = set()

    def began(self, state: TaskState, effect: Effect, *, resumed: bool) -> None:
        """Say what is about to be done; git effects are too quick for a line of their own."""
        self._began = self._spoke = self._clock()
        self._label = _label(effect)
        self._told.clear()
        if effect.kind.is_job or resumed:
            how = " (found under way: going on with it)" if resumed else ""
            self._say(f"{state.stage:<10} {self._label} …{how}")

    def beats(self, elapsed_s: float, ledger: LedgerSummary, doing: str = "") -> None:  # noqa: ARG002 - for a live view
        """A job goes on; a line every fifteen seconds, and one for each new notice at once."""
        self._tell(ledger)
        if self._clock() - self._spoke < HEARTBEAT_S:
            return
        self._spoke = self._clock()
        self._say(f"{'':<10} {self._label} … {elapsed_s:.0f} s{bill_of(ledger)}")

    def ended(self, before: TaskState, outcome: Outcome, after: TaskState, facts: Facts | None) -> None:
        """Say what came of it."""
        elapsed_s = self._clock() - self._began
        bill = ""
        if isinstance(facts, JobFacts | ReviewFacts | ResolveFacts):
            self._tell(facts.end.ledger)
            bill = bill_of(facts.end.ledger, has_ended=True)
        total = show_usd(after.spend.microusd, lower_bound=after.spend.lower_bound)
        where = f"stopped: {after.stop.reason}" if after.stop else f"{after.stage}"
        arrow = "" if after.stage is before.stage else f" → {where}"
        spent = f", {total} in all" if bill else ""
        self._say(f"{before.stage:<10} {outcome}{arrow}  ({elapsed_s:.1f} s{bill}{spent})")
        for tried in after.tried[len(before.tried) :]:
            did = ("ruled" if tried.ruled else "handed it up") if tried.step.is_model else "looks again"
            self._say(f"{'':<10} {tried.stop}: {tried.step} {did}")

    def _tell(self, ledger: LedgerSummary) -> None:
        """Say what the proxy noticed, once a job."""
        for notice in ledger.notices:
            if notice.what not in self._told:
                self._told.add(notice.what)
                self._say(f"{'':<10} {self._label}: {_notice(notice)}")

    def note(self, text: str) -> None:
        """Say one sentence."""
        self._say(text)

    def close(self) -> None:
        """Take away what is only there while a run goes on; may be called twice."""

    def _say(self, text: str) -> None:
        self._stream.write(f"{text}\n")
        self._stream.flush()


def _label(effect: Effect) -> str:
    round_ = getattr(effect, "round", None)
    name = FOLDER_LABELS.get(EffectKind(effect.kind), effect.kind.slug)
    return name if round_ is None else f"{name} {round_}"


def _notice(notice: Notice) -> str:
    match notice.what:
        case NoticeKind.BUDGET_80 | NoticeKind.BUDGET_95:
            spent, budget = show_usd(notice.spent_microusd), show_usd(notice.budget_microusd)
            return f"{spent} of the job's {budget} are spent"
        case NoticeKind.AUTH_REFUSED:
            return f"the provider refused the key {notice.calls} times in a row"
        case NoticeKind.CACHE_MISSED:
            tokens = f"{notice.input_tokens} input tokens"
            return f"{notice.calls} calls in a row read nothing from the provider's cache: {tokens}"


def bill_of(ledger: LedgerSummary, *, has_ended: bool = False) -> str:
    """Calls, tokens and cost so far; empty where there was no call.

    What a call under way may cost stands apart: it is held, not spent. Once the job has ended, a call
    without an end is charged.
    """
    if not ledger.calls:
        return ""
    calls = show_count(len(ledger.calls), "call")
    tokens = sum(call.usage.total_tokens for call in ledger.calls)
    spent, most = ledger.settled_microusd, ledger.cost_microusd
    if has_ended or spent == most:
        return f", {calls}, {tokens} tokens, {show_usd(most)}"
    return f", {calls}, {tokens} tokens, {show_usd(spent)} (up to {show_usd(most)})"
