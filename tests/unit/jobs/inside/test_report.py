from datetime import UTC, datetime
from pathlib import Path

import pytest

from instrument.schema.job import JobReport
from instrument.schema.vocabulary import Ended, Role
from jobs.inside import report as names
from jobs.inside.capture import Captured, show
from jobs.inside.cgroup import Counters
from jobs.inside.report import CommandEnd, Report, as_document, write_document

WHEN = datetime(2026, 1, 2, 3, 4, 5, 678, tzinfo=UTC)
COUNTERS = Counters(1, 2, 3, 4, 5)


def read_back(report: Report, folder: Path, counters: Counters = COUNTERS) -> JobReport:
    path = folder / "job.json"
    write_document(str(path), as_document(report, counters, WHEN, 1.5))
    assert [entry.name for entry in folder.iterdir()] == ["job.json"]
    return JobReport.model_validate_json(path.read_bytes())


def test_the_host_reads_an_empty_report(tmp_path: Path) -> None:
    read = read_back(Report(error="OrderError: order.json is missing"), tmp_path)
    assert read.ended is Ended.EXITED
    assert read.tree is None
    assert read.error == "OrderError: order.json is missing"


def test_the_host_reads_a_full_report(tmp_path: Path) -> None:
    tree = Captured("c" * 40, "t" * 40, "u" * 40, 7, "ab", 2, ["sub"], 1, oversized=True)
    tree.biggest = [{"path": show(b"bad\xff\n"), "size_bytes": 5}]
    tree.special = [show("é".encode())]
    end = CommandEnd("unit", "make test", "out/commands/1-unit.txt", None, 9, timed_out=True, duration_ms=4)
    report = Report("k", "gate", "disk", None, 9, 10, 2, "install", [end], tree, "kept", "too_large")
    read = read_back(report, tmp_path)
    assert (read.role, read.ended, read.started_utc, read.duration_ms) == (Role.GATE, Ended.DISK, WHEN, 1500)
    assert (read.oom_kills, read.peak_memory_bytes, read.cpu_ms) == (1, 2, 3)
    assert read.commands[0].timed_out
    assert (read.pids_refused, read.peak_pids) == (4, 5)
    assert read.tree is not None
    assert read.tree.biggest[0].path == "bad\\xff\n"
    assert read.tree.special == ("é",)


def test_the_host_reads_what_an_agent_ran_in_circles(tmp_path: Path) -> None:
    report = Report(ended=names.NO_PROGRESS, stalled_command="make test", stalled_count=11)
    read = read_back(report, tmp_path)
    assert (read.ended, read.stalled_command, read.stalled_count) == (Ended.NO_PROGRESS, "make test", 11)


@pytest.mark.parametrize(
    ("counted", "seen", "told"), [(9, 7, 9), (None, 7, 7), (9, None, 9), (None, None, None)]
)
def test_the_kernels_own_peak_goes_before_what_was_seen(
    tmp_path: Path, counted: int | None, seen: int | None, told: int | None
) -> None:
    read = read_back(Report(peak_pids=seen), tmp_path, Counters(peak_pids=counted))
    assert read.peak_pids == told


def test_every_end_has_the_hosts_name() -> None:
    ours = {
        *(names.EXITED, names.DEADLINE, names.NO_FIRST_CALL),
        *(names.SIDECAR_MISSING, names.DISK, names.NO_PROGRESS, names.HUNG_AT_END),
        names.HOST_DISK,
    }
    assert ours == {member.value for member in Ended}


def test_the_first_failure_stands_in_one_line() -> None:
    report = Report()
    report.fail("one\n two")
    report.fail("three")
    assert report.error == "one two"
