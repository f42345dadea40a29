"""The nine answers that are known to be charged wrongly by others, each to the micro-dollar.

Every one goes through real sockets. All are of Sonnet 4.5, in dollars a million tokens: input 3, cache
read 0.30, writes 3.75 (5 min) and 6 (1 h), output 15; with more than 200,000 tokens of input, caches
included, 6, 0.60, 7.50, 12 and 22.50; a search costs a cent.
"""

import asyncio
from typing import Any

import orjson
import pytest

from instrument.schema.ledger import ModelCall
from instrument.schema.usage import Usage
from support.proxykit import MODEL, Answerer, Proxy, json_answer, request, sse, stream_answer

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
TEXT = sse("content_block_delta", index=0, delta={"type": "text_delta", "text": "x" * 200})
"""200 bytes: cut here, they count as 100 tokens of output."""
STOP = sse("message_stop")


def start(**usage: Any) -> bytes:
    return sse("message_start", message={"model": MODEL, "usage": {"output_tokens": 1, **usage}})


def delta(**usage: Any) -> bytes:
    return sse("message_delta", delta={"stop_reason": "end_turn"}, usage=usage)


def settle(proxy: Proxy, answer: bytes | Answerer, asked: bytes | None = None) -> ModelCall:
    """The one row of a call that was read to its end, however that came."""

    async def story(proxy: Proxy) -> None:
        reader, writer = await proxy.connect()
        writer.write(asked or request(extra=b"connection: close\r\n"))
        await reader.read(-1)
        await proxy.settled()

    proxy.provider.answers = [answer]
    proxy.run(story)
    return row_of(proxy)


def row_of(proxy: Proxy) -> ModelCall:
    """Settled exactly once, and nothing else on the bill."""
    assert proxy.ledger_path.read_bytes().count(b'"call_ended"') == 1
    summary = proxy.summary()
    (row,) = summary.calls
    assert (summary.bad_lines, summary.cost_microusd) == (0, row.cost_microusd)
    return row


def test_writes_for_an_hour_are_charged_apart_from_those_for_five_minutes(proxy: Proxy) -> None:
    split = {"ephemeral_5m_input_tokens": 2000, "ephemeral_1h_input_tokens": 1000}
    opened = start(input_tokens=25, cache_creation_input_tokens=3000, cache_creation=split)
    row = settle(proxy, stream_answer(opened + TEXT + delta(output_tokens=15) + STOP))
    # 25 x 3 = 75; 2000 x 3.75 = 7500; 1000 x 6 = 6000; 15 x 15 = 225
    assert (row.cost_microusd, row.estimated) == (13_800, False)


def test_an_answer_that_is_not_streamed_is_charged_the_same_way(proxy: Proxy) -> None:
    split = {"ephemeral_5m_input_tokens": 12_304, "ephemeral_1h_input_tokens": 0}
    writes = {"cache_creation_input_tokens": 12_304, "cache_creation": split}
    usage = {"input_tokens": 3, "cache_read_input_tokens": 1000, "output_tokens": 550, **writes}
    body = orjson.dumps({"model": MODEL, "max_tokens": 1000, "messages": []})
    asked = request(body, extra=b"connection: close\r\n")
    row = settle(proxy, json_answer({"type": "message", "model": MODEL, "usage": usage}), asked)
    # 3 x 3 = 9; 12,304 x 3.75 = 46,140; 1000 x 0.30 = 300; 550 x 15 = 8250
    assert (row.cost_microusd, row.estimated) == (54_699, False)


@pytest.mark.parametrize(
    ("split", "is_flagged"),
    [
        ({"cache_creation": {"ephemeral_5m_input_tokens": 2000, "ephemeral_1h_input_tokens": 0}}, False),
        ({}, True),
    ],
    ids=["with its split", "without"],
)
def test_caches_that_only_the_delta_names_are_charged(
    proxy: Proxy, split: dict[str, Any], *, is_flagged: bool
) -> None:
    """A delta mostly names no lives: then they are taken for five minutes, which may be too low."""
    ended = delta(output_tokens=15, cache_read_input_tokens=10_000, cache_creation_input_tokens=2000, **split)
    row = settle(proxy, stream_answer(start(input_tokens=25) + TEXT + ended + STOP))
    # 25 x 3 = 75; 10,000 x 0.30 = 3000; 2000 x 3.75 = 7500; 15 x 15 = 225
    assert (row.cost_microusd, row.estimated) == (10_800, is_flagged)


