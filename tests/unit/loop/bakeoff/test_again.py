"""Saved diffs, looked at again: by the checks, and by another reviewer."""

import shutil
from collections.abc import Callable
from pathlib import Path
from signal import SIGINT

import pytest

from instrument.schema.vocabulary import Outcome, Role
from jobs.order import JobOrder
from loop.bakeoff.replay import Replay
from loop.bakeoff.rescore import Rescore
from loop.errors import UsageError
from loop.signals import Interrupted
from support.bakeoffs import TASKS, Bakeoff, with_tasks
from support.fake_jobs import EXITED, RUNNING, WORKED_ON, Script, Turn, must_fix, verdict
from support.repos import TASK, alone, copy_desk

EVIDENCE = {"evidence": "make try prints 1"}
FIX = must_fix("it is wrong", **EVIDENCE)


class Killed(BaseException):
    """The process is gone: nothing after it runs."""


def rescored(bakeoff: Bakeoff) -> tuple[Rescore, int]:
    text, code = bakeoff.run(rescore=bakeoff.folder.name, as_json=True)
    return Rescore.model_validate_json(text), code


@pytest.fixture(scope="module")
def baked_once(desk_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two cells of one task, both accepted at the second review."""
    folder = tmp_path_factory.mktemp("baked")
    turns = [Turn({WORKED_ON: b"rough\n"}), Turn({WORKED_ON: b"good\n"})]
    script = Script(coder=turns, reviewer=[Turn(review=FIX), Turn(review=verdict("approve"))])
    with pytest.MonkeyPatch.context() as patch:
        alone(patch, folder)
        patch.chdir(folder)
        Bakeoff(with_tasks(copy_desk(desk_template, folder, script))).run(TASK)
    return folder


@pytest.fixture
def baked(baked_once: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bakeoff:
    """A copy of it, with a reviewer that approves."""
    alone(monkeypatch, tmp_path)
    monkeypatch.chdir(tmp_path)
    shutil.copyfile(baked_once / "story.yaml", tmp_path / "story.yaml")
    return Bakeoff(copy_desk(baked_once, tmp_path))


def test_a_diff_that_still_passes_is_the_same(baked: Bakeoff) -> None:
    before = sum(baked.desk.jobs.created().values())
    made, code = rescored(baked)
    assert ([cell.says for cell in made.cells], code) == (["same", "same"], 0)
    assert sum(baked.desk.jobs.created().values()) == before + 4, (
        "a check and a gate each, in fresh containers"
    )
    assert baked.desk.jobs.left() == []


def test_a_diff_whose_check_now_fails_is_named_with_the_check(baked: Bakeoff) -> None:
    baked.desk.script.failing = {"full": b"good"}
    text, code = baked.run(rescore=baked.folder.name)
    assert code == 1
    assert text.count("checks fail\n    full\n") == 2
    assert text.endswith("2 accepted diffs checked again, 2 changed\n")


def test_a_check_that_passes_the_second_time_is_flaky_and_no_change(baked: Bakeoff) -> None:
    baked.desk.script.flaky = ("unit",)
    made, code = rescored(baked)
    assert ({cell.says for cell in made.cells}, code) == ({"flaky"}, 0)
    assert made.cells[0].failed == ("unit",)


def test_a_diff_that_was_altered_since_is_not_rebuilt(baked: Bakeoff) -> None:
    first, second = baked.result.cells
    assert first.diff is not None
    path = baked.folder / first.diff.path
    path.write_bytes(path.read_bytes().replace(b"good", b"evil"))
    made, code = rescored(baked)
    assert ([cell.says for cell in made.cells], code) == (["not_rebuilt", "same"], 1)
    assert "SHA-256" in made.cells[0].detail
    assert second.diff is not None


def test_what_an_earlier_reviewer_saw_is_saved_with_its_verdict(baked: Bakeoff) -> None:
    for cell in baked.result.cells:
        assert [(r.round, r.says, r.must_fixes) for r in cell.reviews] == [
            (1, "changes", 1),
            (2, "approve", 0),
        ]
        assert b"+rough" in (baked.folder / cell.reviews[0].diff.path).read_bytes()
        assert cell.diff is not None
        assert cell.reviews[1].diff.sha256 == cell.diff.sha256


def replayed(bakeoff: Bakeoff, **changes: object) -> Replay:
    name = bakeoff.folder.name
    text, code = bakeoff.run(reviews=name, variants=("opencode",), as_json=True, **changes)  # type: ignore[arg-type]
    assert code == 0
    return Replay.model_validate_json(text)


def test_a_stricter_reviewer_stands_beside_the_first_with_its_own_cost(baked: Bakeoff) -> None:
    seen: list[JobOrder] = []
    baked.desk.jobs.at = lambda status, order: seen.append(order) if status == EXITED else None
    baked.desk.script.reviewer = [Turn(review=FIX)]

    text, code = baked.run(reviews=baked.folder.name, variants=("opencode",))

    assert code == 0
    assert "agreement  2 of 4" in text
    assert "too few to tell" in text
    assert "cost       $0.0040" in text
    assert {(order.role, order.agent and order.agent.runtime) for order in seen} == {
        (Role.REVIEWER, "opencode")
    }
    assert baked.desk.jobs.left() == []
    (file,) = (baked.folder / "reviews").glob("*.json")
    found = Replay.model_validate_json(file.read_bytes()).reviews
    assert [(r.first, r.second) for r in found] == [("changes", "changes"), ("approve", "changes")] * 2


def test_reviews_that_have_ended_are_neither_asked_nor_charged_again(baked: Bakeoff) -> None:
    first = replayed(baked)
    before = baked.desk.jobs.created()
    assert replayed(baked) == first
    assert baked.desk.jobs.created() == before


@pytest.mark.parametrize("status", [RUNNING, EXITED])
def test_killed_in_a_review_the_same_command_finds_it_again(baked: Bakeoff, status: str) -> None:
    seen: list[str] = []

    def die(now: str, _: JobOrder) -> None:
        seen.append(now)
        if now == status and seen.count(status) == 2:
            raise Killed

    before = sum(baked.desk.jobs.created().values())
    baked.desk.jobs.at = die
    with pytest.raises(Killed):
        replayed(baked)
    baked.desk.jobs.at = lambda *_: None

    made = replayed(baked)

    assert (len(made.reviews), made.spent_microusd) == (4, 4000)
    assert sum(baked.desk.jobs.created().values()) == before + 4
    assert baked.desk.jobs.left() == []


def test_what_an_interrupted_review_had_cost_is_kept_and_nothing_is_left(baked: Bakeoff) -> None:
    baked.desk.jobs.at = dying(lambda: Interrupted(SIGINT))
    with pytest.raises(Interrupted):
        replayed(baked)
    assert baked.desk.jobs.left() == []
    baked.desk.jobs.at = lambda *_: None
    assert replayed(baked).spent_microusd == 5000


def dying(end: Callable[[], BaseException]) -> Callable[[str, JobOrder], None]:
    """Die in the first job that runs."""

    def look(status: str, _: JobOrder) -> None:
        if status == RUNNING:
            raise end()

    return look


def test_a_reviewer_without_a_verdict_is_counted_apart(baked: Bakeoff) -> None:
    baked.desk.script.reviewer = [Turn(review="I do not know.")]
    made = replayed(baked)
    assert {(r.second, r.outcome) for r in made.reviews} == {(None, Outcome.VERDICT_MISSING)}
    text, _ = baked.run(reviews=baked.folder.name, variants=("opencode",))
    assert "agreement  0 of 0" in text
    assert "no verdict 4" in text


def test_the_money_of_reviews_has_a_guard(baked: Bakeoff) -> None:
    with pytest.raises(UsageError, match="the budget is spent"):
        replayed(baked, budget_usd="0.002")
    assert len(replayed(baked, budget_usd="1").reviews) == 4


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"variants": ()}, "takes one --with"),
        ({"variants": ("claude", "codex:gpt-5.5")}, "takes one --with"),
        ({"variants": ("claude,context_limit_tokens=50000",)}, "without settings"),
        ({"variants": ("claude:no-such-model",)}, "the price of no-such-model is not known"),
    ],
)
def test_a_reviewer_that_cannot_be_is_one_sentence(
    baked: Bakeoff, changes: dict[str, object], said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        baked.run(reviews=baked.folder.name, **changes)  # type: ignore[arg-type]


def test_a_bake_off_without_a_review_has_nothing_to_replay(bakeoff: Bakeoff) -> None:
    bakeoff.desk.script.coder = (Turn(),)
    bakeoff.run(TASKS[0], variants=("claude",))
    with pytest.raises(UsageError, match="has no reviewed diff"):
        replayed(bakeoff)
