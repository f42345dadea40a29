"""The writes of a transition: what the record is told, then the state that decides.

Limits: the caller holds the task's lock; a crash between the two records again under the same identities.
"""

from collections.abc import Callable
from pathlib import Path

from instrument.schema.events import AttemptCancelled, AttemptStarted
from instrument.schema.state import TaskState
from instrument.schema.vocabulary import EffectKind, Outcome
from loop.journal import Journal
from loop.machine.effects import Effect
from loop.machine.facts import CancelledFacts, Facts
from loop.record import Entry, cancelled_entries, entries_of
from loop.rulings_file import save_rulings
from loop.store import save_state


class Transitions:
    """Writes one task's transitions, whoever drives it."""

    def __init__(
        self, folder: Path, journal: Journal, save: Callable[[Path, TaskState], None] = save_state
    ) -> None:
        self._folder = folder
        self._journal = journal
        self._save = save

    def begin(self, begun: TaskState, effect: Effect, *, resumed: bool) -> None:
        """The intent, durable before anything of the effect is there."""
        if not resumed:
            self._save(self._folder, begun)
        self._journal.append(AttemptStarted, key=effect.key, effect=effect.kind, round=round_of(effect))

    def settle(
        self, before: TaskState, outcome: Outcome, facts: Facts | None, after: TaskState, *, round_: int = 0
    ) -> None:
        """What happened and what follows from it; without facts nothing was begun."""
        if len(after.rulings) > len(before.rulings):
            save_rulings(self._folder, after)
        self._write(entries_of(before, outcome, facts, after, round_=round_), after)

    def settle_cancelled(self, after: TaskState, effect: Effect, facts: CancelledFacts) -> None:
        """The end of an attempt that a person cut short."""
        entries = cancelled_entries(facts, EffectKind(effect.kind), round_of(effect))
        cancelled: Entry = (AttemptCancelled, {"key": effect.key, "signal": facts.signal})
        self._write([*entries, cancelled], after)

    def _write(self, entries: list[Entry], after: TaskState) -> None:
        for kind, fields in entries:
            self._journal.append(kind, **fields)
        self._save(self._folder, after)


def round_of(effect: Effect) -> int:
    """The round that an effect belongs to; 0 where it has none."""
    return getattr(effect, "round", 0)
