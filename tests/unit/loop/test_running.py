import json
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from loop.errors import BusyError
from loop.leases import try_lease
from loop.running import Claim, claim, claim_durable, this_process, withdraw
from loop.waiting import Waiting
from support.ends import START

TRACKED = ("src/a.py", "src/b.py")
CHILD = """
import sys
from datetime import UTC, datetime
from pathlib import Path
from loop.running import Claim, claim, this_process
home, task, pattern = sys.argv[1:]
mine = this_process(task, [pattern], (), datetime.now(UTC))
print("ready", flush=True)
sys.stdin.readline()
got = claim(Path(home), "demo", mine, (), count=9)
print("in" if isinstance(got, Claim) else got.line, flush=True)
sys.stdin.readline()
"""


def take(home: Path, task: str, *files: str, count: int = 2, generated: tuple[str, ...] = ()):
    return claim(home, "demo", this_process(task, files, generated, START), TRACKED, count=count)


def taken(*args, **how) -> Claim:
    got = take(*args, **how)
    assert isinstance(got, Claim), got
    return got


def blocker(home: Path, task: str, pattern: str, tracked: Iterable[str] = TRACKED) -> str | None:
    """Why the task has to wait; none: it could begin."""
    found = claim(home, "demo", this_process(task, [pattern], (), START), tracked, count=9)
    if isinstance(found, Waiting):
        return found.line
    found.release()
    return None


def files(home: Path) -> list[str]:
    return sorted(path.name for path in (home / "running/demo").iterdir())


def test_disjoint_tasks_run_side_by_side(tmp_path: Path) -> None:
    with taken(tmp_path, "demo-001", "src/a.py"), taken(tmp_path, "demo-002", "src/b.py"):
        assert [name for name in files(tmp_path) if name.endswith("json")] == [
            "demo-001.json",
            "demo-002.json",
        ]
    assert files(tmp_path) == []


def test_an_overlap_waits_for_whom_and_why_and_goes_on_after(tmp_path: Path) -> None:
    with taken(tmp_path, "demo-001", "src/**"):
        got = take(tmp_path, "demo-002", "src/a.py")
        assert isinstance(got, Waiting)
        assert got.line.startswith(f"demo-002 waits for demo-001 (process {os.getpid()} on ")
        assert got.line.endswith("): both may touch src/a.py")
        assert got.line.count("\n") == 0
    taken(tmp_path, "demo-002", "src/a.py").release()


def test_a_refused_task_takes_no_slot_and_publishes_nothing(tmp_path: Path) -> None:
    with taken(tmp_path, "demo-001", "src/**"):
        assert isinstance(take(tmp_path, "demo-002", "src/a.py"), Waiting)
        with taken(tmp_path, "demo-003", "docs/**"):
            pass


def test_the_third_task_of_a_repo_waits_for_a_slot_and_names_the_two(tmp_path: Path) -> None:
    with taken(tmp_path, "demo-001", "a/**"), taken(tmp_path, "demo-002", "b/**"):
        got = take(tmp_path, "demo-003", "c/**")
        assert isinstance(got, Waiting)
        assert got.line == "demo-003 waits for a task slot of demo (there are 2): demo-001, demo-002"
    taken(tmp_path, "demo-003", "c/**").release()


def test_generated_paths_count_only_where_both_call_them_so(tmp_path: Path) -> None:
    lock = ("pkg.lock",)
    with taken(tmp_path, "demo-001", "a/**", "pkg.lock", generated=lock):
        taken(tmp_path, "demo-002", "b/**", "pkg.lock", generated=lock).release()
        assert isinstance(take(tmp_path, "demo-002", "b/**", "pkg.lock"), Waiting)


def test_one_task_is_carried_on_once(tmp_path: Path) -> None:
    with taken(tmp_path, "demo-001", "a/**"):
        with pytest.raises(BusyError, match="demo-001"):
            take(tmp_path, "demo-001", "a/**")
        assert "demo-001.json" in files(tmp_path)
        taken(tmp_path, "demo-002", "b/**").release()


