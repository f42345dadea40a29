import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from jobs.errors import EngineUnavailableError
from jobs.load import Load
from loop.errors import BusyError, UsageError
from loop.home import mark_of
from loop.leases import try_lease
from loop.signals import Interrupted
from loop.slotfiles import JobLease, Need, take_lease
from loop.slots import Host, host_label, host_of, job_count, job_slot, try_job_slot
from loop.waiting import Waiting

MINE = Need(key="demo-001-check-1-aa")
GIB = 1024**3
CHILD = """
import sys
from pathlib import Path
from loop.signals import Interrupted, Signals
from loop.slotfiles import Need
from loop.slots import Host, job_slot
signals = Signals()
signals.install()
signals.hold()
say = lambda line: print(line, flush=True)
try:
    with signals.interruptible(), job_slot(Host(Path(sys.argv[1]), 1), Need(key="k"), None, say=say):
        say("in")
        sys.stdin.readline()
except Interrupted as interrupted:
    sys.exit(interrupted.exit_code)
"""


def child(home: Path) -> "subprocess.Popen[str]":
    args = [sys.executable, "-c", CHILD, str(home)]
    return subprocess.Popen(args, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def running(*keys: str, own: Mapping[str, int] | None = None, other: int = 0, total: int = 0):
    """An engine on which these jobs run, in the way that `Host.load` looks."""
    return lambda _home, _host: Load(frozenset(keys), own or {}, other, total)


def taken(host: Host, key: str) -> JobLease:
    got = try_job_slot(host, Need(key=key))
    assert isinstance(got, JobLease), got
    return got


def line(host: Host, need: Need = MINE) -> str:
    """Why the job waits; empty: it does not."""
    got = try_job_slot(host, need)
    if isinstance(got, Waiting):
        return got.line
    got.release()
    return ""


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
    host = Host(tmp_path, 2)
    first, second = taken(host, "a"), taken(host, "b")
    assert line(host).startswith("waits for a job slot: 2 under way on this host")
    first.release()
    taken(host, "c").release()
    second.release()
    assert sorted(p.name for p in (tmp_path / "slots").iterdir()) == ["door.lock", "job-1.lock", "job-2.lock"]


def test_a_running_container_takes_a_slot_until_a_lease_stands_for_it(tmp_path: Path) -> None:
    host = Host(tmp_path, 2, load=running("a", "b"))
    assert "2 under way" in line(host)
    assert line(host, Need(key="a")) == "", "its own container does not stand in its way"
    with take_lease(tmp_path, "", Need(key="a")), take_lease(tmp_path, "", Need(key="b")):
        assert "2 under way" in line(host), "a job with its lease counts once"
    with take_lease(tmp_path, "", Need(key="c")):
        assert "3 under way" in line(host)


def test_the_note_of_a_dead_holder_stands_for_nothing(tmp_path: Path) -> None:
    lease = take_lease(tmp_path, "", Need(key="a"))
    note = (tmp_path / "slots/job-1.json").read_bytes()
    lease.release()
    (tmp_path / "slots/job-1.json").write_bytes(note)
    assert "1 under way" in line(Host(tmp_path, 1, load=running("a")))


def test_a_held_lease_whose_file_cannot_be_read_counts_beside_its_container(tmp_path: Path) -> None:
    host = Host(tmp_path, 2, load=running("a"))
    with take_lease(tmp_path, "", Need(key="a")):
        assert line(host) == ""
        (tmp_path / "slots/job-1.json").write_bytes(b"{")
        assert "2 under way" in line(host)


def test_a_job_that_has_begun_takes_a_lease_and_never_waits(tmp_path: Path) -> None:
    host = Host(tmp_path, 1, load=running("other"))
    with job_slot(host, MINE, 0, has_begun=True):
        assert "2 under way" in line(host, Need(key="third"))
        with job_slot(host, Need(key="k"), 0, has_begun=True):
            pass
    lease = try_lease(tmp_path / "slots/door.lock")
    assert lease
    with lease, job_slot(host, MINE, 0, has_begun=True):
        assert not (tmp_path / "slots/job-1.json").exists(), "it went on without a lease"


def test_where_the_engine_does_not_answer_leases_alone_count(tmp_path: Path) -> None:
    def load(_home: str, _host: str) -> Load:
        raise EngineUnavailableError("none answers")

    host = Host(tmp_path, 1, load=load)
    with taken(host, "a"):
        assert "1 under way" in line(host)
    assert line(host) == ""


def test_the_engine_is_asked_behind_the_door_for_this_home_and_host(tmp_path: Path) -> None:
    asked: list[tuple[str, str]] = []

    def load(home: str, host: str) -> None:
        assert try_lease(tmp_path / "slots/door.lock") is None
        asked.append((home, host))

    assert line(Host(tmp_path, 1, "big", load)) == ""
    assert asked == [(mark_of(tmp_path), "big")]


def test_hosts_of_other_labels_have_slots_of_their_own(tmp_path: Path) -> None:
    hosts = [Host(tmp_path, 1, label) for label in ("", "a", "a-1")]
    leases = [taken(host, "k") for host in hosts]
    assert {p.name for p in (tmp_path / "slots").glob("*.json")} == {
        "job-1.json",
        "job-a-1.json",
        "job-a-1-1.json",
    }
    assert line(hosts[1]) == ("waits for a job slot: 1 under way on host a (FACTORY_JOBS sets how many)")
    leases[1].release()
    assert [bool(line(host)) for host in hosts] == [True, False, True]
    for lease in leases:
        lease.release()


def test_memory_that_is_not_there_is_waited_for_with_figures(tmp_path: Path) -> None:
    need = Need(key="mine", memory_bytes=4 * GIB)
    load = running("a", own={"a": 3 * GIB}, other=2 * GIB, total=8 * GIB)
    assert line(Host(tmp_path, 9, load=load), need) == (
        "waits for memory: the job may take 4.0 GiB ([limits] memory), and what runs "
        "may take 5.0 GiB of the engine's 8.0 GiB"
    )
    assert line(Host(tmp_path, 9, load=load), Need(key="mine", memory_bytes=3 * GIB)) == ""
    assert line(Host(tmp_path, 9, load=running(other=2 * GIB)), need) == "", "its size is not told"


def test_a_job_that_nothing_else_runs_beside_is_let_through_however_large(tmp_path: Path) -> None:
    need = Need(key="mine", memory_bytes=99 * GIB)
    load = running("mine", own={"mine": 8 * GIB}, total=8 * GIB)
    assert line(Host(tmp_path, 1, load=load), need) == ""


def test_memory_is_promised_to_a_job_that_is_about_to_run(tmp_path: Path) -> None:
    need = Need(key="mine", memory_bytes=5 * GIB)
    host = Host(tmp_path, 9, load=running(total=8 * GIB))
    first = try_job_slot(host, Need(key="a", memory_bytes=4 * GIB))
    assert isinstance(first, JobLease)
    with first:
        assert line(host, need).startswith("waits for memory")
        both = Host(tmp_path, 9, load=running("a", own={"a": 3 * GIB}, total=8 * GIB))
        assert line(both, need) == "", "once it runs its limit counts, not both"


def test_without_patience_it_is_busy_with_one_line(tmp_path: Path) -> None:
    said = r"^waits for a job slot: 1 under way .*FACTORY_JOBS"
    host, other = Host(tmp_path, 1), Need(key="other")
    with job_slot(host, MINE, 0), pytest.raises(BusyError, match=said), job_slot(host, other, 0):
        pytest.fail("two had one slot")


def test_a_slot_that_becomes_free_is_taken(tmp_path: Path) -> None:
    host = Host(tmp_path, 1)
    held = taken(host, "a")
    said: list[str] = []
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        if len(slept) == 3:
            held.release()

    with job_slot(host, MINE, None, say=said.append, sleep=sleep):
        assert "1 under way" in line(host, Need(key="third"))
    assert (slept, len(said)) == ([0.5] * 3, 1)


def test_a_lease_that_is_given_back_twice_takes_nothing_from_the_next(tmp_path: Path) -> None:
    host = Host(tmp_path, 1)
    first = taken(host, "a")
    first.release()
    with taken(host, "b"):
        first.release()
        assert "1 under way" in line(host)
        assert b'"b"' in (tmp_path / "slots/job-1.json").read_bytes()


def test_a_signal_ends_the_wait(tmp_path: Path) -> None:
    def interrupted() -> None:
        raise Interrupted(2)

    host = Host(tmp_path, 1)
    waits = job_slot(host, Need(key="other"), None, interrupted=interrupted)
    with job_slot(host, MINE, 0), pytest.raises(Interrupted), waits:
        pytest.fail("two had one slot")


def test_an_error_inside_frees_the_slot(tmp_path: Path) -> None:
    host = Host(tmp_path, 1)
    with pytest.raises(ZeroDivisionError), job_slot(host, MINE, 0):
        _ = 1 / 0
    with job_slot(host, Need(key="other"), 0):
        pass


def test_how_many_jobs_a_host_runs_is_two_or_what_the_variable_says() -> None:
    assert [job_count(e) for e in ({}, {"FACTORY_JOBS": ""}, {"FACTORY_JOBS": "7"})] == [2, 2, 7]


@pytest.mark.parametrize("text", ["0", "-1", "two", "1.5", "257", "99999999999", "²", " 1"])
def test_a_number_that_is_none_is_one_sentence(text: str) -> None:
    with pytest.raises(UsageError, match=r"^FACTORY_JOBS is .*; set it to a whole number from 1 to 256$"):
        job_count({"FACTORY_JOBS": text})


def test_a_host_is_what_its_environment_says(tmp_path: Path) -> None:
    load = running()
    assert host_of(tmp_path, {}, load) == Host(tmp_path, 2, "", load)
    named = {"FACTORY_HOST": "Big-box_2.lan", "FACTORY_JOBS": "3"}
    assert host_of(tmp_path, named, load) == Host(tmp_path, 3, "Big-box_2.lan", load)


@pytest.mark.parametrize("text", ["a b", "a/b", "../x", "ü", "x" * 64, "a\n", " "])
def test_a_label_that_is_none_is_one_sentence(text: str) -> None:
    with pytest.raises(UsageError, match=r"^FACTORY_HOST is .*; use 1 to 63 of: letters a-z, digits, . - _$"):
        host_label({"FACTORY_HOST": text})
