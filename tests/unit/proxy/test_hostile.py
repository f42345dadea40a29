"""Requests that are meant to harm: the provider sees whole requests that the ledger knows, or nothing.

Limits: the job's side; a hostile provider has a file of its own.
"""

import asyncio
import contextlib

import orjson
import pytest
from hypothesis import given, settings

from proxy import ask, client, inbound
from support.mutations import hostile_streams
from support.proxykit import MODEL, Proxy, message_stream, read_message, request, sse, stream_answer
from support.strict import StrictProvider

BODY = orjson.dumps({"model": MODEL, "max_tokens": 5, "stream": True})
LINE = b"POST /v1/messages HTTP/1.1\r\n"
START = LINE + b"host: x\r\n"
LENGTH = b"content-length: %d\r\n" % len(BODY)
CHUNKED = b"transfer-encoding: chunked\r\n"
CHUNKS = b"%x\r\n%b\r\n0\r\n\r\n" % (len(BODY), BODY)
SMUGGLED = request(target="/v1/messages?smuggled")


@pytest.fixture
def strict(proxy: Proxy) -> StrictProvider:
    provider = StrictProvider()
    proxy.provider = provider
    return provider


async def works_next(proxy: Proxy, strict: StrictProvider) -> None:
    """A plain request on a new connection, which alone reaches the provider."""
    before = len(strict.requests)
    assert (await proxy.ask(request()))[1] == message_stream()
    assert len(strict.requests) == before + 1
    assert strict.wrong == []
    assert not [got for got in strict.requests if b"smuggled" in got.target]
    assert len((await proxy.settled(len(strict.requests))).calls) == len(strict.requests)
    assert proxy.failures == []


async def are_left(proxy: Proxy, count: int) -> None:
    """Wait until no more connections than these are open."""
    while True:
        if len(proxy.connections) <= count:
            return
        await asyncio.sleep(0.005)


def with_header(*lines: bytes, end: bytes = LENGTH + b"\r\n" + BODY) -> bytes:
    return START + b"\r\n".join(lines) + b"\r\n" + end


