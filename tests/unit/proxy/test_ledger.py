"""The ledger's writer."""

import os
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from instrument.ledger import read_ledger
from instrument.schema.ledger import CallStarted, Denied
from proxy.ledger import Ledger

AT = datetime(2026, 11, 30, tzinfo=UTC)


def started(n: int) -> CallStarted:
    return CallStarted(n=n, at_utc=AT, path="/", model=None, reserved_microusd=1, user_agent='quo"te\nline')


def test_a_row_is_a_whole_line_as_soon_as_it_is_appended(tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    ledger = Ledger(path)
    for n in (1, 2):
        ledger.append(started(n))
        assert path.read_bytes().count(b"\n") == n
        assert read_ledger(path.read_bytes()).calls[-1].n == n
    ledger.sync_later()
    ledger.close()
    assert path.stat().st_mode & 0o777 == 0o600


def test_rows_are_added_to_what_is_there(tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    for n in (1, 2):
        ledger = Ledger(path)
        ledger.append(started(n))
        ledger.close()
    assert len(read_ledger(path.read_bytes()).calls) == 2


def test_a_disk_that_refuses_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="absent"):
        Ledger(tmp_path / "absent" / "ledger.jsonl")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_disk_is_an_error() -> None:
    ledger = Ledger(Path("/dev/full"))
    with pytest.raises(OSError, match="space"):
        ledger.append(Denied(at_utc=AT, reason="path", method="GET", path="/"))


def test_a_failed_background_sync_shows_at_the_next_row(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    ledger = Ledger(fifo)  # a pipe cannot be synced
    ledger.append(started(1))
    ledger.sync_later()
    errors: list[str] = []
    for _ in range(2000):
        try:
            ledger.append(started(2))
            os.read(reader, 65536)
            time.sleep(0.005)
        except OSError as error:
            errors.append(str(error))
            break
    os.close(reader)
    assert "could not be synced" in errors[0]
