"""Whatever arrives of a stream, in whatever pieces: buckets right or flagged, one settlement."""

import asyncio
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from proxy.buckets import Buckets
from proxy.hiding import UsageHider
from proxy.meter import Extra, Reading
from proxy.mode import PLAIN, Mode
from proxy.prices import find_price
from proxy.protocols import anthropic, openai
from proxy.protocols.wire import Wire
from proxy.rates import Price, round_up
from proxy.settlement import End, Settlement, settle
from support.proxykit import CHAT_DONE, Proxy, chunk, request, sse

unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
"""The first price is read from the disk, and the machine may be busy."""
counts = st.integers(min_value=0, max_value=300_000)
few = st.integers(min_value=0, max_value=5)
texts = st.lists(st.text(max_size=40), max_size=6)
places = st.integers(min_value=0, max_value=100_000)
cuts = st.lists(places, max_size=20)

WRITES = ("ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens")
OPUS, HAIKU, GPT = "claude-opus-5-5", "claude-haiku-4-5", "gpt-5"
PING = sse("ping")


@dataclass(frozen=True)
class Bill:
    """A whole stream, and what a bill would show for it."""

    wire: Wire
    path: str
    data: bytes
    usage: Buckets
    mode: Mode = PLAIN
    extras: tuple[Extra, ...] = ()

    @property
    def model(self) -> str:
        return OPUS if self.wire is anthropic else GPT

    @property
    def ask(self) -> bytes:
        return orjson.dumps({"model": self.model, "max_tokens": 100, "stream": True})

    def price_of(self, model: str, mode: Mode) -> Price:
        return find_price(model, self.wire.PROVIDER, mode=mode)

    @property
    def cost_microusd(self) -> int:
        """Every part at its own price and with its own cliff; only then rounded."""
        exact = self.price_of(self.model, self.mode).exact_femtousd(self.usage)
        for extra in self.extras:
            mode = self.mode if extra.model is None else Mode(inference_geo=self.mode.inference_geo)
            assert extra.usage is not None
            exact += self.price_of(extra.model or self.model, mode).exact_femtousd(extra.usage)
        return round_up(exact)


def with_pings(draw: st.DrawFn, events: list[bytes], ping: bytes = PING) -> bytes:
    for place in draw(st.lists(st.integers(min_value=0, max_value=len(events)), max_size=3)):
        events.insert(place, ping)
    return b"".join(events)


@st.composite
def message_input(draw: st.DrawFn) -> tuple[dict[str, Any], Buckets]:
    """The input's fields of a `usage`, with its buckets."""
    split = {name: draw(counts) for name in WRITES}
    read, uncached = draw(counts), draw(counts)
    fields = {
        "input_tokens": uncached,
        "cache_read_input_tokens": read,
        "cache_creation_input_tokens": sum(split.values()),
        "cache_creation": split,
    }
    return fields, Buckets(
        input_tokens=uncached,
        cache_read_tokens=read,
        cache_write_5m_tokens=split[WRITES[0]],
        cache_write_1h_tokens=split[WRITES[1]],
    )


@st.composite
def iterations(draw: st.DrawFn) -> tuple[list[dict[str, Any]], tuple[Extra, ...]]:
    """What a call did inside: turns, that its counts hold, and work beside them."""
    entries, extras = [], []
    for kind in draw(st.lists(st.sampled_from(("message", "compaction", "advisor_message")), max_size=3)):
        (fields, usage), output = draw(message_input()), draw(counts)
        model = HAIKU if kind == "advisor_message" else None
        entries.append({"type": kind, **fields, "output_tokens": output, "model": model})
        if kind != "message":
            extras.append(Extra(model, usage + Buckets(output_tokens=output)))
    return entries, tuple(extras)


def tokens_of(entry: dict[str, Any]) -> int:
    names = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens")
    return sum(entry[name] for name in names)


@st.composite
def messages(draw: st.DrawFn) -> Bill:
    fields, usage = draw(message_input())
    mode = Mode(
        draw(st.sampled_from((None, "standard"))),
        draw(st.sampled_from((None, "standard", "fast"))),
        draw(st.sampled_from((None, "global", "us"))),
    )
    served = {"service_tier": mode.service_tier, "speed": mode.speed, "inference_geo": mode.inference_geo}
    opened = {"model": OPUS, "usage": {**fields, **served, "output_tokens": 1}}
    events = [sse("message_start", message=opened)]
    events += [sse("content_block_delta", delta={"type": "text_delta", "text": text}) for text in draw(texts)]
    outputs = sorted(draw(st.lists(counts, min_size=1, max_size=3)))
    searches = [draw(few) for _ in outputs]
    for output, found in zip(outputs, searches, strict=True):
        tools = {"web_search_requests": found}
        events.append(
            sse("message_delta", delta={}, usage={"output_tokens": output, "server_tool_use": tools})
        )
    entries, extras = draw(iterations())
    summary = sse("content_block_start", content_block={"type": "compaction"})
    events[1:1] = [summary for entry in entries if entry["type"] == "compaction"]
    if sum(map(tokens_of, (entry for entry in entries if entry["type"] == "message"))) > usage.total_tokens:
        entries = [entry for entry in entries if entry["type"] != "message"]
    events.append(sse("message_delta", delta={}, usage={"iterations": entries}))
    data = with_pings(draw, events) + sse("message_stop")
    usage += Buckets(output_tokens=outputs[-1], web_searches=searches[-1])
    return Bill(anthropic, anthropic.MESSAGES, data, usage, mode, extras)