TWO_ENDS = [
    START + LENGTH + CHUNKED + b"\r\n" + CHUNKS,
    START + CHUNKED + LENGTH + b"\r\n" + CHUNKS,
    START + LENGTH + b"content-length: 5\r\n\r\n" + BODY,
    START + LENGTH + LENGTH + b"\r\n" + BODY,
    START + b"content-length: 5, 5\r\n\r\nhello",
    *(
        START + b"transfer-encoding: " + coding + b"\r\n\r\n" + CHUNKS
        for coding in (
            *(
                b"xchunked",
                b"chunked, identity",
                b"identity",
                b"gzip, chunked",
                b"chunked;q=1",
                b"",
                b"\x0bchunked",
            ),
            *(b'"chunked"', b"chunked\r\ntransfer-encoding: chunked", b"\r\n chunked", b"chunked\r\n\tx"),
        )
    ),
    b"POST /v1/messages HTTP/1.0\r\nhost: x\r\n" + CHUNKED + b"\r\n" + CHUNKS,
    START + b"transfer-encoding\t: chunked\r\n\r\n" + CHUNKS,
    START + b"transfer_encoding: chunked\r\n\r\n" + CHUNKS,
    START + b"content_length: 9\r\n" + LENGTH + b"\r\n" + BODY,
    *(
        START + b"content-length: " + length + b"\r\n\r\n" + BODY
        for length in (
            b"-1",
            b"+5",
            b"0x5",
            b"5_0",
            b"5 5",
            b"",
            b"\x0b5",
            b"9" * 30,
            b"\r\n 5",
            b"5.0",
            b"\xb2",
        )
    ),
    *(
        START + CHUNKED + b"\r\n" + size + b"\r\nhello\r\n0\r\n\r\n"
        for size in (b"0x5", b"+5", b"-5", b"5 ", b" 5", b"f" * 20, b"", b"5;\nx", b"5;\x00", b"g")
    ),
    START + CHUNKED + b"\r\n5\nhello\n0\n\n",
    START + CHUNKED + b"\r\n5\r\nhelloXX0\r\n\r\n",
    START + CHUNKED + b"\r\n5\r\nhello\r\n0\r\ncontent-length: 9\r\n\r\n",
]
TWO_LINES = [
    with_header(b"x: a", b" b"),
    with_header(b"x: a", b"\tb"),
    LINE + b" host: x\r\n" + LENGTH + b"\r\n" + BODY,
    (START + LENGTH + b"\r\n").replace(b"\r\n", b"\n") + BODY,
    LINE + b"x: 1\nhost: x\r\n" + LENGTH + b"\r\n" + BODY,
    START + LENGTH + b"\n" + BODY,
    LINE.replace(b"\r\n", b"\n") + b"host: x\r\n" + LENGTH + b"\r\n" + BODY,
    with_header(b"x: a\rb"),
    with_header(b"x: a\rtransfer-encoding: chunked"),
    with_header(b"x: a\r"),
    *(with_header(b"x: a" + bytes((byte,)) + b"b") for byte in (*range(9), 11, 12, *range(14, 32), 127)),
    *(with_header(b"x" + bytes((byte,)) + b"y: a") for byte in (0, 1, 9, 32, 40, 34, 47, 59, 127, 128, 255)),
    *(with_header(line) for line in (b"x : a", b": a", b"x", b"x\t: a")),
    with_header(b"host: y"),
    LINE + LENGTH + b"\r\n" + BODY,
]
TWO_TARGETS = [
    *(
        b"POST " + target + b" HTTP/1.1\r\nhost: x\r\n" + LENGTH + b"\r\n" + BODY
        for target in (
            *(
                b"evil:443",
                b"\\v1\\messages",
                b"/v1/messages#x",
                b"/v1/messages?a#/../x",
                b"/v1/messages?a b",
            ),
            *(b"/v1/messages? HTTP/1.1", b"/v1/messages?a\tb", b"/v1/messages?a\x00b", b"/v1/messages?\xe9"),
            *(b"/v1/messages?a\x0cb", b"/v1/messages?a\rb", b"/v1/messages?a\\b", b'/v1/messages?"<>', b""),
            *(b"/v1/messages?{}", b"/v1/messages?a|b", b"/v1/messages?`", b"/v1/messages\x7f"),
        )
    ),
    *(
        b"POST /v1/messages" + version + b"\r\nhost: x\r\n" + LENGTH + b"\r\n" + BODY
        for version in (
            b"",
            b" HTTP/2.0",
            b" HTTP/0.9",
            b" HTTP/1.2",
            b" HTTP/1.10",
            b" http/1.1",
            b" HTTP/1.1 ",
        )
    ),
    b"GET /v1/messages\r\n\r\n",
    b"POST\t/v1/messages\tHTTP/1.1\r\nhost: x\r\n" + LENGTH + b"\r\n" + BODY,
    b" " + START + LENGTH + b"\r\n" + BODY,
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, 4, 0, 0, 0, 0, 0)),
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(60),
    b"post /v1/messages HTTP/1.1\r\nhost: x\r\n" + LENGTH + b"\r\n" + BODY,
]


@pytest.mark.parametrize("raw", [*TWO_ENDS, *TWO_LINES, *TWO_TARGETS])
def test_what_two_readers_could_read_two_ways_is_400_and_ends_the_connection(
    proxy: Proxy, strict: StrictProvider, raw: bytes
) -> None:
    async def story(proxy: Proxy) -> None:
        reader, writer = await proxy.connect()
        writer.write(raw + SMUGGLED)
        head, _ = await read_message(reader)
        assert head.startswith(b"HTTP/1.1 400 ")
        assert b"x-should-retry: false\r\n" in head
        assert b"connection: close\r\n" in head
        assert await reader.read() == b""
        assert [row.reason for row in proxy.summary().denied] == ["malformed"]
        assert strict.connections == 0
        await works_next(proxy, strict)

    proxy.run(story)


