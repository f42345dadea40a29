import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from instrument.schema.events import EVENT
from instrument.schema.state import TaskState
from instrument.schema.vocabulary import Outcome, Stage, StopReason
from loop.drive import Driver
from loop.journal import Journal
from loop.machine.advance import begin
from loop.machine.facts import CancelledFacts
from loop.machine.plan import plan
from loop.signals import Interrupted, Signals
from loop.store import load_state, save_state
from support.ends import START, coder_end
from support.lives import GOOD, new_state, terms


class Told:
    """Shell, watcher and saver in one: writes down the order in which a driver calls them."""

    def __init__(self, folder: Path, during: Callable[[], None] = lambda: None) -> None:
        self.folder = folder
        self.calls: list[str] = []
        self.during = during
        self.slots: list[tuple[str, bool]] = []
        """Each job's slot: of which effect, and whether it had begun."""
        self.signals = Signals()

    def save(self, folder: Path, state: TaskState) -> None:
        self.calls.append(f"save {state.attempt.kind.slug if state.attempt else state.stage}")
        save_state(folder, state)

    def perform(self, state: TaskState, effect: Any, *, resumed: bool) -> Any:
        on_disk = load_state(self.folder)
        assert on_disk == state, "the intent is on disk before anything is done"
        self.calls.append(f"{'find' if resumed else 'do'} {effect.kind.slug}")
        self.during()
        return GOOD[effect.kind](state, effect)

    def cancel(self, _: TaskState, effect: Any, signum: int) -> CancelledFacts:
        self.calls.append(f"cancel {effect.kind.slug}")
        return CancelledFacts(key=effect.key, end=coder_end(effect.key), signal=signum)

    def release(self, _: TaskState, key: str) -> None:
        self.calls.append(f"release {key.split('-')[2]}")

    def began(self, *_: Any, **__: Any) -> None:
        self.calls.append("began")

    def ended(self, _: TaskState, outcome: Outcome, after: TaskState, __: Any) -> None:
        assert load_state(self.folder) == after
        self.calls.append(f"ended {outcome}")

    @contextmanager
    def slot(self, key: str, *, has_begun: bool) -> Iterator[None]:
        self.slots.append((key.split("-")[2], has_begun))
        self.calls.append("slot")
        try:
            yield
        finally:
            self.calls.append("slot given back")

    def drive(self, state: TaskState) -> TaskState:
        journal = Journal(
            self.folder, task_id="demo-001", run_id="0123abcd", purpose=state.purpose, now=lambda: START
        )
        driver = Driver(
            self.folder,
            journal=journal,
            shell=self,
            watcher=self,
            signals=self.signals,
            now=lambda: START,
            save=self.save,
            job_slot=self.slot,
        )
        self.signals.hold()
        try:
            return driver.drive(state)
        finally:
            journal.close()

    def kinds(self) -> list[str]:
        lines = (self.folder / "events.jsonl").read_bytes().splitlines()
        return [EVENT.validate_json(line).kind for line in lines]


@pytest.fixture(autouse=True)
def handlers():
    kept = {each: signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)}
    yield
    for each, handler in kept.items():
        signal.signal(each, handler)


CODING = {"stage": Stage.IMPLEMENT, "base": "a" * 40, "image": "sha256:1", "baseline_passed": True}


def test_intent_effect_record_state_release_in_this_order(tmp_path: Path):
    told = Told(tmp_path)
    after = told.drive(new_state())
    assert told.calls[:6] == [
        "save find-base",
        "began",
        "do find-base",
        "save ready",
        "release find",
        "ended base_found",
    ]
    assert after.stage is Stage.DONE
    assert after.ended_utc == START
    assert told.kinds()[:2] == ["attempt_started", "transition"]


def test_an_attempt_that_is_on_disk_is_found_and_not_begun_again(tmp_path: Path):
    state = new_state(**CODING)
    begun = begin(state, plan(state))
    save_state(tmp_path, begun)
    told = Told(tmp_path)
    told.drive(begun)
    assert told.calls[:4] == ["slot", "began", "find implement", "save implement"]
    assert told.slots[0] == ("implement", True)
    assert told.kinds()[0] == "attempt_started", "a lost record of the intent is written now"


def test_a_job_has_its_slot_before_its_intent_is_written_and_a_step_of_git_has_none(tmp_path: Path):
    told = Told(tmp_path)
    told.drive(new_state(**CODING))
    assert told.calls[:2] == ["slot", "save implement"]
    assert told.calls[told.calls.index("slot given back") - 1] == "ended diff_returned"
    assert told.slots == [(name, False) for name in ("implement", "check", "review", "gate")]


def test_a_set_up_that_was_begun_is_made_anew_and_may_wait(tmp_path: Path):
    state = new_state(base="a" * 40)
    begun = begin(state, plan(state))
    save_state(tmp_path, begun)
    told = Told(tmp_path)
    told.drive(begun)
    assert told.slots[0] == ("setup", False)


def test_what_is_forestalled_begins_nothing(tmp_path: Path):
    told = Told(tmp_path)
    state = new_state(**CODING, terms=terms(budget_microusd=0))
    after = told.drive(state)
    assert after.stop is not None
    assert after.stop.reason is StopReason.SPEND_BUDGET
    assert told.calls == ["save stopped", "ended spend_exhausted"]
    assert after.ended_utc == START


def test_sigint_ends_the_pod_and_counts_as_nothing_but_its_cost(tmp_path: Path):
    told = Told(tmp_path, during=lambda: os.kill(os.getpid(), signal.SIGINT))
    told.signals.install()
    with pytest.raises(Interrupted) as interrupted:
        told.drive(new_state(**CODING))
    assert interrupted.value.exit_code == 130
    assert told.calls == [
        *("slot", "save implement", "began", "do implement", "cancel implement", "save implement"),
        *("release implement", "slot given back"),
    ]
    state = load_state(tmp_path)
    assert state is not None
    assert state.attempt is None
    assert state.spend.microusd == 1000
    assert (state.counters.coder_rounds, state.counters.interruptions) == (0, 0)
    assert told.kinds() == ["attempt_started", "model_call", "job_ended", "attempt_cancelled"]


def test_sigterm_leaves_the_pod_to_be_adopted(tmp_path: Path):
    told = Told(tmp_path, during=lambda: os.kill(os.getpid(), signal.SIGTERM))
    told.signals.install()
    with pytest.raises(Interrupted) as interrupted:
        told.drive(new_state(**CODING))
    assert interrupted.value.exit_code == 143
    state = load_state(tmp_path)
    assert state is not None
    assert state.attempt is not None
    again = Told(tmp_path)
    again.drive(state)
    assert again.calls[:3] == ["slot", "began", "find implement"]


def test_a_signal_between_effects_is_held_until_the_state_is_written(tmp_path: Path):
    told = Told(tmp_path)
    told.signals.install()
    save = told.save

    def save_under_fire(folder: Path, state: TaskState) -> None:
        if state.attempt is None:
            os.kill(os.getpid(), signal.SIGTERM)
        save(folder, state)

    told.save = save_under_fire
    with pytest.raises(Interrupted):
        told.drive(new_state(**CODING))
    state = load_state(tmp_path)
    assert state is not None
    assert state.pending is not None, "the coder's end was saved, the next effect not begun"
    assert [call for call in told.calls if call.startswith("do")] == ["do implement"]
