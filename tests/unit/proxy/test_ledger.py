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
from proxy.ledger import LAZY_SYNC_S, Ledger

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
    ledger.close()
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_line_is_the_row_as_its_model_writes_it(tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    usage = Usage(input_tokens=1, output_tokens=2)
    ended = CallEnded(
        n=1,
        at_utc=AT,
        status=200,
        model="é\x7f",
        usage=usage,
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
    for row in (started(1), ended, notice):
        ledger.append(row)
    ledger.close()
    assert [json.loads(line) for line in path.read_bytes().splitlines()] == [
        json.loads(row.model_dump_json()) for row in (started(1), ended, notice)
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


class CountedLedger(Ledger):
    """A real ledger whose syncs are counted."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.syncs = 0
        self.has_synced = threading.Event()

    def sync(self) -> None:
        super().sync()
        self.syncs += 1
        self.has_synced.set()


@pytest.fixture
def counted(tmp_path: Path) -> Iterator[CountedLedger]:
    ledger = CountedLedger(tmp_path / "ledger.jsonl")
    yield ledger
    ledger.close()


def test_those_that_ask_in_one_turn_share_a_sync(counted: CountedLedger) -> None:
    async def story() -> None:
        await asyncio.gather(*(counted.synced() for _ in range(5)))
        assert counted.syncs == 1
        await counted.synced()
        assert counted.syncs == 2

    asyncio.run(story())


def test_a_row_that_is_written_after_a_sync_waits_for_the_next_one(counted: CountedLedger) -> None:
    seen: list[int] = []

    async def start(n: int) -> None:
        counted.append(started(n))
        await counted.synced()
        seen.append(counted.syncs)

    async def story() -> None:
        await start(1)
        await asyncio.gather(start(2), start(3))

    asyncio.run(story())
    assert seen == [1, 2, 2]


class SlowLedger(Ledger):
    """A real ledger on a disk whose syncs end when a test says so."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.begun, self.may_end = threading.Semaphore(0), threading.Semaphore(0)

    def sync(self) -> None:
        self.begun.release()
        assert self.may_end.acquire(timeout=10)


def test_the_loop_goes_on_during_a_slow_sync_and_whoever_asks_then_is_in_the_next_one(tmp_path: Path) -> None:
    ledger = SlowLedger(tmp_path / "ledger.jsonl")

    async def story() -> None:
        first = asyncio.create_task(ledger.synced())
        assert await asyncio.to_thread(ledger.begun.acquire, timeout=10)
        second, third = asyncio.create_task(ledger.synced()), asyncio.create_task(ledger.synced())
        await asyncio.sleep(0)
        ledger.may_end.release()
        await first
        assert not second.done()
        assert await asyncio.to_thread(ledger.begun.acquire, timeout=10)
        ledger.may_end.release()
        await asyncio.gather(second, third)

    asyncio.run(story())
    assert not ledger.begun.acquire(blocking=False)
    ledger.may_end.release()
    ledger.close()


def test_one_that_stops_waiting_does_not_take_the_sync_from_the_others(counted: CountedLedger) -> None:
    async def story() -> None:
        leaves, stays = asyncio.create_task(counted.synced()), asyncio.create_task(counted.synced())
        await asyncio.sleep(0)
        leaves.cancel()
        await stays
        assert leaves.cancelled()

    asyncio.run(story())
    assert counted.syncs == 1


def test_an_end_is_synced_by_itself_where_no_start_follows(counted: CountedLedger) -> None:
    async def story() -> None:
        for _ in range(3):
            counted.sync_later()
        assert await asyncio.to_thread(counted.has_synced.wait, 10)

    asyncio.run(story())
    assert counted.syncs == 1


def test_an_end_is_synced_with_the_start_that_follows(counted: CountedLedger) -> None:
    async def story() -> None:
        counted.sync_later()
        counted.sync()
        await asyncio.sleep(LAZY_SYNC_S * 1.5)

    asyncio.run(story())
    assert counted.syncs == 1


def test_a_failed_background_sync_shows_at_the_next_row(unsyncable: Ledger) -> None:
    async def story() -> None:
        unsyncable.sync_later()
        async with asyncio.timeout(10):
            while True:
                unsyncable.append(started(2))
                await asyncio.sleep(0.05)

    with pytest.raises(OSError, match="could not be synced"):
        asyncio.run(story())


def test_a_failed_shared_sync_is_an_error_for_each_that_waits(unsyncable: Ledger) -> None:
    async def story() -> list[BaseException | None]:
        return await asyncio.gather(unsyncable.synced(), unsyncable.synced(), return_exceptions=True)

    assert all(isinstance(error, OSError) for error in asyncio.run(story()))


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