@pytest.mark.parametrize(
    "target",
    [
        *(b"http://evil.example.org/v1/messages", b"//v1/messages", b"//evil.example.org/v1/messages", b"*"),
        *(b"/v1/messages/../files", b"/v1/../v1/messages", b"/v1/./messages", b"/v1/%2e%2e/v1/messages"),
        *(b"/v1/%6dessages", b"/v1/messages%3fa", b"/v1/messages;x", b"/v1/messages/", b"/V1/messages"),
        *(b"/v1/messages%00", b"/v1/messages%2fbatches", b"/v1/messages/batches", b"/?/v1/messages"),
    ],
)
def test_a_path_in_disguise_is_404_and_the_same_connection_works(
    proxy: Proxy, strict: StrictProvider, target: bytes
) -> None:
    async def story(proxy: Proxy) -> None:
        reader, writer = await proxy.connect()
        writer.write(b"POST " + target + b" HTTP/1.1\r\nhost: x\r\n" + LENGTH + b"\r\n" + BODY)
        assert (await read_message(reader))[0].startswith(b"HTTP/1.1 404 ")
        assert [row.reason for row in proxy.summary().denied] == ["path"]
        assert strict.connections == 0
        writer.write(request())
        assert (await read_message(reader))[1] == message_stream()
        await works_next(proxy, strict)

    proxy.run(story)


@pytest.mark.parametrize(
    "raw",
    [
        START + b"transfer-encoding: CHUNKED\r\n\r\n" + CHUNKS,
        START + CHUNKED + b'\r\n%x;a=b;c="d\\"e"\r\n%b\r\n0\r\n\r\n' % (len(BODY), BODY),
        START + CHUNKED + b"\r\n" + b"0" * 50 + CHUNKS,
        START + CHUNKED + b"\r\n%x\r\n%b\r\n0\r\nx-api-key: theirs\r\nhost: evil\r\n\r\n" % (len(BODY), BODY),
        b"\r\n\r\n" + START + LENGTH + b"\r\n" + BODY,
        b"POST   /v1/messages   HTTP/1.1\r\nhost: x\r\n" + LENGTH + b"\r\n" + BODY,
        START + b"content-length: 00%d \r\n\r\n" % len(BODY) + BODY,
        with_header(b"connection: x-api-key, host, content-length, transfer-encoding, authorization"),
        with_header(
            b"connection: close, keep-alive", b"keep-alive: 9", b"proxy-connection: x", b"te: trailers"
        ),
        with_header(b"upgrade: h2c", b"http2-settings: AAMAAABk"),
        with_header(
            b"x-api-key: theirs", b"X-Api-Key: again", b"authorization: Bearer theirs", b"cookie: a=b"
        ),
        with_header(b"x-original-url: /v1/files", b"x-http-method-override: DELETE", b"x-rewrite-url: /"),
        with_header(b"expect: 200-ok", b"x: \xff\xfe", b"session_id: 1"),
        b"POST /v1/messages?/../../v1/files HTTP/1.1\r\nhost: x\r\n" + LENGTH + b"\r\n" + BODY,
    ],
)
def test_what_has_one_meaning_reaches_the_provider_in_its_plainest_form(
    proxy: Proxy, strict: StrictProvider, raw: bytes
) -> None:
    async def story(proxy: Proxy) -> None:
        assert (await proxy.ask(raw))[1] == message_stream()
        (got,) = strict.requests
        assert got.body == BODY
        assert got.all(b"host") == [b"127.0.0.1:%d" % strict.port]
        names = {name for name, _ in got.headers}
        assert not names & {b"authorization", b"cookie", b"connection", b"upgrade", b"te", b"keep-alive"}
        assert not [name for name in names if name.startswith((b"x-original", b"x-http", b"x-rewrite"))]
        await works_next(proxy, strict)

    proxy.run(story)


