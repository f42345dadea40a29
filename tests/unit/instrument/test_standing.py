import json
from datetime import UTC, datetime
from typing import Any

import pytest
from click.testing import CliRunner, Result
from filelock import FileLock

from instrument.cli import main
from instrument.schema.origin import ORIGIN_FILE, Origin
from instrument.schema.owner import OWNER_FILE, Owner
from instrument.standing import find_standing

STOP = {"reason": "blocked", "stage": "implement", "outcome": "coder_blocked"}
COMMAND = "factory run tasks/002.md --ruling 'the \"first\"'"
BRIEF = f"# api-002 stopped: blocked\n\nTo continue:\n  {COMMAND}\n  other\n"


def at(hour: int) -> str:
    return f"2026-03-01T{hour:02d}:00:00Z"


@pytest.fixture
def four(home: Any) -> Any:
    """One task done, one stopped, one killed, one running."""
    done = home.folder("api-001")
    done.write_merged(5)
    done.write_events()
    stopped = home.folder("api-002")
    stopped.write_state(
        stage="stopped",
        stop=STOP,
        ended_utc=at(12),
        spend={"microusd": 54_400},
        task_path="tasks/002.md",
    )
    stopped.write_events({"kind": "run_started", "pid": 7, "host": "box", "version": "1"})
    (stopped.path / "lock").touch()
    (stopped.path / "brief.md").write_text(BRIEF)
    killed = home.folder("api-003")
    attempt = {"key": "k", "kind": "job.check"}
    killed.write_state(stage="check", attempt=attempt, spend={"microusd": 1, "lower_bound": True})
    killed.write_events(
        {"kind": "run_started", "pid": 8, "host": "box", "version": "1", "at_utc": at(13)},
        {"kind": "attempt_started", "key": "k", "effect": "job.check", "round": 1, "at_utc": at(14)},
    )
    running = home.folder("api-004")
    running.write_state(stage="review", attempt={"key": "k", "kind": "job.review"})
    running.write_events({"kind": "run_started", "pid": 9, "host": "box", "version": "1", "at_utc": at(15)})
    return home


def status(home: Any, *arguments: str) -> Result:
    return CliRunner().invoke(main, ["status", *arguments], env={"FACTORY_HOME": str(home.path)})


def test_every_task_that_is_not_done_is_told_apart_interrupted_ones_first(four: Any) -> None:
    with FileLock(four.path / "tasks" / "api-004" / "lock"):
        found = find_standing(four.path)

    shown = [(each.task_id, each.how, each.pid, each.since_utc) for each in found]
    assert shown == [
        ("api-003", "interrupted", 8, datetime(2026, 3, 1, 14, tzinfo=UTC)),
        ("api-002", "waiting", 7, datetime(2026, 3, 1, 12, tzinfo=UTC)),
        ("api-004", "running", 9, datetime(2026, 3, 1, 15, tzinfo=UTC)),
    ]
    assert [each.command for each in found] == [
        "factory run tasks/007-retry.md",
        COMMAND,
        None,
    ]


def test_the_open_stops_are_exactly_the_tasks_that_wait(four: Any) -> None:
    found = find_standing(four.path)

    assert [each.task_id for each in found if each.how == "waiting"] == [
        each.task_id for each in found if each.stop is not None
    ]


def test_the_text_has_a_block_a_way_and_the_command_below_each_task(four: Any) -> None:
    with FileLock(four.path / "tasks" / "api-004" / "lock"):
        lines = status(four).stdout.splitlines()

    assert lines[0] == "interrupted: nobody carries these on (1)"
    assert lines[1].split()[:3] == ["api-003", "check,", "check"]
    assert lines[1].endswith("≥ $0.000001")
    assert lines[2] == "    factory run tasks/007-retry.md"
    assert lines[4] == "waiting for a person (1)"
    assert lines[5].split()[:2] == ["api-002", "blocked"]
    assert lines[5].endswith("$0.0544")
    assert lines[8] == "running (1)"
    assert lines[10] == "    process 9 on box"


