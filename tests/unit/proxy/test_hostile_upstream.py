"""Answers of a broken or hostile provider: one clear error or a cut answer, and one booking."""

import asyncio
from collections.abc import Awaitable, Callable

import httptools
import orjson
import pytest
from hypothesis import given, settings

from proxy import upstream
from support.mutations import hostile_answers
from support.proxykit import Proxy, chunked, json_answer, message_stream, read_message, request, stream_answer

OK = b"HTTP/1.1 200 OK\r\n"
KIND = b"content-type: text/event-stream\r\n"
CHUNKED = b"transfer-encoding: chunked\r\n"
STREAM = message_stream()
LENGTH = b"content-length: %d\r\n" % len(STREAM)
WHOLE = stream_answer(STREAM)
PIECE = b"%x\r\n%b\r\n" % (200, STREAM[:200])


def then_stay(raw: bytes) -> Callable[..., Awaitable[None]]:
    """Say this and keep the connection open."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, _: bytes) -> None:
        writer.write(raw)
        await reader.read()
        raise ConnectionResetError

    return answer


def then_go(raw: bytes) -> Callable[..., Awaitable[None]]:
    """Say this and end the connection."""

    async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter, __: bytes) -> None:
        writer.write(raw)
        await writer.drain()
        writer.close()
        raise ConnectionResetError

    return answer


async def booked_once(proxy: Proxy, *, estimated: bool) -> None:
    """One call is in the books, settled once, and the next one works as if nothing had been."""
    (call,) = (await proxy.settled()).calls
    assert call.estimated is estimated
    assert call.cost_microusd > 0
    proxy.provider.answers = [WHOLE]
    head, body = await proxy.ask(request())
    assert head.startswith(OK)
    assert body == STREAM
    rows = proxy.ledger_path.read_bytes()
    assert (rows.count(b"call_started"), rows.count(b"call_ended")) == (2, 2)
    assert proxy.failures == []


NO_ANSWER = [
    OK + KIND + LENGTH + CHUNKED + b"\r\n" + chunked(STREAM),
    OK + KIND + CHUNKED + LENGTH + b"\r\n" + chunked(STREAM),
    OK + KIND + LENGTH + b"content-length: 5\r\n\r\n" + STREAM,
    OK + KIND + b"content-length: -1\r\n\r\n" + STREAM,
    OK + KIND + b"content-length: 9" + b"9" * 30 + b"\r\n\r\n" + STREAM,
    OK + KIND + b"x: a\rb\r\n" + LENGTH + b"\r\n" + STREAM,
    OK + KIND + b"x: a\x00b\r\n" + LENGTH + b"\r\n" + STREAM,
    OK + KIND + b"x y: a\r\n" + LENGTH + b"\r\n" + STREAM,
    OK + KIND + b"x: a\r\n injected: b\r\n" + LENGTH + b"\r\n" + STREAM,
    (OK + KIND + LENGTH + b"\r\n").replace(b"\r\n", b"\n") + STREAM,
    b"HTTP/1.1 20 OK\r\n" + LENGTH + b"\r\n" + STREAM,
    b"HTTP/1.1 20x OK\r\n" + LENGTH + b"\r\n" + STREAM,
    b"ICY 200 OK\r\n\r\n" + STREAM,
    STREAM,
    b"\x15\x03\x03\x00\x02\x02\x46",
    b"\x00\x00\x12\x04\x00\x00\x00\x00\x00",
    OK + b"x: " + b"a" * upstream.MAX_HEAD_BYTES,
    OK + b"a: b\r\n" * (upstream.MAX_HEAD_BYTES // 5),
    b"HTTP/1.1 100 Continue\r\n\r\n" * (upstream.MAX_HEAD_BYTES // 20),
    b"HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n" * (upstream.MAX_HEAD_BYTES // 30),
    b"HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n" + STREAM,
    b"HTTP/1.1 101 Switching Protocols\r\n\r\n" + STREAM,
]


@pytest.mark.parametrize("raw", NO_ANSWER)
def test_what_is_no_answer_is_one_bad_gateway(proxy: Proxy, raw: bytes) -> None:
    proxy.provider.answers = [then_stay(raw)]

    async def story(proxy: Proxy) -> None:
        reader, writer = await proxy.connect()
        writer.write(request())
        head, body = await read_message(reader)
        assert head.startswith(b"HTTP/1.1 502 ")
        assert b"injected" not in head
        assert orjson.loads(body)["error"]["type"] == "api_error"
        writer.write(request())
        assert b"" not in await read_message(reader)
        writer.close()

    proxy.run(story)


@pytest.mark.parametrize("raw", NO_ANSWER)
def test_what_is_no_answer_is_booked_once(proxy: Proxy, raw: bytes) -> None:
    proxy.provider.answers = [then_stay(raw)]

    async def story(proxy: Proxy) -> None:
        await proxy.ask(request())
        await booked_once(proxy, estimated=True)

    proxy.run(story)


@pytest.mark.parametrize(
    "rest",
    [
        b"zz\r\nhello\r\n0\r\n\r\n",
        b"5\r\nhelloXX\r\n0\r\n\r\n",
        b"-5\r\nhello\r\n0\r\n\r\n",
        b"f" * 20 + b"\r\nhello",
        b"5\nhello\n0\n\n",
        b"0\r\ncontent-length: 5\r\nbad trailer\r\n\r\n",
        b"\r\n\r\n",
    ],
)
@pytest.mark.parametrize("begins", [b"", PIECE])
def test_wrong_chunks_cut_an_answer_that_has_begun(proxy: Proxy, begins: bytes, rest: bytes) -> None:
    proxy.provider.answers = [then_stay(OK + KIND + CHUNKED + b"\r\n" + begins + rest)]

    async def story(proxy: Proxy) -> None:
        reader, writer = await proxy.connect()
        writer.write(request())
        answer = await reader.read()
        assert answer.startswith(OK)
        assert begins in answer
        assert not answer.endswith(b"0\r\n\r\n")
        await booked_once(proxy, estimated=True)

    proxy.run(story)


@pytest.mark.parametrize(
    "raw",
    [OK + KIND + LENGTH + b"\r\n" + STREAM[:-1], OK + KIND + CHUNKED + b"\r\n" + PIECE, OK + KIND + LENGTH],
)
def test_a_provider_that_goes_leaves_a_cut_answer_or_an_error(proxy: Proxy, raw: bytes) -> None:
    proxy.provider.answers = [then_go(raw)]

    async def story(proxy: Proxy) -> None:
        reader, writer = await proxy.connect()
        writer.write(request(extra=b"connection: close\r\n"))
        answer = await reader.read()
        assert answer.startswith((OK, b"HTTP/1.1 502 "))
        assert not answer.endswith(b"0\r\n\r\n")
        await booked_once(proxy, estimated=True)

    proxy.run(story)


@pytest.mark.parametrize(
    "extra",
    [
        json_answer({"a": 1}),
        b"garbage",
        b"HTTP/1.1 2",
        b"HTTP/1.1 200 OK\r\ncontent-length: 10000\r\n\r\nhalf",
        b"HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n",
        b"0\r\n\r\n",
        b"\x00",
    ],
)
@pytest.mark.parametrize("whole", [WHOLE, OK + KIND + LENGTH + b"\r\n" + STREAM])
@pytest.mark.parametrize("is_late", [True, False])
def test_bytes_behind_the_end_reach_nobody_and_end_the_connection(
    proxy: Proxy, whole: bytes, extra: bytes, *, is_late: bool
) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, _: bytes) -> None:
        if is_late:
            writer.write(whole)
            await asyncio.sleep(0.01)
            writer.write(extra)
        else:
            writer.write(whole + extra)
        await reader.read()
        raise ConnectionResetError

    proxy.provider.answers = [answer]

    async def story(proxy: Proxy) -> None:
        reader, writer = await proxy.connect()
        writer.write(request())
        assert (await read_message(reader))[1] == STREAM
        await asyncio.sleep(0.02 if is_late else 0)
        proxy.provider.answers = [WHOLE]
        writer.write(request())
        assert (await read_message(reader))[1] == STREAM
        assert proxy.provider.connections == 2
        await proxy.settled(2)
        assert [call.cost_microusd for call in proxy.summary().calls] == [300, 300]
        writer.close()

    proxy.run(story)


@pytest.mark.parametrize(
    "raw",
    [
        OK + KIND + b"connection: content-length, content-type\r\n" + LENGTH + b"\r\n" + STREAM,
        OK + KIND + b"connection: transfer-encoding\r\n" + CHUNKED + b"\r\n" + chunked(STREAM),
        OK + KIND + CHUNKED + b"\r\n" + b"1;a=b\r\ne\r\n" + chunked(STREAM[1:]),
        OK + KIND + CHUNKED + b"\r\n" + chunked(STREAM)[:-2] + b"x-trailer: 1\r\nset-cookie: a=b\r\n\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n" * 3 + WHOLE,
        b"HTTP/1.1 103 Early Hints\r\ncontent-length: 5\r\n\r\n" + WHOLE,
        b"HTTP/1.1 200 \r\n" + KIND + LENGTH + b"\r\n" + STREAM,
        OK + KIND + b"trailer: x\r\nupgrade: h2c\r\nkeep-alive: timeout=5\r\n" + LENGTH + b"\r\n" + STREAM,
    ],
)
def test_what_is_merely_odd_passes_whole(proxy: Proxy, raw: bytes) -> None:
    proxy.provider.answers = [raw]

    async def story(proxy: Proxy) -> None:
        reader, writer = await proxy.connect()
        for _ in range(2):
            writer.write(request())
            head, body = await read_message(reader)
            assert head.startswith(OK)
            assert body == STREAM
            assert not [name for name in (b"upgrade", b"trailer", b"link", b"keep-alive:") if name in head]
        writer.close()
        await booked_once_each(proxy, 2)

    proxy.run(story)


async def booked_once_each(proxy: Proxy, count: int) -> None:
    assert [call.cost_microusd for call in (await proxy.settled(count)).calls] == [300] * count
    assert proxy.ledger_path.read_bytes().count(b"call_ended") == count


def test_an_answer_before_the_request_has_left_is_taken_as_it_is(proxy: Proxy) -> None:
    """A provider may refuse by the head alone, and end the connection with the body unread."""
    body = orjson.dumps(
        {"model": "claude-sonnet-4-5", "max_tokens": 5, "stream": True, "pad": "x" * 4_000_000}
    )
    error = json_answer({"type": "error", "error": {"type": "request_too_large"}}, b"413 Too Large")

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(error)
        await writer.drain()
        writer.close()

    proxy.provider.serve = serve

    async def story(proxy: Proxy) -> None:
        head, _ = await proxy.ask(request(body))
        assert head.startswith((b"HTTP/1.1 413 ", b"HTTP/1.1 502 "))
        (call,) = (await proxy.settled()).calls
        assert proxy.ledger_path.read_bytes().count(b"call_ended") == 1
        assert call.settled

    proxy.run(story)


def test_a_provider_that_never_ends_its_answer_is_dropped_with_the_client(proxy: Proxy) -> None:
    proxy.provider.answers = [then_stay(OK + KIND + CHUNKED + b"\r\n" + PIECE)]

    async def story(proxy: Proxy) -> None:
        reader, writer = await proxy.connect()
        writer.write(request())
        await reader.readuntil(PIECE)
        writer.close()
        await booked_once(proxy, estimated=True)

    proxy.run(story)


class Seen:
    """Counts the answers that a client reads."""

    def __init__(self) -> None:
        self.count = 0

    def on_message_begin(self) -> None:
        self.count += 1


@settings(max_examples=60, deadline=None)
@given(raw=hostile_answers())
def test_no_bent_answer_is_booked_twice_or_reaches_the_client_as_more_than_one(
    tmp_path_factory: pytest.TempPathFactory, raw: bytes
) -> None:
    proxy, seen = Proxy(tmp_path_factory.mktemp("proxy")), Seen()
    proxy.provider.answers = [then_go(raw)]

    async def story(proxy: Proxy) -> None:
        reader, writer = await proxy.connect()
        writer.write(request(extra=b"connection: close\r\n"))
        httptools.HttpResponseParser(seen).feed_data(await reader.read())
        assert seen.count == 1
        (call,) = (await proxy.settled()).calls
        proxy.provider.answers = [WHOLE]
        _, body = await proxy.ask(request())
        if call.unknown_price:
            assert b"No price is known" in body
        else:
            assert body == STREAM
            await proxy.settled(2)
        rows = proxy.ledger_path.read_bytes()
        assert rows.count(b"call_started") == rows.count(b"call_ended") == 2 - call.unknown_price
        assert proxy.failures == []

    proxy.run(story)