@pytest.mark.parametrize(
    ("raw", "status"),
    [
        (START + b"x: " + b"a" * inbound.MAX_HEAD_BYTES + b"\r\n\r\n", 431),
        (START + b"x: " + b"a" * inbound.MAX_HEAD_BYTES, 431),
        (START + b"a: b\r\n" * 20_000, 431),
        (START + b"a:\r\n" * 300 + b"\r\n", 431),
        (b"POST /v1/messages?" + b"a" * inbound.MAX_HEAD_BYTES, 431),
        (b"\r\n" * 40_000, 431),
        (START + b"content-length: %d\r\n\r\n" % (inbound.MAX_BODY_BYTES + 1), 413),
        (START + b"content-length: 18446744073709551615\r\n\r\n", 413),
        (START + b"content-length: %d\r\nexpect: 100-continue\r\n\r\n" % (inbound.MAX_BODY_BYTES + 1), 413),
    ],
)
def test_what_is_too_large_is_refused_at_once(
    proxy: Proxy, strict: StrictProvider, raw: bytes, status: int
) -> None:
    async def story(proxy: Proxy) -> None:
        reader, writer = await proxy.connect()
        writer.write(raw)
        head, _ = await read_message(reader)
        assert head.startswith(b"HTTP/1.1 %d " % status)
        assert await reader.read() == b""
        assert [row.reason for row in proxy.summary().denied] == ["malformed"]
        await works_next(proxy, strict)

    proxy.run(story)


@pytest.mark.parametrize(
    "rest",
    [b"%x\r\n" % (1 << 30) + b"x" * 5000, b"5;" + b"x" * 5000, b"5\r\nhello\r\n0\r\n" + b"x: y\r\n" * 1000],
)
def test_a_chunked_body_has_the_same_limit_with_all_that_frames_it(
    proxy: Proxy, strict: StrictProvider, monkeypatch: pytest.MonkeyPatch, rest: bytes
) -> None:
    monkeypatch.setattr(inbound, "MAX_BODY_BYTES", 1000)
    monkeypatch.setattr(inbound, "MAX_HEAD_BYTES", 1000)

    async def story(proxy: Proxy) -> None:
        reader, writer = await proxy.connect()
        writer.write(START + CHUNKED + b"\r\n" + rest)
        assert (await read_message(reader))[0].startswith(b"HTTP/1.1 413 ")
        await works_next(proxy, strict)

    proxy.run(story)


@pytest.mark.parametrize("body_bytes", [1000, 1001])
def test_the_largest_body_passes_and_one_byte_more_does_not(
    proxy: Proxy, strict: StrictProvider, monkeypatch: pytest.MonkeyPatch, body_bytes: int
) -> None:
    monkeypatch.setattr(inbound, "MAX_BODY_BYTES", 1000)
    whole = BODY + b" " * (body_bytes - len(BODY))

    async def story(proxy: Proxy) -> None:
        for raw in (request(whole), START + CHUNKED + b"\r\n%x\r\n%b\r\n0\r\n\r\n" % (len(whole), whole)):
            head, _ = await proxy.ask(raw)
            assert head.startswith(b"HTTP/1.1 200 " if body_bytes == 1000 else b"HTTP/1.1 413 ")
        assert [got.body for got in strict.requests] == [whole] * (2 if body_bytes == 1000 else 0)

    proxy.run(story)


@pytest.mark.parametrize("raw", [request()[:40], START + LENGTH, request()[:-1], START + CHUNKED + b"\r\n1"])
def test_a_trickle_is_408_once_its_time_is_over_however_often_it_drips(
    proxy: Proxy, strict: StrictProvider, raw: bytes
) -> None:
    proxy.request_timeout_s = 0.2

    async def story(proxy: Proxy) -> None:
        reader, writer = await proxy.connect()
        for start in range(0, len(raw), 2):
            writer.write(raw[start : start + 2])
            await asyncio.sleep(0.001)
        assert (await read_message(reader))[0].startswith(b"HTTP/1.1 408 ")
        assert await reader.read() == b""
        assert [row.reason for row in proxy.summary().denied] == ["malformed"]
        await works_next(proxy, strict)

    proxy.run(story)


