from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

from engine import messages as m
from engine import steps
from engine.doings import Abandoned, Watch
from engine.facts_file import FACTS_FILE
from engine.handing import identify
from engine.place import Place
from instrument.schema.state import TaskState
from jobs.runner import DockerJobs
from loop.home import task_folder
from loop.machine.advance import advance, begin
from loop.machine.judge import judge
from loop.machine.plan import plan
from loop.store import load_state, save_state
from support.backlog import make_repo

ALWAYS = Watch(lambda: True)


@dataclass
class Slept:
    """An effect that was done and settled, as whoever is woken up now remembers it."""

    place: Place
    doing: m.Doing
    settling: m.Settling

    @property
    def folder(self) -> Path:
        return task_folder(self.place.home, self.doing.order.task_id)

    @property
    def newer(self) -> TaskState:
        """What another worker has brought the task to meanwhile; the last effect's facts are its own."""
        (self.folder / FACTS_FILE).unlink()
        state = self.settling.after.model_copy(update={"seq": self.settling.after.seq + 2})
        save_state(self.folder, state)
        return state


@pytest.fixture
def slept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Slept:
    home = tmp_path / "home"
    monkeypatch.setenv("FACTORY_HOME", str(home))
    repo = make_repo(tmp_path, "red", 1)
    bare = m.TaskOrder(task_id="", repo="", checkout="", task="")
    order = identify(str(repo.checkout / "tasks/001-note.md"), None, bare)
    place = Place(home, {"FACTORY_HOME": str(home)}, lambda: datetime.now(UTC), lambda _: DockerJobs())
    state = steps.open_task(place, m.Opening(order=order, n=1)).state
    assert state is not None
    effect = plan(state)
    doing = m.Doing(order=order, begun=begin(state, effect), effect=effect)
    facts = steps.do_effect(place, doing, ALWAYS).facts
    outcome = judge(doing.begun, facts)
    settling = m.Settling(
        order=order,
        before=doing.begun,
        effect=effect,
        outcome=outcome,
        after=advance(doing.begun, outcome, facts),
    )
    steps.settle(place, settling)
    return Slept(place, doing, settling)


def test_a_worker_that_slept_and_was_overtaken_does_nothing_twice(slept: Slept) -> None:
    newer = slept.newer
    with pytest.raises(Abandoned):
        steps.do_effect(slept.place, slept.doing, ALWAYS)
    steps.settle(slept.place, slept.settling)
    assert load_state(slept.folder) == newer


def test_a_transition_that_is_written_again_after_a_crash_stands_once(slept: Slept) -> None:
    record = (slept.folder / "events.jsonl").read_bytes()
    steps.settle(slept.place, slept.settling)
    assert (slept.folder / "events.jsonl").read_bytes() == record
    assert load_state(slept.folder) == slept.settling.after
