import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobs.inside.watch import Pump, first_call, past, wait


class Kept:
    def __init__(self) -> None:
        self.data = b""
        self.is_closed = False

    def write(self, data: bytes) -> None:
        self.data += data

    def close(self) -> None:
        self.is_closed = True


@pytest.fixture
def pump() -> Iterator[Pump]:
    made = Pump()
    yield made
    made.close()


def spawn(pump: Pump, line: str, sink: Kept) -> "subprocess.Popen[bytes]":
    reader, writer = os.pipe()
    pump.add(reader, sink)
    child = subprocess.Popen(["sh", "-c", line], stdin=subprocess.DEVNULL, stdout=writer)
    os.close(writer)
    return child


def test_a_program_is_waited_for_and_its_output_drained(pump: Pump) -> None:
    sink = Kept()
    child = spawn(pump, "head -c 300000 /dev/zero; exit 3", sink)
    assert wait(child, pump, [past(time.monotonic() + 20, "deadline")]) is None
    pump.settle([sink])
    assert child.returncode == 3
    assert len(sink.data) == 300_000
    assert sink.is_closed


def test_a_passed_limit_is_named_while_the_program_runs(pump: Pump) -> None:
    child = spawn(pump, "exec sleep 30", Kept())
    assert wait(child, pump, [past(time.monotonic() + 0.1, "deadline")]) == "deadline"
    assert child.poll() is None
    child.kill()
    child.wait()


def test_a_look_is_taken_again_and_again_while_a_program_is_waited_for() -> None:
    looks: list[float] = []
    pump = Pump(lambda: looks.append(time.monotonic()))
    child = spawn(pump, "exec sleep 30", Kept())
    # The limit passes by the number of looks: without them only the second one would end this.
    many = lambda: "many" if len(looks) >= 3 else None
    assert wait(child, pump, [many, past(time.monotonic() + 20, "deadline")], poll_s=0.01) == "many"
    child.kill()
    child.wait()
    pump.close()


def test_an_end_wakes_the_wait_at_once(pump: Pump) -> None:
    sink = Kept()
    child = spawn(pump, "exec 1>&-; sleep 0.2", sink)
    began = time.monotonic()
    assert wait(child, pump, [], poll_s=20) is None
    assert time.monotonic() - began < 10


def test_a_pipe_held_open_is_not_waited_for_but_still_drained(pump: Pump, tmp_path: Path) -> None:
    first, second = Kept(), Kept()
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    wait(spawn(pump, f"(read -r _ < {fifo}; echo late) & echo early", first), pump, [])
    # Nobody has written yet: were the pipe waited for, this would not end.
    pump.settle([first])
    assert first.is_closed
    assert first.data == b"early\n"
    fifo.write_text("go on\n")
    child = spawn(pump, "exec sleep 60", second)
    assert wait(child, pump, [lambda: "late" if b"late" in first.data else None]) == "late"
    child.kill()
    child.wait()


def test_the_first_call_is_asked_for_until_it_was_seen(tmp_path: Path) -> None:
    marker = tmp_path / "called"
    assert first_call(None, 0, "no_first_call")() is None
    assert first_call(str(marker), time.monotonic() + 60, "no_first_call")() is None
    late = first_call(str(marker), 0, "no_first_call")
    assert late() == "no_first_call"
    marker.touch()
    assert late() is None
    marker.unlink()
    assert late() is None
