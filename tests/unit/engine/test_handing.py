from pathlib import Path

import pytest

from engine.handing import identify, spread, taken_from
from engine.messages import TaskOrder
from loop.errors import BusyError, UsageError
from loop.session import hold_lock
from loop.store import save_state
from support.backlog import make_repo
from support.lives import new_state

BARE = TaskOrder(task_id="", repo="", checkout="", task="")


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FACTORY_HOME", str(tmp_path / "home"))


def test_a_folder_stands_for_its_ready_tasks_in_order(tmp_path: Path) -> None:
    for name, status in (("002-b", "ready"), ("001-a", "ready"), ("003-c", "done"), ("notes", "ready")):
        (tmp_path / f"{name}.md").write_text(f"---\nstatus: {status}\n---\n")
    assert [Path(path).name for path in spread((str(tmp_path),), Path())] == ["001-a.md", "002-b.md"]
    assert spread(("tasks/007-x.md", str(tmp_path)), Path())[0] == "tasks/007-x.md"


def test_a_status_is_read_from_the_front_matter_and_what_cannot_be_read_waits_to_be_mended(
    tmp_path: Path,
) -> None:
    (tmp_path / "001-quoted.md").write_text('---\nstatus: "ready"\n---\n')
    (tmp_path / "002-done.md").write_text("---\nstatus: done\n---\nIt said `status: ready` once.\n")
    (tmp_path / "003-broken.md").write_text("---\nstatus: ready\nfiles: [\n---\n")
    assert [Path(path).name for path in spread((str(tmp_path),), Path())] == [
        "001-quoted.md",
        "003-broken.md",
    ]


def test_a_folder_without_a_ready_task_is_said(tmp_path: Path) -> None:
    (tmp_path / "001-a.md").write_text("---\nstatus: done\n---\n")
    with pytest.raises(UsageError, match="no task with status: ready"):
        spread((str(tmp_path),), Path())


def test_a_task_is_of_the_repository_that_it_lies_in(tmp_path: Path) -> None:
    repo = make_repo(tmp_path, "red", 2)
    order = identify(str(repo.checkout / "tasks/002-note.md"), None, BARE)
    assert (order.task_id, order.repo) == ("red-002", "red")
    assert (order.checkout, order.task) == (str(repo.checkout), "tasks/002-note.md")


def test_a_task_that_is_not_committed_is_refused(tmp_path: Path) -> None:
    repo = make_repo(tmp_path, "red", 1)
    (repo.checkout / "tasks/009-new.md").write_text("---\nstatus: ready\n---\n")
    with pytest.raises(UsageError, match=r"^tasks/009-new\.md is not committed on main"):
        identify("tasks/009-new.md", repo.checkout, BARE)


def test_what_was_never_begun_cannot_be_taken_over(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="python -m engine submit"):
        taken_from(tmp_path, "red-001", None)


def test_what_a_loop_carries_on_cannot_be_taken_over(tmp_path: Path) -> None:
    folder = tmp_path / "tasks" / "red-001"
    folder.mkdir(parents=True)
    save_state(folder, new_state())
    assert taken_from(tmp_path, "red-001", "big") is None
    with hold_lock(folder, "red-001"), pytest.raises(BusyError, match="another loop holds this task"):
        taken_from(tmp_path, "red-001", None)
