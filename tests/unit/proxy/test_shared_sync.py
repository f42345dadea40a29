"""Calls side by side: none leaves before its start is on the disk."""

import asyncio

import pytest

from proxy.ledger import Ledger
from support.proxykit import Proxy, message_stream, request, stream_answer

DISK_GONE = "the disk is gone"


class HeldLedger(Ledger):
    """A real ledger whose shared sync waits until a test lets it through."""

    may_sync: asyncio.Event
    is_broken = False

    async def synced(self) -> None:
        await self.may_sync.wait()
        if self.is_broken:
            raise OSError(DISK_GONE)
        await super().synced()


@pytest.fixture
def held(proxy: Proxy) -> type[HeldLedger]:
    """The class of the proxy's ledger; of this test alone."""

    class ThisLedger(HeldLedger):
        may_sync = asyncio.Event()

    proxy.ledger_class = ThisLedger
    return ThisLedger


async def start_two(
    proxy: Proxy,
) -> tuple[asyncio.Task[tuple[bytes, bytes]], asyncio.Task[tuple[bytes, bytes]]]:
    """The first is at the provider, which does not answer; the second has its start written."""
    at_provider = asyncio.Event()

    async def never(reader: asyncio.StreamReader, _: asyncio.StreamWriter, __: bytes) -> None:
        at_provider.set()
        await reader.read()

    proxy.provider.answers = [never, stream_answer(message_stream())]
    first = asyncio.create_task(proxy.ask(request()))
    await at_provider.wait()
    second = asyncio.create_task(proxy.ask(request()))
    while len(proxy.summary().calls) < 2:  # noqa: ASYNC110 - the ledger is a file
        await asyncio.sleep(0.005)
    return first, second


def test_a_call_beside_another_leaves_only_when_its_start_is_on_the_disk(
    proxy: Proxy, held: type[HeldLedger]
) -> None:
    async def story(proxy: Proxy) -> None:
        first, second = await start_two(proxy)
        await asyncio.sleep(0.05)
        assert len(proxy.provider.bodies) == 1
        held.may_sync.set()
        _, body = await second
        assert body == message_stream()
        first.cancel()

    proxy.run(story)
    assert proxy.failures == []


def test_a_client_that_leaves_before_the_sync_costs_nothing(proxy: Proxy, held: type[HeldLedger]) -> None:
    async def story(proxy: Proxy) -> None:
        first, second = await start_two(proxy)
        second.cancel()
        call = (await proxy.settled()).calls[1]
        assert (call.settled, call.cost_microusd) == (True, 0)
        held.may_sync.set()
        assert len(proxy.provider.bodies) == 1
        first.cancel()

    proxy.run(story)
    assert proxy.failures == []


def test_a_call_whose_start_cannot_be_kept_does_not_leave_and_ends_the_sidecar(
    proxy: Proxy, held: type[HeldLedger]
) -> None:
    held.is_broken = True

    async def story(proxy: Proxy) -> None:
        first, second = await start_two(proxy)
        held.may_sync.set()
        await proxy.settled()
        second.cancel()
        assert len(proxy.provider.bodies) == 1
        first.cancel()

    proxy.run(story)
    assert str(proxy.failures[0]) == DISK_GONE
