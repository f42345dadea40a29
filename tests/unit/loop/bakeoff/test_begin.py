"""What is held valid before a bake-off begins, and the guard of its money."""

from pathlib import Path

import pytest

from loop.errors import RunError, UsageError
from loop.problems import Problems
from support.bakeoffs import TASKS, Bakeoff, with_tasks
from support.fake_jobs import WORKED_ON, Turn
from support.repos import TASK, TASK_ID, TASK_TEXT, TOML, Desk, edited


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"tasks": ()}, "name a task, or --from a finished one"),
        ({"variants": ()}, "name at least one --with"),
        ({"tasks": (TASK, TASK)}, "one task stands there twice"),
        ({"tasks": ("tasks/010-none.md",)}, "tasks/010-none.md is not committed on main"),
        ({"tasks": ("README",)}, "README: a task file is named NNN-slug.md"),
        ({"variants": ("claude:no-such-model",)}, "the price of no-such-model is not known"),
        ({"variants": ("claude,context=1",)}, 'unknown key "context" in [agent]'),
        ({"budget_usd": "much"}, "--budget-usd much: write an amount in dollars"),
        ({"budget_usd": "-1"}, "--budget-usd -1: write an amount in dollars"),
        ({"replayed": ("demo-099",)}, "--from demo-099: no such task ever ran"),
        ({"rescore": "0a0b0c0d"}, "a bake-off that is named by its id has its tasks already"),
        ({"reviews": "0a0b0c0d"}, "has its tasks already"),
        ({"stories": ("no-such-file",)}, "--story no-such-file: the file cannot be read"),
        ({"stories": ("cloud=x",)}, "write a task's number or a runtime before the ="),
        ({"stories": ("codex=story.yaml",)}, "--story: none serves demo-007 with claude"),
        ({"stories": ()}, "ANTHROPIC_API_KEY is not set"),
    ],
)
def test_what_does_not_hold_is_one_sentence_and_nothing_is_begun(
    bakeoff: Bakeoff, changes: dict[str, object], said: str
) -> None:
    typed = {"tasks": (TASK,)} | changes
    with pytest.raises(UsageError) as caught:
        bakeoff.run(**typed)  # type: ignore[arg-type]
    assert said in str(caught.value)
    assert bakeoff.folders == []
    assert bakeoff.desk.jobs.created() == {}


def test_a_task_file_that_is_faulty_is_named_with_its_line(bakeoff: Bakeoff) -> None:
    bakeoff.desk.commit({TASK: edited(TASK_TEXT, "files:", "file:")})
    with pytest.raises(Problems, match=r"tasks/007-retry\.md:3"):
        bakeoff.run(TASK)
    assert bakeoff.folders == []


def test_a_runtime_that_needs_what_the_repo_does_not_have_is_named(bakeoff: Bakeoff) -> None:
    with pytest.raises(Problems, match=r"runtime command needs a shell line"):
        bakeoff.run(TASK, variants=("command",))
    assert bakeoff.folders == []


def test_a_finished_task_is_done_again_from_where_it_began(desk: Desk) -> None:
    base = desk.person.head()
    desk.run(auto_merge=True)
    (desk.folder / "story.yaml").write_text("rounds: [{role: coder, turns: [{finish: done}]}]\n")
    bakeoff = Bakeoff(desk)
    with pytest.raises(UsageError, match=f"the task is done already; --from {TASK}"):
        bakeoff.run(TASK)

    for name in (TASK_ID, TASK):
        bakeoff.run(replayed=(name,), variants=("claude",))

    results = [bakeoff.result_of(folder) for folder in bakeoff.folders]
    assert [subject.base for result in results for subject in result.plan.subjects] == [base] * 2
    assert [cell.is_accepted for result in results for cell in result.cells] == [True] * 2


def test_a_task_that_was_edited_on_its_way_is_given_in_its_last_words(desk: Desk) -> None:
    desk.script.coder = (Turn(), Turn({WORKED_ON: b"good\n"}))
    assert desk.ends() == "no_change"
    desk.commit({TASK: edited(TASK_TEXT, "Wait for it.", "Wait for it, once.")})
    assert desk.ends(auto_merge=True) == "merged"
    desk.script.coder = (Turn({WORKED_ON: b"good\n"}),)
    (desk.folder / "story.yaml").write_text("rounds: [{role: coder, turns: [{finish: done}]}]\n")
    bakeoff = Bakeoff(desk)

    bakeoff.run(replayed=(TASK_ID,), variants=("claude",))

    (prompt,) = bakeoff.folder.glob("cells/*/home/tasks/*/jobs/*-coder-*/in/prompt.md")
    assert "Wait for it, once." in prompt.read_text()


