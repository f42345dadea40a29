"""The story that the kill matrix interrupts, lived once without a crash."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from instrument.schema.job import AgentResult
from instrument.schema.vocabulary import Role
from jobs.order import JobOrder
from support.fake_jobs import EXITED, WORKED_ON, FakeJobs, Script, Turn, handed_up, must_fix, ruled, verdict
from support.repos import TASK, TASK_TEXT, TOML, Desk, alone, copy_desk, edited, make_desk
from support.tripwire import Calm, Wire, run_wired

TESTED_BY = "tests/test_a.py"


def script() -> Script:
    """A failed check, a must-fix, a failed gate; then all is well, with one of the base's tests changed."""
    texts = (b"BUG\n", b"ROUGH 1\n", b"ROUGH 2\n")
    last = Turn({WORKED_ON: b"good\n", TESTED_BY: b"def test_a():\n    assert 2\n"})
    return Script(
        coder=[*(Turn({WORKED_ON: text}) for text in texts), last],
        reviewer=[Turn(review=must_fix("say why")), Turn(review=verdict("approve"))],
        failing={"unit": b"BUG", "full": b"ROUGH"},
    )


def make_template(folder: Path) -> None:
    """A desk whose repo has a test that the task may change."""
    make_desk(folder)
    task = edited(TASK_TEXT, "[src/**]", "[src/**, tests/**]")
    Desk(folder, FakeJobs(folder / "engine")).commit({TASK: task, TESTED_BY: "def test_a():\n    assert 1\n"})


def open_desk(template: Path, folder: Path) -> Desk:
    """A desk on which main moves once, while the gate passes."""
    desk = copy_desk(template, folder, script())
    base = desk.person.head()

    def move_main(status: str, order: JobOrder) -> None:
        is_passed_gate = status == EXITED and order.role is Role.GATE and b"good" in desk.jobs.content(order)
        if is_passed_gate and desk.origin.head("main") == base:
            desk.other_commit({"docs.md": "somebody else's"})

    desk.jobs.at = move_main
    return desk


def open_conflict(template: Path, folder: Path) -> Desk:
    """A desk on which somebody changes the same line while the first review goes on."""
    turns = [Turn({WORKED_ON: text}) for text in (b"good\n", b"theirs and good\n")]
    desk = copy_desk(template, folder, Script(coder=turns))

    def change_main(status: str, order: JobOrder) -> None:
        if status == EXITED and order.role is Role.REVIEWER and order.folder.name.endswith("-1"):
            desk.other_commit({WORKED_ON: "theirs\n"})

    desk.jobs.at = change_main
    return desk


def make_ladder(folder: Path) -> None:
    """A desk whose repo lets two models meet a stop before a person does."""
    make_desk(folder)
    ladder = '[ladder]\nsmall = "claude-haiku-4-5"\nstrong = "claude-opus-4-5"\n'
    Desk(folder, FakeJobs(folder / "engine")).commit({"factory.toml": TOML + ladder})


def open_ladder(template: Path, folder: Path) -> Desk:
    """A desk on which the coder asks, the small model hands that up, and the strong one rules."""
    asks = Turn(result=AgentResult(outcome="blocked", question="Which name?"))
    answers = [Turn(answer=handed_up("Two would do.")), Turn(answer=ruled("Call it pause."))]
    return copy_desk(template, folder, Script(coder=[asks, Turn({WORKED_ON: b"good\n"})], resolver=answers))


def live(made: Calm, folder: Path) -> Calm:
    """The command once without a crash; the desk is kept as it was before each effect."""
    wire = Wire(reach=lambda _: None)

    def keep(effect: object = None) -> None:
        if effect is not None:
            made.effects.append(effect)
            made.clock_calls.append(wire.clock_calls)
        made.before.append(Path(shutil.copytree(made.desk.folder, folder / f"{len(made.before):02d}")))

    keep()
    run_wired(made.desk, wire, keep, rulings=made.rulings)
    return made


@pytest.fixture(scope="session")
def calm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Calm]:
    folder = tmp_path_factory.mktemp("calm")
    with pytest.MonkeyPatch.context() as patch:
        alone(patch, folder)
        patch.chdir(folder)
        make_template(folder / "template")
        yield live(Calm(open_desk(folder / "template", folder / "desk")), folder)


@pytest.fixture(scope="session")
def calm_conflict(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Calm]:
    """The same of a task that stands at a conflict: the person's ruling has the change made again."""
    folder = tmp_path_factory.mktemp("conflict")
    with pytest.MonkeyPatch.context() as patch:
        alone(patch, folder)
        patch.chdir(folder)
        make_desk(folder / "template")
        desk = open_conflict(folder / "template", folder / "desk")
        assert desk.ends(auto_merge=True) == "merge_conflict"
        yield live(Calm(desk, ("Make it again on theirs.",)), folder)


@pytest.fixture(scope="session")
def calm_ladder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Calm]:
    """The same of a task whose stop is ruled on by a model."""
    folder = tmp_path_factory.mktemp("ladder")
    with pytest.MonkeyPatch.context() as patch:
        alone(patch, folder)
        patch.chdir(folder)
        make_ladder(folder / "template")
        yield live(Calm(open_ladder(folder / "template", folder / "desk")), folder)


@pytest.fixture
def alone_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    alone(monkeypatch, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "desk"


@pytest.fixture
def crashed_desk(calm: Calm, alone_here: Path):
    """The desk as it was before the calm life's n-th effect."""
    return lambda n: open_desk(calm.before[n], alone_here)


@pytest.fixture
def crashed_conflict(calm_conflict: Calm, alone_here: Path):
    """The same of the conflict round."""
    return lambda n: open_conflict(calm_conflict.before[n], alone_here)


@pytest.fixture
def crashed_ladder(calm_ladder: Calm, alone_here: Path):
    """The same of the task whose stop is ruled on by a model."""
    return lambda n: open_ladder(calm_ladder.before[n], alone_here)