tiers = st.sampled_from((None, "default", "priority", "flex"))


@st.composite
def responses(draw: st.DrawFn) -> Bill:
    uncached, read, written, output = (draw(counts) for _ in range(4))
    items = draw(st.lists(st.sampled_from(("web_search_call", "message", "reasoning")), max_size=4))
    tier = draw(tiers)
    events = [sse("response.created", response={"model": GPT, "usage": None, "service_tier": "auto"})]
    events += [sse("response.output_text.delta", delta=text) for text in draw(texts)]
    events += [
        sse("response.output_item.done", output_index=n, item={"type": kind}) for n, kind in enumerate(items)
    ]
    usage = {
        "input_tokens": uncached + read + written,
        "input_tokens_details": {"cached_tokens": read, "cache_write_tokens": written},
        "output_tokens": output,
    }
    response = {"model": GPT, "usage": usage, "service_tier": tier}
    response["output"] = [{"type": kind} for kind in items] if draw(st.booleans()) else []
    data = with_pings(draw, events) + sse("response.completed", response=response)
    return Bill(
        openai,
        openai.RESPONSES,
        data,
        Buckets(
            input_tokens=uncached,
            cache_read_tokens=read,
            cache_write_5m_tokens=written,
            output_tokens=output,
            web_searches=items.count("web_search_call"),
        ),
        Mode(service_tier=tier),
    )


@st.composite
def chats(draw: st.DrawFn) -> Bill:
    uncached, read, written, output = (draw(counts) for _ in range(4))
    tier = draw(tiers)
    usage = {
        "prompt_tokens": uncached + read + written,
        "prompt_tokens_details": {"cached_tokens": read, "cache_write_tokens": written},
        "completion_tokens": output,
    }
    events = [chunk({"content": text}) for text in draw(texts)]
    data = with_pings(draw, events, b": keep-alive\n\n") + chunk(usage=usage, service_tier=tier) + CHAT_DONE
    return Bill(
        openai,
        openai.CHAT,
        data,
        Buckets(
            input_tokens=uncached,
            cache_read_tokens=read,
            cache_write_5m_tokens=written,
            output_tokens=output,
        ),
        Mode(service_tier=tier),
    )


bills = st.one_of(messages(), responses(), chats())


def meter(wire: Wire, path: str, data: bytes, cuts: list[int]) -> Reading:
    made = wire.open_meter(path, is_stream=True)
    marks = sorted({cut % (len(data) + 1) for cut in cuts} | {0, len(data)})
    for start, end in pairwise(marks):
        made.feed(data[start:end])
    return made.read()


def settled(bill: Bill, reading: Reading) -> Settlement:
    ask = bill.wire.read_ask(bill.path, bill.ask)
    end = End(has_left=True, status=200, reading=reading)
    return settle(ask, bill.price_of(bill.model, ask.mode), 10**12, end, bill.price_of)


@unhurried
@given(bills, cuts)
def test_any_chunking_gives_the_bills_figures(bill: Bill, cuts: list[int]) -> None:
    reading = meter(bill.wire, bill.path, bill.data, cuts)
    assert (reading.usage, reading.extras) == (bill.usage, bill.extras)
    assert reading.mode == bill.mode
    assert (reading.is_whole, reading.has_gap) == (True, False)
    charged = settled(bill, reading)
    assert (charged.cost_microusd, charged.is_estimated) == (bill.cost_microusd, False)


@unhurried
@given(bills, places, cuts)
def test_any_cut_gives_the_bills_figures_or_a_flag(bill: Bill, size: int, cuts: list[int]) -> None:
    reading = meter(bill.wire, bill.path, bill.data[: size % (len(bill.data) + 1)], cuts)
    charged = settled(bill, reading)
    assert charged.is_estimated is not reading.is_whole
    if reading.is_whole:
        assert (reading.usage, reading.extras) == (bill.usage, bill.extras)
        assert charged.cost_microusd == bill.cost_microusd
    if reading.has_usage:
        # The input is known from the first report on; only what comes after the cut can be missing.
        assert _input_of(reading.usage) == _input_of(bill.usage)


def _input_of(usage: Buckets) -> Buckets:
    return Buckets(**{**usage.row(), "output_tokens": 0, "reasoning_tokens": 0, "web_searches": 0})