def test_a_file_without_its_process_is_removed(tmp_path: Path) -> None:
    claimed = taken(tmp_path, "demo-001", "src/**")
    kept = (tmp_path / "running/demo/demo-001.json").read_bytes()
    claimed.release()
    (tmp_path / "running/demo/demo-001.json").write_bytes(kept)

    assert blocker(tmp_path, "demo-002", "src/**", TRACKED) is None
    assert files(tmp_path) == []


def test_a_living_task_whose_file_cannot_be_read_is_waited_for(tmp_path: Path) -> None:
    with taken(tmp_path, "demo-001", "src/a.py"):
        path = tmp_path / "running/demo/demo-001.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | {"schema_version": 2}))
        got = take(tmp_path, "demo-002", "docs/**")
        assert isinstance(got, Waiting)
        assert (
            got.line
            == "demo-002 waits for demo-001: both may touch paths that cannot be told: its file is unreadable"
        )


def test_a_write_that_fails_leaves_everything_free(tmp_path: Path) -> None:
    blocked = tmp_path / "running/demo/.demo-001.json.new"
    blocked.mkdir(parents=True)
    with pytest.raises(OSError):
        take(tmp_path, "demo-001", "a/**", count=1)
    blocked.rmdir()
    taken(tmp_path, "demo-001", "a/**", count=1).release()


def test_looking_is_done_behind_the_door(tmp_path: Path) -> None:
    door = tmp_path / "running/demo.lock"

    def tracked() -> Iterator[str]:
        assert try_lease(door) is None
        yield "src/a.py"

    mine = this_process("demo-001", ["a/**"], (), START)
    with claim(tmp_path, "demo", mine, tracked(), count=1) as claimed:
        assert isinstance(claimed, Claim)
        assert blocker(tmp_path, "demo-002", "b/**", tracked()) is None
        lease = try_lease(door)
        assert lease is not None
        lease.release()


def test_the_end_of_the_block_may_come_twice(tmp_path: Path) -> None:
    claimed = taken(tmp_path, "demo-001", "a/**")
    claimed.release()
    with taken(tmp_path, "demo-001", "a/**"):
        claimed.release()
        assert try_lease(tmp_path / "running/demo/demo-001.lock") is None


def drive(home: Path, task: str, *files: str, count: int = 9, driver: str = "engine") -> str | None:
    """Why the driver has to wait; none: the claim stands."""
    mine = this_process(task, files, (), START, driver=driver)
    found = claim_durable(home, "demo", mine, TRACKED, count=count)
    return found.line if found else None


def test_a_claim_of_a_driver_outlives_its_process_until_it_is_withdrawn(tmp_path: Path) -> None:
    assert drive(tmp_path, "demo-005", "src/**") is None
    for _ in range(2):
        assert blocker(tmp_path, "demo-007", "src/a.py") == (
            "demo-007 waits for demo-005 (driven by the engine): both may touch src/a.py"
        )
    assert blocker(tmp_path, "demo-008", "docs/**") is None
    withdraw(tmp_path, "demo", "demo-005")
    withdraw(tmp_path, "demo", "demo-005")
    assert blocker(tmp_path, "demo-007", "src/a.py") is None
    assert files(tmp_path) == []


def test_a_driver_waits_for_a_loop_and_for_another_of_its_tasks(tmp_path: Path) -> None:
    with taken(tmp_path, "demo-001", "src/**"):
        assert str(drive(tmp_path, "demo-002", "src/a.py")).startswith("demo-002 waits for demo-001 (process")
        assert drive(tmp_path, "demo-001", "src/**") == "demo-001 waits for the loop that carries it on"
        assert drive(tmp_path, "demo-003", "docs/**") is None
    assert files(tmp_path) == ["demo-003.json"]
    assert "(driven by the engine)" in str(drive(tmp_path, "demo-004", "docs/x"))