def test_no_cell_is_begun_that_could_take_the_whole_beyond_its_budget(desk: Desk) -> None:
    bakeoff = Bakeoff(with_tasks(desk, "budget_usd: 0.50"))

    text, code = bakeoff.run(*TASKS[:2], budget_usd="0.501", variants=("claude",))

    assert code == 3
    assert "1 of 2 cells so far" in text, "its task's cap does not fit twice, though far less was spent"
    assert "$0.4990 of the budget are left" in bakeoff.said.getvalue()
    assert bakeoff.run(*TASKS[:2], budget_usd="5", variants=("claude",))[1] == 0
    assert len(bakeoff.folders) == 1


def test_a_task_without_a_cap_gets_what_is_left_of_the_budget(bakeoff: Bakeoff) -> None:
    bakeoff.run(TASK, budget_usd="0.0025", variants=("claude",))
    (cell,) = bakeoff.result.cells
    assert cell.is_accepted
    bakeoff.run(TASK, budget_usd="0.0009", variants=("claude",))
    states = [Bakeoff(bakeoff.desk).result_of(folder) for folder in bakeoff.folders]
    assert sorted(str(cell.stop) for result in states for cell in result.cells) == ["None", "spend_budget"]


def test_what_it_may_cost_is_said_before_anything_is_begun(desk: Desk) -> None:
    bakeoff = Bakeoff(with_tasks(desk, "budget_usd: 0.50"))
    desk.environment |= {"ANTHROPIC_API_KEY": "k", "OPENAI_API_KEY": "k"}

    def stop() -> None:
        raise RunError("before the first paid call")

    with pytest.raises(RunError, match="before the first paid call"):
        bakeoff.run(*TASKS, stories=(), world=desk.world(before_paid=stop))
    said = bakeoff.said.getvalue()
    assert "It may cost $3.0000: the sum of the tasks' budget_usd over all cells.\n" in said
    assert desk.jobs.created() == {}


def test_a_story_of_the_task_goes_before_that_of_the_runtime(bakeoff: Bakeoff, tmp_path: Path) -> None:
    story = (tmp_path / "story.yaml").read_text()
    (tmp_path / "codex.yaml").write_text(f"{story}# codex\n")
    (tmp_path / "eight.yaml").write_text(f"{story}# eight\n")
    told: dict[tuple[str, str], str] = {}

    def look(_: str, order: object) -> None:
        agent, proxy = getattr(order, "agent", None), getattr(order, "proxy", None)
        if agent is not None and getattr(order, "role", "") == "coder":
            told[order.identity.task_id, agent.runtime] = proxy.story.decode().rpartition("# ")[2].strip()  # type: ignore[attr-defined]

    bakeoff.desk.jobs.at = look
    names = ("story.yaml", "codex=codex.yaml", "008=eight.yaml")
    bakeoff.run(*TASKS[:2], stories=names)
    assert told == {
        ("demo-007", "claude"): story.rpartition("# ")[2].strip(),
        ("demo-007", "codex"): "codex",
        ("demo-008", "claude"): "eight",
        ("demo-008", "codex"): "eight",
    }


def test_a_repo_that_pushes_nowhere_can_be_baked_too(desk: Desk) -> None:
    desk.commit({"factory.toml": edited(TOML, "push = true", "push = false")})
    bakeoff = Bakeoff(with_tasks(desk))
    assert bakeoff.run(TASK)[1] == 0
    assert all(cell.is_accepted for cell in bakeoff.result.cells)


def test_a_task_that_waits_for_another_is_refused_before_anything_is_spent(bakeoff: Bakeoff) -> None:
    bakeoff.desk.commit({TASK: edited(TASK_TEXT, "files:", "depends: [8]\nfiles:")})
    with pytest.raises(UsageError, match="depends on 008, which is not done where it begins"):
        bakeoff.run(TASK)
    done = edited(TASK_TEXT, "status: ready", "status: done")
    bakeoff.desk.commit({TASKS[1]: done})
    assert bakeoff.run(TASK, variants=("claude",))[1] == 0
