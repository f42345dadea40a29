import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from loop.errors import BusyError, UsageError
from loop.signals import Interrupted
from loop.slots import job_count, job_slot, try_job_slot, try_task_slot

CHILD = """
import sys
from pathlib import Path
from loop.signals import Interrupted, Signals
from loop.slots import job_slot
signals = Signals()
signals.install()
signals.hold()
say = lambda line: print(line, flush=True)
try:
    with signals.interruptible(), job_slot(Path(sys.argv[1]), 1, None, say=say):
        say("in")
        sys.stdin.readline()
except Interrupted as interrupted:
    sys.exit(interrupted.exit_code)
"""


def child(home: Path) -> "subprocess.Popen[str]":
    args = [sys.executable, "-c", CHILD, str(home)]
    return subprocess.Popen(args, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def test_a_process_waits_and_a_signal_or_the_death_of_the_holder_ends_the_wait(tmp_path: Path) -> None:
    first = child(tmp_path)
    children = [first]
    try:
        assert first.stdout.readline() == "in\n"
        children += [child(tmp_path), child(tmp_path)]
        assert all(each.stdout.readline().startswith("waits for a job slot") for each in children[1:])

        children[1].send_signal(signal.SIGINT)
        began = time.monotonic()
        assert children[1].wait(10) == 130
        assert time.monotonic() - began < 5

        first.kill()
        assert children[2].stdout.readline() == "in\n"
    finally:
        for each in children:
            each.kill()
            each.communicate()


def test_the_third_waits_until_one_of_two_is_free(tmp_path: Path) -> None:
    first, second = try_job_slot(tmp_path, 2), try_job_slot(tmp_path, 2)
    assert first
    assert second
    assert try_job_slot(tmp_path, 2) is None
    first.release()
    again = try_job_slot(tmp_path, 2)
    assert again
    again.release()
    second.release()
    assert sorted(p.name for p in (tmp_path / "slots").iterdir()) == ["job-1.lock", "job-2.lock"]


def test_repos_do_not_share_task_slots_nor_do_jobs(tmp_path: Path) -> None:
    first, other = try_task_slot(tmp_path, "a", 1), try_task_slot(tmp_path, "a-1", 1)
    assert first
    assert other
    with first, other, job_slot(tmp_path, 1, 0):
        assert try_task_slot(tmp_path, "a", 1) is None
        assert try_job_slot(tmp_path, 1) is None
    again = try_task_slot(tmp_path, "a", 1)
    assert again
    again.release()


def test_without_patience_it_is_busy_with_one_line(tmp_path: Path) -> None:
    line = r"^waits for a job slot: 1 under way .*FACTORY_JOBS"
    with job_slot(tmp_path, 1, 0), pytest.raises(BusyError, match=line), job_slot(tmp_path, 1, 0):
        pytest.fail("two had one slot")


def test_a_slot_that_becomes_free_is_taken(tmp_path: Path) -> None:
    held = try_job_slot(tmp_path, 1)
    assert held
    said: list[str] = []
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        if len(slept) == 3:
            held.release()

    with job_slot(tmp_path, 1, None, say=said.append, sleep=sleep):
        assert try_job_slot(tmp_path, 1) is None
    assert (slept, len(said)) == ([0.5] * 3, 1)


def test_a_signal_ends_the_wait(tmp_path: Path) -> None:
    def interrupted() -> None:
        raise Interrupted(2)

    waits = job_slot(tmp_path, 1, None, interrupted=interrupted)
    with job_slot(tmp_path, 1, 0), pytest.raises(Interrupted), waits:
        pytest.fail("two had one slot")


def test_an_error_inside_frees_the_slot(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), job_slot(tmp_path, 1, 0):
        _ = 1 / 0
    with job_slot(tmp_path, 1, 0):
        pass


def test_how_many_jobs_a_host_runs_is_two_or_what_the_variable_says() -> None:
    assert [job_count(e) for e in ({}, {"FACTORY_JOBS": ""}, {"FACTORY_JOBS": "7"})] == [2, 2, 7]


@pytest.mark.parametrize("text", ["0", "-1", "two", "1.5", "257", "99999999999", "²", " 1"])
def test_a_number_that_is_none_is_one_sentence(text: str) -> None:
    with pytest.raises(UsageError, match=r"^FACTORY_JOBS is .*; set it to a whole number from 1 to 256$"):
        job_count({"FACTORY_JOBS": text})
