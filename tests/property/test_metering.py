"""Whatever arrives of a stream, in whatever pieces: buckets right or flagged, one settlement."""

import asyncio
import tempfile
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from instrument.schema.usage import Usage
from proxy.account import Account
from proxy.hiding import UsageHider
from proxy.meter import Reading
from proxy.prices import find_price
from proxy.protocols import anthropic, openai
from proxy.protocols.anthropic import read_ask
from proxy.protocols.wire import Wire
from proxy.settlement import End, settle
from support.proxykit import CHAT_DONE, Proxy, chunk, request, sse

counts = st.integers(min_value=0, max_value=300_000)
texts = st.lists(st.text(max_size=40), max_size=6)


@st.composite
def streams(draw: st.DrawFn) -> tuple[bytes, Usage]:
    """A whole stream, pings anywhere, with the usage that a bill would show."""
    fields = (
        "input_tokens",
        "cache_read_input_tokens",
        "ephemeral_5m_input_tokens",
        "ephemeral_1h_input_tokens",
    )
    figures = {name: draw(counts) for name in fields}
    split = {name: figures.pop(name) for name in fields[2:]}
    figures["cache_creation_input_tokens"] = sum(split.values())
    outputs = sorted(draw(st.lists(counts, min_size=1, max_size=3)))
    opened = {"model": "claude-sonnet-4-5", "usage": {**figures, "cache_creation": split, "output_tokens": 1}}
    events = [sse("message_start", message=opened)]
    events += [sse("content_block_delta", delta={"type": "text_delta", "text": text}) for text in draw(texts)]
    events += [sse("message_delta", delta={}, usage={"output_tokens": output}) for output in outputs]
    for place in draw(st.lists(st.integers(min_value=0, max_value=len(events)), max_size=3)):
        events.insert(place, sse("ping"))
    events.append(sse("message_stop"))
    return b"".join(events), Usage(
        input_tokens=figures["input_tokens"],
        cache_read_tokens=figures["cache_read_input_tokens"],
        cache_write_5m_tokens=split["ephemeral_5m_input_tokens"],
        cache_write_1h_tokens=split["ephemeral_1h_input_tokens"],
        output_tokens=outputs[-1],
    )


def meter(data: bytes, cuts: list[int], wire: Wire = anthropic, path: str = "/v1/messages") -> Reading:
    made = wire.open_meter(path, is_stream=True)
    places = sorted({cut % (len(data) + 1) for cut in cuts} | {0, len(data)})
    for start, end in pairwise(places):
        made.feed(data[start:end])
    return made.read()


@given(streams(), st.lists(st.integers(min_value=0, max_value=100_000), max_size=20))
def test_any_chunking_gives_the_bills_buckets(stream: tuple[bytes, Usage], cuts: list[int]) -> None:
    data, usage = stream
    reading = meter(data, cuts)
    assert reading.usage == usage
    assert reading.is_whole


@st.composite
def openai_streams(draw: st.DrawFn) -> tuple[str, bytes, Usage]:
    """A whole stream of one of OpenAI's APIs, with its path and the usage that a bill would show."""
    uncached, read, written, output = (draw(counts) for _ in range(4))
    details = {"cached_tokens": read, "cache_write_tokens": written}
    said, total = draw(texts), uncached + read + written
    if draw(st.booleans()):
        path = openai.RESPONSES
        usage: dict[str, object] = {"input_tokens": total, "input_tokens_details": details}
        events = [sse("response.created", response={"model": "gpt-5", "usage": None})]
        events += [sse("response.output_text.delta", delta=text) for text in said]
        response = {"model": "gpt-5", "usage": {**usage, "output_tokens": output}}
        events.append(sse("response.completed", response=response))
    else:
        path = openai.CHAT
        usage = {"prompt_tokens": total, "prompt_tokens_details": details, "completion_tokens": output}
        events = [*(chunk({"content": text}) for text in said), chunk(usage=usage), CHAT_DONE]
    return (
        path,
        b"".join(events),
        Usage(
            input_tokens=uncached,
            cache_read_tokens=read,
            cache_write_5m_tokens=written,
            output_tokens=output,
        ),
    )


@given(openai_streams(), st.lists(st.integers(min_value=0, max_value=100_000), max_size=20))
def test_any_chunking_of_openais_streams_gives_the_bills_buckets(
    stream: tuple[str, bytes, Usage], cuts: list[int]
) -> None:
    path, data, usage = stream
    reading = meter(data, cuts, openai, path)
    assert reading.usage == usage
    assert reading.is_whole


@given(
    openai_streams(),
    st.integers(min_value=0, max_value=100_000),
    st.lists(st.integers(min_value=0, max_value=9999), max_size=5),
)
def test_any_cut_of_openais_streams_gives_the_bills_buckets_or_a_flag(
    stream: tuple[str, bytes, Usage], size: int, cuts: list[int]
) -> None:
    path, data, usage = stream
    reading = meter(data[: size % (len(data) + 1)], cuts, openai, path)
    if reading.has_usage:
        assert reading.usage == usage.model_copy(update={"output_tokens": reading.usage.output_tokens})
        assert reading.usage.output_tokens >= usage.output_tokens
    if reading.is_whole:
        assert reading.usage == usage