def test_a_claim_of_a_driver_takes_a_task_slot(tmp_path: Path) -> None:
    assert drive(tmp_path, "demo-001", "a/**") is None
    with taken(tmp_path, "demo-002", "b/**"):
        full = "demo-003 waits for a task slot of demo (there are 2): demo-001, demo-002"
        assert drive(tmp_path, "demo-003", "c/**", count=2) == full
        got = take(tmp_path, "demo-003", "c/**", count=2)
        assert isinstance(got, Waiting)
        assert got.line == full
        assert drive(tmp_path, "demo-001", "a/**", count=1) is None, "its own slot is its own"
    assert drive(tmp_path, "demo-003", "c/**", count=2) is None


def test_a_driver_may_claim_again_and_other_paths_are_looked_at_anew(tmp_path: Path) -> None:
    assert drive(tmp_path, "demo-001", "a/**") is None
    assert drive(tmp_path, "demo-002", "b/**") is None
    kept = (tmp_path / "running/demo/demo-001.json").read_bytes()
    assert drive(tmp_path, "demo-001", "a/**") is None
    assert "demo-001 waits for demo-002" in str(drive(tmp_path, "demo-001", "a/**", "b/**"))
    assert (tmp_path / "running/demo/demo-001.json").read_bytes() == kept
    assert drive(tmp_path, "demo-001", "c/**") is None
    assert blocker(tmp_path, "demo-009", "a/x") is None
    assert "demo-001" in str(blocker(tmp_path, "demo-009", "c/x"))


def test_no_loop_carries_on_what_a_driver_has(tmp_path: Path) -> None:
    assert drive(tmp_path, "demo-001", "a/**") is None
    with pytest.raises(BusyError, match=r"^demo-001: the engine carries this task on; wait for it$"):
        take(tmp_path, "demo-001", "a/**")
    assert "demo-001.json" in files(tmp_path)


def test_a_claim_of_a_process_is_not_withdrawn(tmp_path: Path) -> None:
    with taken(tmp_path, "demo-001", "src/**"):
        withdraw(tmp_path, "demo", "demo-001")
        assert isinstance(take(tmp_path, "demo-002", "src/a.py"), Waiting)


def test_a_claim_of_a_driver_of_another_version_is_waited_for(tmp_path: Path) -> None:
    assert drive(tmp_path, "demo-001", "src/**") is None
    path = tmp_path / "running/demo/demo-001.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"schema_version": 2}))
    assert "its file is unreadable" in str(blocker(tmp_path, "demo-002", "docs/**"))
    assert drive(tmp_path, "demo-001", "src/**") is None, "its own driver writes it anew"
    assert blocker(tmp_path, "demo-002", "docs/**") is None


def test_a_claim_that_outlives_its_process_needs_a_driver(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="driver"):
        drive(tmp_path, "demo-001", "src/**", driver="")


def child(home: Path, task: str, pattern: str) -> "subprocess.Popen[str]":
    args = [sys.executable, "-c", CHILD, str(home), task, pattern]
    return subprocess.Popen(args, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def test_of_processes_that_start_at_once_one_passes_and_death_frees_its_place(tmp_path: Path) -> None:
    children = [child(tmp_path, f"demo-{n:03d}", "src/**") for n in (1, 2, 3)]
    try:
        assert [each.stdout.readline() for each in children] == ["ready\n"] * 3
        for each in children:
            each.stdin.write("\n")
            each.stdin.flush()
        said = [each.stdout.readline().strip() for each in children]
        assert said.count("in") == 1, said
        winner = said.index("in")
        name = f"demo-{winner + 1:03d}"
        assert all(
            f"waits for {name} (process {children[winner].pid}" in text for text in said if text != "in"
        )

        assert isinstance(take(tmp_path, "demo-009", "src/a.py", count=9), Waiting)
        children[winner].kill()
        children[winner].wait()
        taken(tmp_path, "demo-009", "src/a.py", count=1).release()
        assert files(tmp_path) == []
    finally:
        for each in children:
            each.kill()
            each.communicate()
