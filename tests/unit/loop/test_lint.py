from pathlib import Path

import pytest
from click.testing import CliRunner

from jobs.errors import EngineUnavailableError
from jobs.order import JobOrder
from loop.errors import BusyError, UsageError
from loop.leases import try_lease
from loop.lint import lint, lint_command
from loop.problems import Problems
from loop.signals import Interrupted
from support.repos import TASK, TASK_ID, TASK_TEXT, Desk, edited

BROKEN = {"unit": b"old"}
"""The base has this text: the check fails there."""


def said(desk: Desk, *tasks: str) -> tuple[int, list[str]]:
    lines: list[str] = []
    code = lint(tasks or (TASK,), desk.folder / "person", desk.world(), out=lines.append)
    return code, lines


def problems(desk: Desk, *tasks: str) -> list[str]:
    with pytest.raises(Problems) as caught:
        said(desk, *tasks)
    assert desk.jobs.created() == {}
    return [str(problem) for problem in caught.value.problems]


def write(desk: Desk, name: str, *heads: str) -> str:
    """A task file in the working copy alone."""
    text = edited(TASK_TEXT, "files:", "".join(f"{head}\n" for head in heads) + "files:")
    (desk.folder / "person" / name).write_text(text)
    return name


def left(desk: Desk) -> list[str]:
    folder = desk.home / "lint"
    return sorted(p.name for p in folder.iterdir() if p.is_dir()) if folder.exists() else []


def test_a_line_a_check_and_exit_0_on_a_green_base(desk: Desk) -> None:
    assert said(desk) == (0, [f"{TASK}  unit: passes (0.0 s)", f"{TASK}  full: passes (0.0 s)"])
    assert (desk.jobs.left(), left(desk)) == ([], [])
    assert sum(desk.jobs.created().values()) == 1


def test_a_check_that_fails_on_the_base_is_red_and_its_output_is_kept(desk: Desk) -> None:
    desk.script.failing = BROKEN

    code, lines = said(desk)

    output = desk.home / "lint" / TASK_ID / "jobs/0001-baseline-1/out/commands/unit.txt"
    assert code == 1
    assert lines[0] == f"{TASK}  unit: fails (exit code 1); see {output}"
    assert output.read_text() == desk.script.output
    assert lines[1] == f"{TASK}  full: passes (0.0 s)"


def test_a_check_that_the_task_turns_green_must_fail(desk: Desk) -> None:
    task = write(desk, TASK, "turns_green: [unit]")
    assert said(desk, task) == (
        1,
        [
            f"{TASK}  unit: passes on the base, but turns_green says that it fails (0.0 s)",
            f"{TASK}  full: passes (0.0 s)",
        ],
    )

    desk.script.failing = BROKEN
    code, lines = said(desk, task)
    assert code == 0
    assert lines[0].startswith(f"{TASK}  unit: fails as turns_green says (exit code 1); see ")
    assert Path(lines[0].rpartition(" ")[2]).read_text() == desk.script.output


def test_a_draft_is_linted_before_it_is_committed(desk: Desk) -> None:
    draft = write(desk, "tasks/008-draft.md", "acceptance: [unit]", "depends: [007]")

    assert said(desk, draft, TASK, draft)[0] == 0
    assert sum(desk.jobs.created().values()) == 2
    assert "demo-008: checks on" in desk.said.getvalue()
    assert "the working copy, not committed" in desk.said.getvalue()


def test_no_task_of_the_record_comes_of_it(desk: Desk) -> None:
    said(desk)

    assert not (desk.home / "tasks").exists()
    assert desk.person.git("status", "--porcelain") == b""


