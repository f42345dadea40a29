"""Parallel calls between real sockets: they cannot pass the budget together, and none waits for ever."""

import asyncio

import orjson

from support.proxykit import Answerer, Proxy, message_stream, read_message, request, stream_answer

HELD_MICROUSD = -(-len(request().partition(b"\r\n\r\n")[2]) // 2) * 375 // 100 + 1
"""A call's input at most: half of its bytes as tokens, at the price of a write to the cache."""


class Gate:
    """A provider's answers that wait until they are let go, one at a time."""

    def __init__(self) -> None:
        self.arrived = 0
        self._go = asyncio.Semaphore(0)
        self._came = asyncio.Condition()

    def let_go(self, count: int = 1) -> None:
        for _ in range(count):
            self._go.release()

    async def arrivals(self, count: int) -> None:
        """Wait until this many requests have come."""
        async with self._came:
            await self._came.wait_for(lambda: self.arrived >= count)

    def answering(self, output_tokens: int) -> Answerer:
        async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter, __: bytes) -> None:
            async with self._came:
                self.arrived += 1
                self._came.notify_all()
            await self._go.acquire()
            writer.write(stream_answer(message_stream(output=output_tokens)))

        return answer


def cost_microusd(output_tokens: int) -> int:
    return 25 * 3 + 15 * output_tokens


def order_of_rows(proxy: Proxy) -> list[str]:
    kinds = (orjson.loads(line)["kind"] for line in proxy.ledger_path.read_bytes().splitlines())
    return [kind for kind in kinds if kind in ("call_started", "call_ended", "denied")]


def test_a_call_that_does_not_fit_beside_the_running_one_starts_when_that_has_ended(proxy: Proxy) -> None:
    gate = Gate()
    proxy.provider.answers = [gate.answering(5)]
    proxy.budget_microusd = 2 * HELD_MICROUSD - 1

    async def story(proxy: Proxy) -> None:
        asks = [asyncio.create_task(proxy.ask(request())) for _ in range(2)]
        await gate.arrivals(1)
        gate.let_go(2)
        for head, body in await asyncio.gather(*asks):
            assert head.startswith(b"HTTP/1.1 200 ")
            assert body == message_stream(output=5)
        assert order_of_rows(proxy) == ["call_started", "call_ended"] * 2

    proxy.run(story)


def test_calls_that_fit_together_run_together(proxy: Proxy) -> None:
    gate = Gate()
    proxy.provider.answers = [gate.answering(5)]
    proxy.budget_microusd = 3 * HELD_MICROUSD

    async def story(proxy: Proxy) -> None:
        asks = [asyncio.create_task(proxy.ask(request())) for _ in range(3)]
        await gate.arrivals(3)
        gate.let_go(3)
        await asyncio.gather(*asks)
        assert order_of_rows(proxy)[:3] == ["call_started"] * 3

    proxy.run(story)


def test_twenty_calls_at_once_pass_the_budget_by_what_those_of_one_moment_write(proxy: Proxy) -> None:
    gate = Gate()
    gate.let_go(20)
    proxy.provider.answers = [gate.answering(40)]
    proxy.budget_microusd = 3 * HELD_MICROUSD

    async def story(proxy: Proxy) -> None:
        answers = await asyncio.gather(*(proxy.ask(request()) for _ in range(20)))
        statuses = sorted(head.split()[1] for head, _ in answers)
        summary = proxy.summary()
        assert statuses == [b"200"] * len(summary.calls) + [b"400"] * len(summary.denied)
        assert len(statuses) == 20
        assert {row.reason for row in summary.denied} == {"budget"}
        assert summary.cost_microusd == len(summary.calls) * cost_microusd(40)
        assert proxy.budget_microusd <= summary.cost_microusd <= proxy.budget_microusd + 3 * 40 * 15

    proxy.run(story)


def test_those_that_wait_start_in_the_order_in_which_they_came(proxy: Proxy) -> None:
    gate = Gate()
    proxy.provider.answers = [gate.answering(1)]
    proxy.budget_microusd = 2 * HELD_MICROUSD - 1

    async def story(proxy: Proxy) -> None:
        asks = []
        for n in range(5):
            asks.append(asyncio.create_task(proxy.ask(request(extra=b"user-agent: agent/%d\r\n" % n))))
            await gate.arrivals(1)
            await in_place(proxy, n + 1)
        gate.let_go(5)
        await asyncio.gather(*asks)
        calls = proxy.summary().calls
        assert [call.user_agent for call in calls] == [f"agent/{n}" for n in range(5)][: len(calls)]
        assert len(calls) > 2

    proxy.run(story)


async def in_place(proxy: Proxy, count: int) -> None:
    """Wait until exactly so many requests run or wait their turn."""
    while True:
        if sum(connection.task is not None for connection in proxy.connections) == count:
            return
        await asyncio.sleep(0)


def test_a_client_that_leaves_while_it_waits_costs_nothing_and_leaves_no_row(proxy: Proxy) -> None:
    gate = Gate()
    proxy.provider.answers = [gate.answering(1)]
    proxy.budget_microusd = 2 * HELD_MICROUSD - 1

    async def story(proxy: Proxy) -> None:
        first = asyncio.create_task(proxy.ask(request()))
        await gate.arrivals(1)
        _, writer = await proxy.connect()
        writer.write(request(extra=b"user-agent: gone\r\n"))
        await in_place(proxy, 2)
        third = asyncio.create_task(proxy.ask(request(extra=b"user-agent: third\r\n")))
        await in_place(proxy, 3)
        writer.close()
        await in_place(proxy, 2)
        gate.let_go(2)
        await asyncio.gather(first, third)
        assert [call.user_agent for call in proxy.summary().calls] == ["", "third"]
        assert proxy.summary().denied == ()

    proxy.run(story)


def test_a_waiting_call_is_refused_when_the_running_one_has_spent_the_budget(proxy: Proxy) -> None:
    gate = Gate()
    proxy.provider.answers = [gate.answering(1000)]
    proxy.budget_microusd = 2 * HELD_MICROUSD - 1

    async def story(proxy: Proxy) -> None:
        first = asyncio.create_task(proxy.ask(request()))
        await gate.arrivals(1)
        reader, writer = await proxy.connect()
        writer.write(request())
        await in_place(proxy, 2)
        gate.let_go()
        await first
        head, body = await read_message(reader)
        assert head.startswith(b"HTTP/1.1 400 ")
        assert b"x-should-retry: false" in head
        assert orjson.loads(body)["error"]["type"] == "billing_error"
        assert order_of_rows(proxy) == ["call_started", "call_ended", "denied"]
        # The connection is as good as after any refusal.
        writer.write(request())
        assert (await read_message(reader))[0].startswith(b"HTTP/1.1 400 ")
        writer.close()

    proxy.run(story)


def test_a_waiting_call_is_refused_at_the_deadline(proxy: Proxy) -> None:
    gate = Gate()
    proxy.provider.answers = [gate.answering(1)]
    proxy.budget_microusd, proxy.deadline_s = 2 * HELD_MICROUSD - 1, 0.1

    async def story(proxy: Proxy) -> None:
        first = asyncio.create_task(proxy.ask(request()))
        await gate.arrivals(1)
        head, body = await proxy.ask(request(extra=b"connection: close\r\n"))
        assert head.startswith(b"HTTP/1.1 400 ")
        assert b"connection: close" in head
        assert "time" in orjson.loads(body)["error"]["message"]
        assert proxy.summary().denied[0].reason == "deadline"
        gate.let_go()
        assert (await first)[0].startswith(b"HTTP/1.1 200 ")

    proxy.run(story)