def test_searches_that_grow_in_the_deltas_are_charged_once_each(proxy: Proxy) -> None:
    grown = (
        start(input_tokens=2679, server_tool_use={"web_search_requests": 0})
        + delta(input_tokens=10_682, output_tokens=510, server_tool_use={"web_search_requests": 1})
        + delta(input_tokens=10_990, output_tokens=600, server_tool_use={"web_search_requests": 2})
    )
    row = settle(proxy, stream_answer(grown + STOP))
    # 10,990 x 3 = 32,970; 600 x 15 = 9000; 2 x 10,000 = 20,000
    assert (row.cost_microusd, row.estimated) == (61_970, False)


@pytest.mark.parametrize(
    ("read", "cost"),
    [
        # at the edge: 1000 x 3 = 3000; 199,000 x 0.30 = 59,700; 100 x 15 = 1500
        (199_000, 64_200),
        # beyond it: 1000 x 6 = 6000; 199,001 x 0.60 = 119,400.6; 100 x 22.50 = 2250; rounded up once
        (199_001, 127_651),
    ],
)
def test_cache_reads_alone_can_lift_a_call_beyond_the_cliff(proxy: Proxy, read: int, cost: int) -> None:
    opened = start(input_tokens=1000, cache_read_input_tokens=read)
    row = settle(proxy, stream_answer(opened + delta(output_tokens=100) + STOP))
    assert (row.cost_microusd, row.estimated) == (cost, False)


BEGUN = start(input_tokens=25, cache_read_input_tokens=1000) + TEXT
BEGUN_MICROUSD = 1875
"""25 x 3 = 75; 1000 x 0.30 = 300; 100 estimated x 15 = 1500."""
BEGUN_USAGE = Usage(input_tokens=25, cache_read_tokens=1000, output_tokens=100)


def test_a_cut_answer_is_charged_once_its_input_exactly_and_its_output_upwards(proxy: Proxy) -> None:
    async def cut(_: asyncio.StreamReader, writer: asyncio.StreamWriter, __: bytes) -> None:
        writer.write(HEAD + b"%x\r\n%b\r\n" % (len(BEGUN), BEGUN))
        await writer.drain()
        raise ConnectionResetError

    row = settle(proxy, cut)
    assert (row.cost_microusd, row.usage, row.estimated) == (BEGUN_MICROUSD, BEGUN_USAGE, True)


def test_a_client_that_left_is_charged_once_and_the_upstream_is_closed(proxy: Proxy) -> None:
    closed = asyncio.Event()

    async def wait(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, _: bytes) -> None:
        writer.write(HEAD + b"%x\r\n%b\r\n" % (len(BEGUN), BEGUN))
        await writer.drain()
        assert await reader.read() == b""
        closed.set()

    async def story(proxy: Proxy) -> None:
        reader, writer = await proxy.connect()
        writer.write(request())
        await reader.readuntil(b"x" * 200)
        writer.transport.abort()
        await closed.wait()
        await proxy.settled()

    proxy.provider.answers = [wait]
    proxy.run(story)
    row = row_of(proxy)
    assert (row.cost_microusd, row.usage, row.estimated) == (BEGUN_MICROUSD, BEGUN_USAGE, True)


def test_an_error_in_the_middle_is_charged_once_up_to_it(proxy: Proxy) -> None:
    error = sse("error", error={"type": "overloaded_error", "message": "Overloaded"})
    row = settle(proxy, stream_answer(BEGUN + error))
    assert (row.cost_microusd, row.usage, row.estimated) == (BEGUN_MICROUSD, BEGUN_USAGE, True)
    assert (row.status, row.error_type) == (200, "overloaded_error")


def test_a_compaction_is_added_to_the_counts_that_leave_it_out(proxy: Proxy) -> None:
    turn = {"type": "message", "input_tokens": 23_000, "output_tokens": 1000}
    compaction = {"type": "compaction", "input_tokens": 180_000, "output_tokens": 3500}
    ended = delta(input_tokens=23_000, output_tokens=1000, iterations=[compaction, turn])
    row = settle(proxy, stream_answer(start(input_tokens=23_000) + TEXT + ended + STOP))
    # The turn: 23,000 x 3 = 69,000; 1000 x 15 = 15,000. The compaction: 180,000 x 3 = 540,000;
    # 3500 x 15 = 52,500. Each is below the cliff that both together would pass.
    assert (row.cost_microusd, row.estimated) == (676_500, False)
    assert row.usage == Usage(input_tokens=203_000, output_tokens=4500)
