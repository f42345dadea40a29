"""The ledger's writer."""

import asyncio
import json
import os
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from instrument.ledger import read_ledger
from instrument.schema.ledger import CallEnded, CallStarted, Denied, Notice
from instrument.schema.usage import Usage
from instrument.schema.vocabulary import NoticeKind
from proxy.ledger import SYNC_S, Ledger, Row

AT = datetime(2026, 11, 30, tzinfo=UTC)


def started(n: int) -> Row:
    return CallStarted(
        n=n, at_utc=AT, path="/", model=None, reserved_microusd=1, user_agent='quo"te\nline'
    ).model_dump()


def test_a_row_is_a_whole_line_as_soon_as_it_is_appended(tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    ledger = Ledger(path)
    for n in (1, 2):
        ledger.append(started(n))
        assert path.read_bytes().count(b"\n") == n
        assert read_ledger(path.read_bytes()).calls[-1].n == n
    ledger.close()
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_line_is_the_row_as_its_model_writes_it(tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    ended = CallEnded(
        n=1,
        at_utc=AT,
        status=200,
        model="é\x7f",
        usage=Usage(input_tokens=1, output_tokens=2),
        cost_microusd=3,
        estimated=True,
        first_byte_ms=0,
    )
    notice = Notice(
        at_utc=AT,
        what=NoticeKind.BUDGET_80,
        n=1,
        spent_microusd=8,
        budget_microusd=10,
        calls=0,
        input_tokens=0,
    )
    ledger = Ledger(path)
    ledger.append(ended.model_dump())
    ledger.append(notice)
    ledger.close()
    assert [json.loads(line) for line in path.read_bytes().splitlines()] == [
        json.loads(row.model_dump_json()) for row in (ended, notice)
    ]


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


class SlowLedger(Ledger):
    """A real ledger on a disk whose syncs end when a test says so."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.begun, self.may_end = threading.Semaphore(0), threading.Semaphore(0)

    def sync(self) -> None:
        self.begun.release()
        assert self.may_end.acquire(timeout=10)
        super().sync()


@pytest.fixture
def slow(tmp_path: Path) -> Iterator[SlowLedger]:
    ledger = SlowLedger(tmp_path / "ledger.jsonl")
    yield ledger
    ledger.may_end.release(10)
    ledger.close()


async def wait_for(sync: threading.Semaphore) -> None:
    assert await asyncio.to_thread(sync.acquire, timeout=10)


def test_rows_of_one_moment_share_a_sync_that_the_loop_does_not_wait_for(slow: SlowLedger) -> None:
    async def story() -> None:
        for _ in range(3):
            slow.sync_soon()
        await wait_for(slow.begun)

    asyncio.run(story())
    assert not slow.begun.acquire(blocking=False)


def test_a_row_that_comes_during_a_slow_sync_is_in_the_next_one(slow: SlowLedger) -> None:
    async def story() -> None:
        slow.sync_soon()
        await wait_for(slow.begun)
        slow.sync_soon()
        slow.sync_soon()
        await asyncio.sleep(3 * SYNC_S)
        assert not slow.begun.acquire(blocking=False)
        slow.may_end.release()
        await wait_for(slow.begun)
        slow.may_end.release()

    asyncio.run(story())
    assert not slow.begun.acquire(blocking=False)


def test_a_failed_background_sync_shows_at_the_next_row(unsyncable: Ledger) -> None:
    async def story() -> None:
        unsyncable.sync_soon()
        async with asyncio.timeout(10):
            while True:
                unsyncable.append(started(2))
                await asyncio.sleep(0.05)

    with pytest.raises(OSError, match="could not be synced"):
        asyncio.run(story())


@pytest.fixture
def unsyncable(tmp_path: Path) -> Iterator[Ledger]:
    """A pipe cannot be synced."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    ledger = Ledger(fifo)
    yield ledger
    with pytest.raises(OSError, match="argument"):
        ledger.close()
    os.close(reader)
