"""What a job may send: refusals, limits, and a next request that still works."""

import asyncio
import contextlib
from typing import Any

import orjson
import pytest

from proxy import inbound
from support.proxykit import MODEL, Proxy, message_stream, read_message, request, stream_answer

BODY = orjson.dumps({"model": MODEL, "max_tokens": 5, "stream": True})


def error_of(body: bytes) -> dict[str, Any]:
    value = orjson.loads(body)
    assert value["type"] == "error"
    error = value["error"]
    assert isinstance(error, dict)
    return error


@pytest.mark.parametrize(
    "line",
    [
        b"HEAD / HTTP/1.1",
        b"GET / HTTP/1.1",
        b"GET /v1/messages HTTP/1.1",
        b"POST /v1/complete HTTP/1.1",
        b"POST //v1/messages HTTP/1.1",
        b"POST /v1/messages/ HTTP/1.1",
        b"POST /v1/messages/../models HTTP/1.1",
        b"POST http://localhost/v1/messages HTTP/1.1",
    ],
)
def test_anything_else_is_404_with_a_row(proxy: Proxy, line: bytes) -> None:
    async def story(proxy: Proxy) -> None:
        reader, writer = await proxy.connect()
        writer.write(line + b"\r\nhost: x\r\ncontent-length: 0\r\n\r\n")
        head = await reader.readuntil(b"\r\n\r\n")
        writer.close()
        assert head.startswith(b"HTTP/1.1 404 ")
        assert b"x-should-retry: false\r\n" in head
        (denied,) = proxy.summary().denied
        assert (denied.reason, denied.method) == ("path", line.split()[0].decode())
        assert proxy.provider.connections == 0

    proxy.run(story)


def test_the_answer_to_head_has_no_body_so_that_the_next_request_works(proxy: Proxy) -> None:
    async def story(proxy: Proxy) -> None:
        reader, writer = await proxy.connect()
        writer.write(b"HEAD / HTTP/1.1\r\nhost: x\r\n\r\n" + request())
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 404 ")
        head, body = await read_message(reader)
        assert head.startswith(b"HTTP/1.1 200 ")
        assert body == message_stream()
        writer.close()

    proxy.run(story)


def test_case_22_an_upgrade_is_426_at_once(proxy: Proxy) -> None:
    raw = b"GET /v1/responses HTTP/1.1\r\nhost: x\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\r\n"

    async def story(proxy: Proxy) -> None:
        head, body = await proxy.ask(raw)
        assert head.startswith(b"HTTP/1.1 426 ")
        assert "upgrade" in error_of(body)["message"]
        assert proxy.summary().denied[0].reason == "upgrade"

    proxy.run(story)


def test_case_21_a_packed_request_is_refused_with_415(proxy: Proxy) -> None:
    async def story(proxy: Proxy) -> None:
        head, _ = await proxy.ask(request(b"\x28\xb5\x2f\xfd...", extra=b"content-encoding: zstd\r\n"))
        assert head.startswith(b"HTTP/1.1 415 ")
        assert proxy.summary().denied[0].reason == "encoding"

    proxy.run(story)


@pytest.mark.parametrize(
    "raw",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"POST /v1/messages\r\n\r\n",
        b"POST /v1/messages HTTP/1.1\r\nbad header\r\n\r\n",
        b"POST /v1/messages HTTP/1.1\r\nhost: x\r\ncontent-length: -1\r\n\r\n",
        b"POST /v1/messages HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nhello",
        b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        b"POST /v1/messages HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
        b"POST /v1/messages HTTP/1.1\r\nhost : x\r\n\r\n",
    ],
)
def test_what_is_no_http_is_refused_and_the_next_connection_works(proxy: Proxy, raw: bytes) -> None:
    async def story(proxy: Proxy) -> None:
        reader, writer = await proxy.connect()
        writer.write(raw)
        head, body = await read_message(reader)
        assert head.startswith(b"HTTP/1.1 400 ")
        assert b"connection: close\r\n" in head
        assert error_of(body)["type"] == "invalid_request_error"
        assert await reader.read() == b""
        writer.close()
        assert proxy.summary().denied[0].reason == "malformed"
        assert (await proxy.ask(request()))[1] == message_stream()

    proxy.run(story)


@pytest.mark.parametrize("body", [b"", b"{", b"[1]", b'{"model": 3}', b"\xff"])
def test_a_body_without_a_model_is_refused(proxy: Proxy, body: bytes) -> None:
    async def story(proxy: Proxy) -> None:
        head, answer = await proxy.ask(request(body))
        assert head.startswith(b"HTTP/1.1 400 ")
        assert "send a Messages API request" in error_of(answer)["message"]
        assert proxy.provider.connections == 0

    proxy.run(story)


@pytest.mark.parametrize("pieces", [1, 3])
def test_giant_headers_are_refused(proxy: Proxy, pieces: int) -> None:
    raw = b"POST /v1/messages HTTP/1.1\r\nx: " + b"a" * (inbound.MAX_HEAD_BYTES + 10)

    async def story(proxy: Proxy) -> None:
        reader, writer = await proxy.connect()
        size = len(raw) // pieces + 1
        for start in range(0, len(raw), size):
            writer.write(raw[start : start + size])
            await asyncio.sleep(0.01)
        head, _ = await read_message(reader)
        assert head.startswith(b"HTTP/1.1 431 ")
        writer.close()
        assert (await proxy.ask(request()))[1] == message_stream()

    proxy.run(story)