def test_a_trickle_behind_a_call_has_its_own_time(proxy: Proxy) -> None:
    async def wait(_: asyncio.StreamReader, writer: asyncio.StreamWriter, __: bytes) -> None:
        await asyncio.sleep(3 * proxy.request_timeout_s)
        writer.write(stream_answer(message_stream()))

    proxy.request_timeout_s = 0.1
    proxy.provider.answers = [wait]

    async def story(proxy: Proxy) -> None:
        reader, writer = await proxy.connect()
        writer.write(request() + SMUGGLED[:-1])
        assert (await read_message(reader))[1] == message_stream()
        assert (await read_message(reader))[0].startswith(b"HTTP/1.1 408 ")
        assert len(proxy.provider.heads) == 1
        writer.close()

    proxy.run(story)


@pytest.mark.parametrize(
    "first",
    [
        b"POST /other HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n",
        b"POST /other HTTP/1.0\r\nconnection: keep-alive\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n",
        b"CONNECT evil.example.org:443 HTTP/1.1\r\nhost: x\r\n\r\n",
        b"CONNECT evil.example.org:443 HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n",
        b"POST /other HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: 900\r\n\r\n",
    ],
)
def test_nothing_is_served_behind_the_last_answer(proxy: Proxy, strict: StrictProvider, first: bytes) -> None:
    async def story(proxy: Proxy) -> None:
        reader, writer = await proxy.connect()
        writer.write(first + SMUGGLED)
        head = await reader.readuntil(b"\r\n\r\n")
        assert b"connection: close\r\n" in head
        assert (await reader.read()).count(b"HTTP/1.1") <= 1  # a 426 names it
        assert strict.connections == 0
        await works_next(proxy, strict)

    proxy.run(story)


@pytest.mark.parametrize("size", [0, 1, 40, len(START), len(request()) - 1, len(request())])
@pytest.mark.parametrize("is_polite", [True, False])
def test_a_client_may_leave_at_any_point(
    proxy: Proxy, strict: StrictProvider, size: int, *, is_polite: bool
) -> None:
    async def story(proxy: Proxy) -> None:
        reader, writer = await proxy.connect()
        writer.write(request()[:size])
        if is_polite:
            writer.write_eof()
            with contextlib.suppress(ConnectionError):
                await reader.read()
        else:
            await asyncio.sleep(0)
            writer.transport.abort()
        await are_left(proxy, 0)
        assert len(strict.requests) <= (size == len(request()))
        calls = len(proxy.summary().calls)
        assert len((await proxy.settled(calls)).calls) == calls
        assert (await proxy.ask(request()))[1] == message_stream()
        assert proxy.failures == []

    proxy.run(story)


def test_answers_that_nobody_reads_do_not_pile_up(proxy: Proxy, strict: StrictProvider) -> None:
    refused, most = b"POST /other HTTP/1.1\r\nhost: x\r\n\r\n", 100_000

    async def story(proxy: Proxy) -> None:
        reader, writer = await asyncio.open_unix_connection(str(proxy.socket), limit=1024)
        proxy.keep(writer)
        sent = 0
        with contextlib.suppress(TimeoutError):
            while sent < most:
                writer.write(refused * 100)
                sent += 100
                # A proxy that reads on takes these in a moment.
                await asyncio.wait_for(writer.drain(), 0.5)
        assert sent < most
        await works_next(proxy, strict)
        writer.write(request(extra=b"connection: close\r\n"))
        answers = await reader.read()
        assert answers.count(b"HTTP/1.1 404 ") == sent
        assert answers.endswith(b"0\r\n\r\n")

    proxy.run(story)


def test_a_call_behind_answers_that_nobody_reads_is_not_made_before_they_are_read(proxy: Proxy) -> None:
    refused = b"POST /other HTTP/1.1\r\nhost: x\r\n\r\n"

    async def story(proxy: Proxy) -> None:
        reader, writer = await asyncio.open_unix_connection(str(proxy.socket), limit=1024)
        proxy.keep(writer)
        writer.write(refused * 4000 + request(extra=b"connection: close\r\n"))
        await asyncio.sleep(0.3)
        assert proxy.summary().calls == ()
        assert (await reader.read()).endswith(b"0\r\n\r\n")
        assert len(proxy.summary().calls) == 1

    proxy.run(story)