def test_each_command_names_its_repo_since_the_list_is_of_all(four: Any) -> None:
    store = four.path / "repos" / "api.git"
    store.mkdir(parents=True)
    (store / ORIGIN_FILE).write_text(Origin(root_commit="a" * 40, checkout="/my work").model_dump_json())
    mail = four.folder("api-005")
    mail.write_state(stage="stopped", stop=STOP, ended_utc=at(16), task_path="tasks/5.md")
    (mail.path / "brief.md").write_text("\nTo continue:\n  factory run tasks/5.md --repo /x --park 'why'\n")
    engine = four.folder("api-006")
    engine.write_state(stage="stopped", stop=STOP, ended_utc=at(17))
    (engine.path / "brief.md").write_text("\nTo continue:\n  python -m engine answer api-006\n")

    commands = {each.task_id: each.command for each in find_standing(four.path)}

    assert commands == {
        "api-002": "factory run tasks/002.md --repo '/my work' --ruling 'the \"first\"'",
        "api-003": "factory run tasks/007-retry.md --repo '/my work'",
        "api-004": "factory run tasks/007-retry.md --repo '/my work'",
        "api-005": "factory run tasks/5.md --repo /x --park 'why'",
        "api-006": "python -m engine answer api-006",
    }


def test_check_is_for_cron(four: Any) -> None:
    assert status(four, "--check").exit_code == 1
    for name in ("api-003", "api-004"):
        with FileLock(four.path / "tasks" / name / "lock"):
            other = "api-004" if name == "api-003" else "api-003"
            assert [each.how for each in find_standing(four.path)].count("interrupted") == 1
            assert status(four, "--check").exit_code == 1, other
    with (
        FileLock(four.path / "tasks" / "api-003" / "lock"),
        FileLock(four.path / "tasks" / "api-004" / "lock"),
    ):
        assert status(four, "--check").exit_code == 0


def test_an_unreadable_state_is_shown_with_what_is_wrong(home: Any) -> None:
    folder = home.folder("api-001")
    (folder.path / "state.json").write_text("{")

    result = status(home, "--check")

    assert result.exit_code == 1
    assert result.stdout.startswith("unreadable (1)\n  api-001")
    assert "    state.json is damaged (Invalid JSON" in result.stdout


def test_json_is_one_object_a_task(four: Any) -> None:
    lines = [json.loads(line) for line in status(four, "--json").stdout.splitlines()]

    assert [(line["task_id"], line["how"], line["cost_microusd"]) for line in lines] == [
        ("api-003", "interrupted", 1),
        ("api-004", "interrupted", 0),
        ("api-002", "waiting", 54_400),
    ]


def test_nothing_under_way_is_said(home: Any) -> None:
    home.folder("api-001").write_merged(1)

    assert status(home).stdout == "No task is under way and none waits.\n"


def test_a_look_holds_no_lock_that_a_loop_would_see(four: Any) -> None:
    find_standing(four.path)

    with FileLock(four.path / "tasks" / "api-003" / "lock", timeout=0):
        pass


def test_a_task_that_the_engine_drives_is_running_though_nobody_holds_it(four: Any) -> None:
    mark = Owner(driver="engine", command="python -m engine export api-003", since_utc=datetime.now(UTC))
    (four.path / "tasks" / "api-003" / OWNER_FILE).write_bytes(mark.model_dump_json().encode())
    (four.path / "tasks" / "api-002" / OWNER_FILE).write_bytes(mark.model_dump_json().encode())

    lines = [json.loads(line) for line in status(four, "--json").stdout.splitlines()]
    assert [(line["task_id"], line["how"], line["driver"]) for line in lines] == [
        ("api-004", "interrupted", None),
        ("api-002", "waiting", "engine"),
        ("api-003", "running", "engine"),
    ]
    assert "    driven by the engine\n" in status(four).stdout