@unhurried
@given(bills, places)
def test_any_cut_is_charged_never_below_what_was_reported(bill: Bill, size: int) -> None:
    reading = meter(bill.wire, bill.path, bill.data[: size % (len(bill.data) + 1)], [])
    reported = reading.usage
    price = bill.price_of(bill.model, reading.mode)
    assert settled(bill, reading).cost_microusd >= price.cost_microusd(reported)


@given(st.lists(st.text(max_size=20), max_size=5), st.integers(min_value=1, max_value=60))
def test_any_chunking_keeps_the_usage_alone_from_the_client(said: list[str], size: int) -> None:
    before = b"".join(chunk({"content": text}) for text in said)
    data = before + chunk(usage={"prompt_tokens": 1, "completion_tokens": 1}) + CHAT_DONE
    hider = UsageHider()
    passed = b"".join(hider.feed(data[start : start + size]) for start in range(0, len(data), size))
    assert passed + hider.finish() == before + CHAT_DONE


@given(st.binary(max_size=400), st.lists(st.integers(min_value=0, max_value=400), max_size=5))
def test_no_bytes_break_the_meter(data: bytes, cuts: list[int]) -> None:
    assert not meter(anthropic, anthropic.MESSAGES, data, cuts).is_whole
    for path in openai.PATHS:
        assert not meter(openai, path, data, cuts).is_whole


NAMES = (
    *("input_tokens", "output_tokens", "prompt_tokens", "completion_tokens", "cache_read_input_tokens"),
    *("cache_creation_input_tokens", "cache_creation", *WRITES, "output_tokens_details", "server_tool_use"),
    *("web_search_requests", "iterations", "type", "model", "service_tier", "speed", "inference_geo"),
    *("input_tokens_details", "prompt_tokens_details", "cached_tokens", "cache_write_tokens"),
    *("cache_write_tokens_details", "ttl_12h_tokens", "output", "action", "annotations"),
)
leaves = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(min_value=-(10**6), max_value=10**6),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(("compaction", "advisor_message", "message", "web_search_call", "url_citation", "fast")),
)
nonsense = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(NAMES), inner, max_size=6)
    ),
    max_leaves=25,
)


@given(nonsense, nonsense)
def test_no_figures_break_the_meter_and_what_it_cannot_read_is_flagged(usage: Any, output: Any) -> None:
    body = {"model": GPT, "usage": usage, "output": output, "service_tier": output, "choices": output}
    for wire, path in ((anthropic, anthropic.MESSAGES), (openai, openai.RESPONSES), (openai, openai.CHAT)):
        made = wire.open_meter(path, is_stream=False)
        made.feed(orjson.dumps(body))
        reading = made.read()
        names = set(usage) if isinstance(usage, dict) else set()
        if not names & {"input_tokens", "prompt_tokens"}:
            assert not reading.is_whole
        figures = [reading.usage, *(extra.usage for extra in reading.extras if extra.usage)]
        assert all(value >= 0 for figure in figures for value in figure.row().values())


@pytest.mark.parametrize("make", [messages(), responses(), chats()], ids=["messages", "responses", "chat"])
def test_through_real_sockets_a_cut_stream_is_settled_once(make: st.SearchStrategy[Bill]) -> None:
    @settings(unhurried, max_examples=8)
    @given(make, places, st.integers(min_value=1, max_value=200))
    def settles_once(bill: Bill, size: int, piece: int) -> None:
        part = bill.data[: size % len(bill.data)]

        async def cut(_: asyncio.StreamReader, writer: asyncio.StreamWriter, __: bytes) -> None:
            head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: %d\r\n\r\n"
            writer.write(head % len(bill.data))
            for start in range(0, len(part), piece):
                writer.write(part[start : start + piece])
                await writer.drain()
            writer.close()
            raise ConnectionResetError

        async def story(proxy: Proxy) -> None:
            reader, writer = await proxy.connect()
            writer.write(request(bill.ask, bill.path))
            received = (await reader.read(-1)).partition(b"\r\n\r\n")[2]
            await proxy.settled()
            writer.close()
            if bill.path != openai.CHAT:
                assert received == part
            ledger = proxy.ledger_path.read_bytes()
            assert (ledger.count(b'"call_started"'), ledger.count(b'"call_ended"')) == (1, 1)
            summary = proxy.summary()
            reading = meter(bill.wire, bill.path, part, [])
            assert summary.cost_microusd == settled(bill, reading).cost_microusd
            assert summary.is_lower_bound is not reading.is_whole
            assert summary.bad_lines == 0

        with tempfile.TemporaryDirectory() as folder:
            proxy = Proxy(Path(folder))
            proxy.wire, proxy.budget_microusd = bill.wire, 10**12
            proxy.provider.answers = [cut]
            proxy.run(story)

    settles_once()


def test_the_day_of_the_price_is_the_calls() -> None:
    """A fixed point beside the properties: the figures above are charged at rates such as these."""
    price = find_price("claude-sonnet-4-5", at_utc=datetime(2026, 11, 30, tzinfo=UTC))
    assert price.cost_microusd(Buckets(input_tokens=1, output_tokens=1)) == 18