@given(st.lists(st.text(max_size=20), max_size=5), st.integers(min_value=1, max_value=60))
def test_any_chunking_keeps_the_usage_alone_from_the_client(said: list[str], size: int) -> None:
    before = b"".join(chunk({"content": text}) for text in said)
    data = before + chunk(usage={"prompt_tokens": 1, "completion_tokens": 1}) + CHAT_DONE
    hider = UsageHider()
    passed = b"".join(hider.feed(data[start : start + size]) for start in range(0, len(data), size))
    assert passed + hider.finish() == before + CHAT_DONE


@given(
    streams(),
    st.integers(min_value=0, max_value=100_000),
    st.lists(st.integers(min_value=0, max_value=9999), max_size=5),
)
def test_any_cut_gives_the_bills_buckets_or_a_flag(
    stream: tuple[bytes, Usage], size: int, cuts: list[int]
) -> None:
    data, usage = stream
    reading = meter(data[: size % (len(data) + 1)], cuts)
    if reading.is_whole:
        assert reading.usage == usage
    if reading.has_usage:
        known = reading.usage.model_copy(update={"output_tokens": usage.output_tokens})
        assert known == usage


@given(st.binary(max_size=400), st.lists(st.integers(min_value=0, max_value=400), max_size=5))
def test_no_bytes_break_the_meter(data: bytes, cuts: list[int]) -> None:
    assert not meter(data, cuts).is_whole
    for path in openai.PATHS:
        assert not meter(data, cuts, openai, path).is_whole


@given(streams(), st.integers(min_value=0, max_value=100_000))
def test_any_cut_is_charged_never_below_what_was_reported(stream: tuple[bytes, Usage], size: int) -> None:
    data, usage = stream
    price = find_price("claude-sonnet-4-5")
    ask = read_ask("/v1/messages", b'{"model":"claude-sonnet-4-5","stream":true}')
    reading = meter(data[: size % (len(data) + 1)], [])
    charged = settle(ask, price, 10**9, End(has_left=True, status=200, reading=reading), find_price)
    assert charged.is_estimated is not reading.is_whole
    assert charged.cost_microusd >= price.cost_microusd(reading.usage if reading.has_usage else Usage())
    if reading.is_whole:
        assert charged.cost_microusd == price.cost_microusd(usage)


@given(st.lists(st.tuples(counts, counts), max_size=20), st.integers(min_value=0, max_value=500_000))
def test_what_is_admitted_was_below_the_budget_with_everything_in_flight(
    calls: list[tuple[int, int]], budget: int
) -> None:
    account = Account(budget)
    running: list[int] = []
    for n, (held, cost) in enumerate(calls):
        if account.has_room():
            assert account.spent_microusd + sum(calls[other][0] for other in running) < budget
            account.hold(n, held)
            running.append(n)
        elif running:
            account.settle(running.pop(0), cost)
    for n in running:
        account.settle(n, calls[n][1])
    assert account.committed_microusd == account.spent_microusd


@settings(max_examples=12, deadline=None)
@given(streams(), st.integers(min_value=0, max_value=100_000), st.integers(min_value=1, max_value=200))
def test_through_real_sockets_a_cut_stream_arrives_as_it_was_and_is_settled_once(
    stream: tuple[bytes, Usage], size: int, piece: int
) -> None:
    data, _ = stream
    part = data[: size % len(data)]

    async def cut(_: asyncio.StreamReader, writer: asyncio.StreamWriter, __: bytes) -> None:
        writer.write(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: %d\r\n\r\n" % len(data)
        )
        for start in range(0, len(part), piece):
            writer.write(part[start : start + piece])
            await writer.drain()
        writer.close()
        raise ConnectionResetError

    async def story(proxy: Proxy) -> None:
        reader, writer = await proxy.connect()
        writer.write(request())
        received = await reader.read(-1)
        assert received.partition(b"\r\n\r\n")[2] == part
        await proxy.settled()
        writer.close()
        assert proxy.ledger_path.read_bytes().count(b'"call_ended"') == 1
        assert proxy.summary().bad_lines == 0

    with tempfile.TemporaryDirectory() as folder:
        proxy = Proxy(Path(folder))
        proxy.provider.answers = [cut]
        proxy.run(story)


def test_the_day_of_the_price_is_the_calls() -> None:
    """A fixed point beside the properties: the figures above are charged at these rates."""
    price = find_price("claude-sonnet-4-5", at_utc=datetime(2026, 11, 30, tzinfo=UTC))
    assert price.cost_microusd(Usage(input_tokens=1, output_tokens=1)) == 18