def test_all_faults_of_all_files_come_before_anything_runs(desk: Desk) -> None:
    first = write(desk, "tasks/008-a.md", "checks: [nuit]")
    second = write(desk, "tasks/009-b.md", "depends: [077]")
    third = write(desk, "tasks/007-twin.md")
    fourth = write(desk, "tasks/notes.md")

    assert problems(desk, TASK, first, second, third, fourth) == [
        f"{TASK}: {third} has the same number; rename one of them",
        f"{third}: {TASK} has the same number; rename one of them",
        'tasks/008-a.md:3: checks: factory.toml has no check "nuit"; did you mean "unit"?',
        "tasks/009-b.md:3: depends: there is no task 077 beside it",
        "tasks/notes.md: a task file is named NNN-slug.md, such as 007-retry.md",
    ]


def test_what_cannot_be_linted_is_one_sentence(desk: Desk) -> None:
    (desk.folder / "person" / TASK).write_text(edited(TASK_TEXT, "status: ready", "status: done"))
    assert problems(desk) == [f"{TASK}:2: the task is done already; nothing to lint"]
    assert problems(desk, "tasks/099-gone.md") == [
        "tasks/099-gone.md: is neither in the working copy nor on the branch; write it"
    ]
    del desk.environment["JOB_SECRET"]
    (desk.folder / "person" / TASK).unlink()
    assert [line.partition(": ")[2] for line in problems(desk)] == [
        "[job] env: JOB_SECRET is not set here; set it"
    ]
    with pytest.raises(UsageError):
        said(desk, "../elsewhere/001-x.md")


def test_the_same_task_is_linted_once_at_a_time(desk: Desk) -> None:
    lease = try_lease(desk.home / "lint" / f"{TASK_ID}.lock")
    assert lease is not None
    with lease, pytest.raises(BusyError, match=TASK_ID):
        said(desk)


def test_an_image_that_cannot_be_made_is_red(desk: Desk) -> None:
    desk.script.unfit = "pip failed"

    assert said(desk) == (1, [f"{TASK}  set-up fails on the base: pip failed"])


@pytest.mark.parametrize("error", [Interrupted(2), EngineUnavailableError("gone")])
def test_nothing_is_left_when_it_is_ended(desk: Desk, error: BaseException) -> None:
    def fail(status: str, _: JobOrder) -> None:
        if status == "running":
            raise error

    desk.jobs.at = fail
    with pytest.raises(type(error)):
        said(desk)
    assert desk.jobs.left() == []


def test_what_a_killed_lint_left_goes_at_the_next(desk: Desk) -> None:
    class Dead(BaseException):
        pass

    reap, desk.jobs.reap = desk.jobs.reap, lambda *_a, **_k: 0
    desk.jobs.at = kill_when_running(Dead())
    with pytest.raises(Dead):
        said(desk)
    assert len(desk.jobs.left()) == 1

    desk.jobs.reap, desk.jobs.at = reap, lambda *_: None
    assert said(desk)[0] == 0
    assert desk.jobs.left() == []


def kill_when_running(error: BaseException):
    def fail(status: str, _: JobOrder) -> None:
        if status == "running":
            raise error

    return fail


def test_a_lost_job_is_red_and_no_check_counts_as_passed(desk: Desk) -> None:
    def lose(status: str, order: JobOrder) -> None:
        if status == "exited":
            box = next((desk.jobs.root / "containers").iterdir())
            (box / "end.json").write_text(desk.jobs._lost(order).model_dump_json())

    desk.jobs.at = lose
    code, lines = said(desk)

    assert code == 1
    assert "did not run to its end (The job left no folder of results.)" in lines[0]
    assert lines[1:] == [f"{TASK}  unit: not run", f"{TASK}  full: not run"]


@pytest.mark.parametrize(("failing", "code"), [({}, 0), (BROKEN, 1)])
def test_the_command_prints_and_ends_with_the_code(desk: Desk, failing: dict, code: int) -> None:
    desk.script.failing = failing
    command = lint_command(desk.world)

    ended = CliRunner().invoke(command, [TASK, "--repo", str(desk.folder / "person")])

    assert ended.exit_code == code, ended.output
    assert len(ended.stdout.splitlines()) == 2


def test_the_command_needs_a_task(desk: Desk) -> None:
    assert CliRunner().invoke(lint_command(desk.world), []).exit_code == 2