def test_a_body_beyond_the_limit_is_refused_before_it_is_read_whole(proxy: Proxy) -> None:
    async def story(proxy: Proxy) -> None:
        reader, writer = await proxy.connect()
        length = inbound.MAX_BODY_BYTES + 1
        writer.write(
            b"POST /v1/messages HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n" % (length + 10**9)
        )
        piece = b"x" * (1 << 20)
        try:
            for _ in range(length // len(piece) + 1):
                writer.write(piece)
                await writer.drain()
        except ConnectionError:
            pass
        head, _ = await read_message(reader)
        assert head.startswith(b"HTTP/1.1 413 ")
        writer.close()

    proxy.run(story)


def test_a_body_is_invited_where_the_client_waits_for_it(proxy: Proxy) -> None:
    async def story(proxy: Proxy) -> None:
        reader, writer = await proxy.connect()
        head = b"POST /v1/messages HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: %d\r\n\r\n"
        writer.write(head % len(BODY))
        assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        writer.write(BODY)
        assert (await read_message(reader))[1] == message_stream()
        assert b"expect" not in proxy.provider.heads[0].lower()
        writer.close()

    proxy.run(story)


def test_a_waiting_client_is_refused_without_an_invitation(proxy: Proxy) -> None:
    async def story(proxy: Proxy) -> None:
        reader, writer = await proxy.connect()
        writer.write(b"POST /other HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: 9\r\n\r\n")
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 404 ")
        writer.close()
        assert len(proxy.summary().denied) == 1

    proxy.run(story)


def test_requests_sent_ahead_are_answered_in_order(proxy: Proxy) -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def wait(_: asyncio.StreamReader, writer: asyncio.StreamWriter, __: bytes) -> None:
        # Until the third request has begun to arrive behind the first, which is not answered yet.
        begun.set()
        await go_on.wait()
        writer.write(stream_answer(message_stream(output=1)))

    proxy.provider.answers = [wait, *(stream_answer(message_stream(output=n)) for n in (2, 3))]

    async def story(proxy: Proxy) -> None:
        reader, writer = await proxy.connect()
        writer.write(request() + request())
        await begun.wait()
        third = request()
        writer.write(third[:50])
        go_on.set()
        await asyncio.sleep(0.01)
        writer.write(third[50:])
        for n in (1, 2, 3):
            assert (await read_message(reader))[1] == message_stream(output=n)
        writer.close()

    proxy.run(story)


def test_a_request_byte_by_byte_works(proxy: Proxy) -> None:
    async def story(proxy: Proxy) -> None:
        reader, writer = await proxy.connect()
        for byte in request():
            writer.write(bytes((byte,)))
            await writer.drain()
        assert (await read_message(reader))[1] == message_stream()
        writer.close()

    proxy.run(story)


def test_an_old_client_gets_an_answer_that_ends_with_the_connection(proxy: Proxy) -> None:
    async def story(proxy: Proxy) -> None:
        reader, writer = await proxy.connect()
        writer.write(b"POST /v1/messages HTTP/1.0\r\ncontent-length: %d\r\n\r\n" % len(BODY) + BODY)
        head, _, body = (await reader.read(-1)).partition(b"\r\n\r\n")
        assert b"chunked" not in head
        assert body == message_stream()
        writer.close()

    proxy.run(story)


def test_connection_close_is_honoured(proxy: Proxy) -> None:
    async def story(proxy: Proxy) -> None:
        reader, writer = await proxy.connect()
        writer.write(request(extra=b"connection: close\r\n"))
        head, body = await read_message(reader)
        assert b"connection: close\r\n" in head
        assert body == message_stream()
        assert await reader.read() == b""
        writer.close()

    proxy.run(story)


def test_a_client_that_sends_far_ahead_is_dropped(proxy: Proxy) -> None:
    async def never(reader: asyncio.StreamReader, _: asyncio.StreamWriter, __: bytes) -> None:
        await reader.read()

    proxy.provider.answers = [never]

    async def story(proxy: Proxy) -> None:
        reader, writer = await proxy.connect()
        writer.write(request())
        with contextlib.suppress(ConnectionError):
            for _ in range(100):
                writer.write(b"x" * (1 << 16))
                await writer.drain()
        with contextlib.suppress(ConnectionError):
            assert await reader.read() == b""
        assert (await proxy.settled()).calls[0].estimated
        writer.close()

    proxy.run(story)


def test_an_upgrade_behind_a_call_waits_for_its_turn(proxy: Proxy) -> None:
    async def story(proxy: Proxy) -> None:
        reader, writer = await proxy.connect()
        writer.write(request() + b"GET / HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: h2c\r\n\r\n")
        assert (await read_message(reader))[1] == message_stream()
        assert (await read_message(reader))[0].startswith(b"HTTP/1.1 426 ")
        assert await reader.read() == b""
        writer.close()

    proxy.run(story)


def test_a_slow_sender_is_refused_and_others_are_served(proxy: Proxy) -> None:
    proxy.request_timeout_s = 0.1

    async def story(proxy: Proxy) -> None:
        reader, writer = await proxy.connect()
        writer.write(request()[:-5])
        assert (await proxy.ask(request()))[1] == message_stream()
        head, _ = await read_message(reader)
        assert head.startswith(b"HTTP/1.1 408 ")
        assert await reader.read() == b""
        writer.close()

    proxy.run(story)


def test_an_idle_connection_is_not_a_slow_sender(proxy: Proxy) -> None:
    proxy.request_timeout_s = 0.05

    async def story(proxy: Proxy) -> None:
        reader, writer = await proxy.connect()
        await asyncio.sleep(0.1)
        for _ in range(2):
            writer.write(request())
            assert (await read_message(reader))[1] == message_stream()
            await asyncio.sleep(0.1)
        writer.close()

    proxy.run(story)
