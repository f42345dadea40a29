"""Which image the checks of a candidate start from, and what a set-up that it breaks comes to."""

from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from instrument.schema.job import JobEnd
from instrument.schema.state import Candidate, TaskState
from instrument.schema.vocabulary import EffectKind, Outcome, Stage
from jobs.errors import ImageGoneError, ImageUnfitError
from jobs.order import JobOrder, SetupOrder
from jobs.setup import TOUCHED
from loop.machine.advance import begin
from loop.machine.effects import Gate
from loop.machine.facts import EngineFacts, JobFacts
from loop.machine.judge import judge
from loop.machine.plan import plan
from loop.shell.context import Context
from loop.shell.shell import Shell
from support.ends import command, commands_end
from support.fake_jobs import WORKED_ON, FakeJobs
from support.lives import new_state
from support.repos import TASK, TOML, Desk

SETUP = '[setup]\ncached = ["pip install"]\ninputs = ["*.lock"]\n'


class Engine(FakeJobs):
    """The fake, which remembers its set-ups and lets a test break them or lose an image."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.setups: list[SetupOrder] = []
        self.fault: ImageUnfitError | None = None
        self.lost_images: set[str] = set()
        self.started: list[str] = []

    def set_up(self, order: SetupOrder) -> str:
        self.setups.append(order)
        if self.fault is not None:
            raise self.fault
        return super().set_up(order)

    def run(self, order: JobOrder, *, resumed: bool) -> JobEnd:
        if order.image in self.lost_images:
            raise ImageGoneError("gone")
        self.started.append(order.image)
        return super().run(order, resumed=resumed)


@dataclass
class Bench:
    """A task whose candidate waits for its check."""

    context: Context
    jobs: Engine
    base: str
    desk: Desk

    def check(self, files: dict[str, bytes | None]) -> tuple[TaskState, JobFacts | EngineFacts]:
        """Perform the check of a candidate that changes these files."""
        commit = self.desk.person.commit({WORKED_ON: b"good\n", **files}, "a candidate")
        self.context.store.git(["fetch", "--quiet", str(self.desk.person.root), commit])
        state = new_state(
            task_id="demo-007",
            task_path=TASK,
            task_blob=self.context.store.blob_id(self.base, TASK),
            base=self.base,
            image="sha256:of-the-base",
            stage=Stage.CHECK,
            candidate=Candidate(commit=commit, tree=self.context.store.tree_of(commit), base=self.base, n=1),
        )
        effect = plan(state)
        begun = begin(state, effect)
        facts = Shell(self.context).perform(begun, effect, resumed=False)
        assert isinstance(facts, JobFacts | EngineFacts)
        return begun, facts

    def tree(self, commit: str) -> set[str]:
        return set(self.context.store.paths(commit))


@pytest.fixture
def bench(context: Context, desk: Desk) -> Bench:
    base = desk.commit({"factory.toml": TOML + SETUP, "a.lock": b"1\n", "b.lock": b"1\n"})
    context.store.fetch_tips("main", "origin")
    jobs = Engine(desk.folder / "engine")
    return Bench(replace(context, jobs=jobs), jobs, base, desk)


def test_a_change_beside_the_inputs_starts_from_the_bases_image(bench: Bench):
    _, facts = bench.check({"c.txt": b"new\n"})
    assert isinstance(facts, JobFacts)
    assert (bench.jobs.setups, bench.jobs.started) == ([], ["sha256:of-the-base"])


def test_a_changed_input_is_set_up_on_the_base_and_checked_on_the_candidate(bench: Bench):
    state, facts = bench.check({"a.lock": b"2\n", "new.lock": b"1\n", "b.lock": None, "c.txt": b"new\n"})
    assert isinstance(facts, JobFacts)
    assert judge(state, facts) is Outcome.CHECKS_PASSED
    (setup,) = bench.jobs.setups
    (image,) = bench.jobs.started
    assert image != "sha256:of-the-base"
    store = bench.context.store
    assert bench.tree(setup.commit) == bench.tree(bench.base) - {"b.lock"} | {"new.lock"}
    assert store.read_blob(setup.commit, "a.lock") == b"2\n"
    assert store.read_blob(setup.commit, WORKED_ON) == store.read_blob(bench.base, WORKED_ON)
    assert store.parent_of(setup.commit) == bench.base
    assert state.candidate is not None
    assert setup.inputs_digest == store.inputs_digest(state.candidate.commit, ["*.lock"]).sha256
    assert setup.identity.key == facts.key


def test_the_gate_finds_what_the_check_set_up(bench: Bench):
    state, _ = bench.check({"a.lock": b"2\n"})
    assert state.candidate is not None
    fields = {"round": 1, "commit": state.candidate.commit, "image": "sha256:of-the-base"}
    gate = Gate(key="demo-007-gate-1-00000000", deadline_ms=1000, **fields)
    Shell(bench.context).perform(begin(state.model_copy(update={"attempt": None}), gate), gate, resumed=False)
    check, at_gate = bench.jobs.started
    assert check == at_gate
    assert len({setup.inputs_digest for setup in bench.jobs.setups}) == 1


def test_a_set_up_that_the_change_breaks_is_a_failed_check(bench: Bench):
    red = command("cached.1", 1, run="pip install")
    bench.jobs.fault = ImageUnfitError("it failed", end=commands_end("any", red))
    state, facts = bench.check({"a.lock": b"2\n"})
    assert isinstance(facts, JobFacts)
    assert facts.end.report is not None
    assert facts.end.report.commands == (red,)
    assert judge(state, facts) is Outcome.CHECK_DOUBTED
    assert judge(state.model_copy(update={"first_run": (red,)}), facts) is Outcome.CHECK_FAILED
    assert bench.jobs.started == []


def test_a_set_up_that_changes_a_tracked_file_is_one_too_with_the_sentence_as_output(bench: Bench):
    end = commands_end("any", report={"error": f"{TOUCHED} a.lock"})
    bench.jobs.fault = ImageUnfitError("The set-up changed a.lock.", end=end)
    state, facts = bench.check({"a.lock": b"2\n"})
    assert isinstance(facts, JobFacts)
    assert judge(state, facts) is Outcome.CHECK_DOUBTED
    assert facts.end.report is not None
    last = facts.end.report.commands[-1]
    assert state.attempt is not None
    assert state.attempt.folder is not None
    text = (bench.context.folder / state.attempt.folder / last.output).read_text()
    assert (last.has_passed, text) == (False, "The set-up changed a.lock.\n")


def test_taking_all_inputs_away_is_a_failed_check(bench: Bench):
    state, facts = bench.check({"a.lock": None, "b.lock": None})
    assert isinstance(facts, JobFacts)
    assert judge(state, facts) is Outcome.CHECK_DOUBTED
    assert facts.end.report is not None
    text = (bench.context.folder / facts.end.folder / facts.end.report.commands[0].output).read_text()
    assert text == "factory.toml:18: [setup] inputs: no file matches *.lock\n"


def test_a_set_up_that_our_side_breaks_is_none_of_the_coders(bench: Bench):
    bench.jobs.fault = ImageUnfitError("The image job could not be built.")
    _, facts = bench.check({"a.lock": b"2\n"})
    assert facts == EngineFacts(key=facts.key, detail="The image job could not be built.")


def test_an_image_that_was_removed_meanwhile_is_made_again(bench: Bench):
    bench.jobs.lost_images = {"sha256:of-the-base"}
    state, facts = bench.check({"c.txt": b"new\n"})
    assert isinstance(facts, JobFacts)
    assert judge(state, facts) is Outcome.CHECKS_PASSED
    (setup,) = bench.jobs.setups
    assert setup.commit == bench.base
    assert state.attempt is not None
    assert state.attempt.kind is EffectKind.CHECK