def test_an_answer_that_nobody_reads_is_booked_once_when_its_client_leaves(proxy: Proxy) -> None:
    piece = sse("content_block_delta", delta={"type": "text_delta", "text": "x" * 65536})

    async def much(_: asyncio.StreamReader, writer: asyncio.StreamWriter, __: bytes) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n")
        while True:
            writer.write(piece)
            await writer.drain()

    async def story(proxy: Proxy) -> None:
        proxy.provider.answers = [much]
        reader, writer = await asyncio.open_unix_connection(str(proxy.socket), limit=65536)
        writer.write(request())
        await reader.readuntil(b"\r\n\r\n")
        proxy.provider.answers = [stream_answer(message_stream())]
        assert (await proxy.ask(request()))[1] == message_stream()
        assert not proxy.summary().calls[0].settled
        writer.transport.abort()
        assert [call.estimated for call in (await proxy.settled(2)).calls] == [True, False]
        assert proxy.ledger_path.read_bytes().count(b"call_ended") == 2
        assert proxy.failures == []

    proxy.run(story)


def test_bodies_that_are_together_too_large_are_refused_until_there_is_room(
    proxy: Proxy, strict: StrictProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "MAX_HELD_BYTES", 100_000)
    large = BODY + b" " * 60_000

    async def story(proxy: Proxy) -> None:
        first, second = await proxy.connect(), await proxy.connect()
        for _, writer in (first, second):
            writer.write(request(large)[:-1])
            await writer.drain()
        head, _ = await read_message(second[0])
        assert head.startswith(b"HTTP/1.1 413 ")
        first[1].write(b" ")
        assert (await read_message(first[0]))[1] == message_stream()
        assert (await proxy.ask(request(large)))[1] == message_stream()
        assert [len(got.body) for got in strict.requests] == [len(large)] * 2
        await works_next(proxy, strict)

    proxy.run(story)


@pytest.mark.parametrize("part", [b"[],", b"{},", b'"a",', b"0,"])
def test_a_body_of_countless_parts_is_refused_before_it_fills_the_memory(
    proxy: Proxy, strict: StrictProvider, part: bytes
) -> None:
    body = b'{"model":"%b","a":[%b0]}' % (MODEL.encode(), part * (ask.MOST_PARTS + 10))

    async def story(proxy: Proxy) -> None:
        head, answer = await proxy.ask(request(body))
        assert head.startswith(b"HTTP/1.1 400 ")
        assert b"too many parts" in answer
        await works_next(proxy, strict)

    proxy.run(story)


def test_connections_beyond_the_limit_are_dropped(
    proxy: Proxy, strict: StrictProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "MAX_CONNECTIONS", 3)

    async def story(proxy: Proxy) -> None:
        opened = [await proxy.connect() for _ in range(3)]
        reader, _ = await proxy.connect()
        assert await reader.read() == b""
        opened[0][1].close()
        await are_left(proxy, 2)
        await works_next(proxy, strict)

    proxy.run(story)


@settings(max_examples=60, deadline=None)
@given(pieces=hostile_streams())
def test_no_stream_of_bent_requests_makes_the_provider_see_anything_but_whole_known_requests(
    tmp_path_factory: pytest.TempPathFactory, pieces: list[bytes]
) -> None:
    proxy = Proxy(tmp_path_factory.mktemp("proxy"))
    proxy.request_timeout_s = 0.05
    strict = proxy.provider = StrictProvider()

    async def story(proxy: Proxy) -> None:
        reader, writer = await proxy.connect()
        with contextlib.suppress(ConnectionError):
            for piece in (*pieces, request(extra=b"connection: close\r\n")):
                writer.write(piece)
                await writer.drain()
                await asyncio.sleep(0)
            async with asyncio.timeout(5):
                await reader.read()
        await works_next(proxy, strict)

    proxy.run(story)
