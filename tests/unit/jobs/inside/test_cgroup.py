from collections.abc import Mapping
from itertools import count
from pathlib import Path

import pytest

from jobs.inside.cgroup import Counters, PidsSeen, read_counters


def lay(root: Path, files: Mapping[str, str]) -> str:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return str(root)


def test_version_1_adds_the_children(tmp_path: Path) -> None:
    control = "oom_kill_disable 0\nunder_oom 0\noom_kill {}\n"
    mount = lay(
        tmp_path,
        {
            "memory/memory.oom_control": control.format(1),
            "memory/child/deep/memory.oom_control": control.format(2),
            "memory/memory.max_usage_in_bytes": "4096\n",
            "cpu,cpuacct/cpuacct.usage": "2500000000\n",
            "pids/pids.events": "max 7\n",
            "pids/pids.peak": "31\n",
        },
    )
    assert read_counters(mount, "/nonexistent") == Counters(3, 4096, 2500, 7, 31)


def test_version_2_at_the_mount_and_at_its_own_folder(tmp_path: Path) -> None:
    files = {
        "memory.events": "low 0\noom 2\noom_kill 2\noom_group_kill 0\n",
        "memory.peak": "8192\n",
        "cpu.stat": "usage_usec 1500000\nuser_usec 1\n",
        "pids.events": "max 5\n",
        "pids.peak": "12\n",
    }
    member = tmp_path / "member"
    member.write_text("0::/docker/abc\n")
    mount = lay(tmp_path / "own", files)
    assert read_counters(mount, str(member)) == Counters(2, 8192, 1500, 5, 12)
    mount = lay(tmp_path / "host", {f"docker/abc/{name}": text for name, text in files.items()})
    assert read_counters(mount, str(member)) == Counters(2, 8192, 1500, 5, 12)


def test_a_counter_that_the_kernel_lacks_is_none(tmp_path: Path) -> None:
    mount = lay(tmp_path, {"memory.events": "oom_kill max\n"})
    assert read_counters(mount, "/nonexistent") == Counters(0, None, None, 0, None)


@pytest.mark.parametrize(
    ("marker", "current"),
    [
        ("memory/memory.oom_control", "pids/pids.current"),
        ("memory.events", "pids.current"),
        ("docker/abc/memory.events", "docker/abc/pids.current"),
    ],
)
def test_the_most_of_all_looks_is_kept_in_both_versions(tmp_path: Path, marker: str, current: str) -> None:
    member = tmp_path / "member"
    member.write_text("0::/docker/abc\n")
    seconds = count()
    seen = PidsSeen(lay(tmp_path / "mount", {marker: ""}), str(member), lambda: next(seconds))
    for number in ("4", "9", "6"):
        lay(tmp_path / "mount", {current: f"{number}\n"})
        seen.look()
    assert seen.most == 9


def test_looks_that_follow_at_once_read_nothing(tmp_path: Path) -> None:
    mount = lay(tmp_path, {"memory.events": "", "pids.current": "4\n"})
    now = [100.0]
    seen = PidsSeen(mount, "/nonexistent", lambda: now[0])
    seen.look()
    (tmp_path / "pids.current").write_text("9\n")
    now[0] += 0.01
    seen.look()
    assert seen.most == 4
    now[0] += 0.1
    seen.look()
    assert seen.most == 9


def test_where_no_number_is_told_none_was_seen(tmp_path: Path) -> None:
    seen = PidsSeen(lay(tmp_path, {"memory.events": "", "pids.current": "max\n"}), "/nonexistent")
    seen.look()
    assert seen.most is None
