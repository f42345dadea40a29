"""Calls carried between real sockets: bytes, money, cuts and clients that leave."""

import asyncio
import contextlib
import gzip

import orjson
import pytest

from instrument.schema.usage import Usage
from proxy.prices import find_price
from proxy.relay import read_seconds
from support.proxykit import Proxy, json_answer, message_stream, read_message, request, sse, stream_answer

PRICE = find_price("claude-sonnet-4-5")


def test_case_08_a_stream_passes_byte_for_byte_with_its_ping_and_is_one_call(proxy: Proxy) -> None:
    async def story(proxy: Proxy) -> None:
        head, body = await proxy.ask(request())
        assert body == message_stream()
        assert b"event: ping" in body
        assert head.startswith(b"HTTP/1.1 200 OK\r\n")
        (call,) = proxy.summary().calls
        assert call.usage == Usage(input_tokens=25, output_tokens=15)
        assert call.cost_microusd == 25 * 3 + 15 * 15
        assert (call.settled, call.estimated, call.model_answered) == (True, False, "claude-sonnet-4-5")

    proxy.run(story)


def test_case_09_a_whole_answer_is_charged_by_its_buckets(proxy: Proxy) -> None:
    usage = {"input_tokens": 3, "cache_creation_input_tokens": 12304, "output_tokens": 550}
    answer = {"type": "message", "model": "claude-sonnet-4-5", "usage": usage}
    proxy.provider.answers = [json_answer(answer)]

    async def story(proxy: Proxy) -> None:
        _, body = await proxy.ask(request(stream=False))
        assert body == orjson.dumps(answer)
        assert proxy.summary().calls[0].cost_microusd == 54399

    proxy.run(story)


def test_a_request_passes_byte_for_byte_with_our_key(proxy: Proxy) -> None:
    body = b'{ "model":"claude-sonnet-4-5",\n"max_tokens":1, "messages":[ "\xc3\xa9\\u00e9" ] }  '

    async def story(proxy: Proxy) -> None:
        await proxy.ask(request(body, extra=b"authorization: Bearer x\r\nanthropic-beta: b\r\n"))
        assert proxy.provider.bodies == [body]
        head = proxy.provider.heads[0].lower()
        assert head.startswith(b"post /v1/messages?beta=true http/1.1\r\n")
        assert b"x-api-key: real-key" in head
        assert b"placeholder" not in head
        assert b"bearer" not in head
        assert b"accept-encoding: identity" in head
        assert b"anthropic-beta: b" in head
        assert proxy.marks == 1

    proxy.run(story)


@pytest.mark.parametrize("accepted", [b"", b"accept-encoding: gzip, br, zstd\r\n"])
def test_an_answer_is_asked_for_uncompressed_whatever_the_client_accepts(
    proxy: Proxy, accepted: bytes
) -> None:
    async def story(proxy: Proxy) -> None:
        await proxy.ask(request(extra=accepted))
        lines = proxy.provider.heads[0].lower().split(b"\r\n")
        named = [line for line in lines if line.startswith(b"accept-encoding")]
        assert named == [b"accept-encoding: identity"]

    proxy.run(story)


@pytest.mark.parametrize("encoding", [b"gzip", b"deflate", b"br", b"zstd", b"gzip, identity"])
def test_a_packed_request_is_refused_and_the_same_unpacked_passes(proxy: Proxy, encoding: bytes) -> None:
    async def story(proxy: Proxy) -> None:
        reader, writer = await proxy.connect()
        writer.write(request(extra=b"content-encoding: %b\r\n" % encoding))
        assert (await read_message(reader))[0].startswith(b"HTTP/1.1 415 ")
        assert proxy.provider.heads == []
        writer.write(request(extra=b"content-encoding: identity\r\n"))
        assert (await read_message(reader))[1] == message_stream()
        writer.close()

    proxy.run(story)


def test_33_mebibytes_pass_in_both_directions(proxy: Proxy) -> None:
    size = 33 * 1024 * 1024
    answer = {"type": "message", "content": "x" * size}
    proxy.provider.answers = [json_answer(answer)]

    async def story(proxy: Proxy) -> None:
        raw = request(stream=False, messages=["y" * size])
        head, body = await proxy.ask(raw)
        assert head.startswith(b"HTTP/1.1 200 ")
        assert body == orjson.dumps(answer)
        assert proxy.provider.bodies == [raw.partition(b"\r\n\r\n")[2]]

    proxy.run(story)


def test_a_chunked_request_arrives_whole(proxy: Proxy) -> None:
    body = orjson.dumps({"model": "claude-sonnet-4-5", "max_tokens": 5, "stream": True})
    pieces = b"".join(
        b"%x\r\n%b\r\n" % (len(body[i : i + 7]), body[i : i + 7]) for i in range(0, len(body), 7)
    )
    raw = (
        b"POST /v1/messages HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n" + pieces + b"0\r\n\r\n"
    )

    async def story(proxy: Proxy) -> None:
        _, answer = await proxy.ask(raw)
        assert answer == message_stream()
        assert proxy.provider.bodies == [body]

    proxy.run(story)


def test_bytes_go_on_before_the_answer_is_over(proxy: Proxy) -> None:
    go_on = asyncio.Event()
    first, second = message_stream()[:300], message_stream()[300:]

    async def slowly(_: asyncio.StreamReader, writer: asyncio.StreamWriter, __: bytes) -> None:
        writer.write(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
        )
        writer.write(b"%x\r\n%b\r\n" % (len(first), first))
        await go_on.wait()
        writer.write(b"%x\r\n%b\r\n0\r\n\r\n" % (len(second), second))

    proxy.provider.answers = [slowly]

    async def story(proxy: Proxy) -> None:
        reader, writer = await proxy.connect()
        writer.write(request())
        await reader.readuntil(b"\r\n\r\n")
        assert int(await reader.readline(), 16) == len(first)
        assert await reader.readexactly(len(first)) == first
        assert not proxy.summary().calls[0].settled
        go_on.set()
        await reader.readuntil(b"0\r\n\r\n")
        assert proxy.summary().calls[0].settled
        writer.close()

    proxy.run(story)


def test_connections_on_both_sides_are_used_again(proxy: Proxy) -> None:
    async def story(proxy: Proxy) -> None:
        reader, writer = await proxy.connect()
        for _ in range(3):
            writer.write(request())
            await reader.readuntil(b"0\r\n\r\n")
        writer.close()
        assert proxy.provider.connections == 1
        assert len((await proxy.settled(3)).calls) == 3
        assert proxy.marks == 1

    proxy.run(story)


def test_a_kept_connection_that_died_is_replaced_without_a_second_charge(proxy: Proxy) -> None:
    async def answer_and_close(_: asyncio.StreamReader, writer: asyncio.StreamWriter, __: bytes) -> None:
        writer.write(stream_answer(message_stream()))
        await writer.drain()

    async def die(_: asyncio.StreamReader, writer: asyncio.StreamWriter, __: bytes) -> None:
        writer.transport.abort()
        raise ConnectionResetError

    proxy.provider.answers = [answer_and_close, die, stream_answer(message_stream())]

    async def story(proxy: Proxy) -> None:
        await proxy.ask(request())
        _, body = await proxy.ask(request())
        assert body == message_stream()
        assert proxy.provider.connections == 2
        summary = proxy.summary()
        assert [call.cost_microusd for call in summary.calls] == [300, 300]

    proxy.run(story)


def test_a_kept_connection_that_dies_after_the_first_byte_is_not_tried_again(proxy: Proxy) -> None:
    async def begin_and_die(_: asyncio.StreamReader, writer: asyncio.StreamWriter, __: bytes) -> None:
        writer.write(b"HTTP/1.1 2")
        await writer.drain()
        writer.close()
        raise ConnectionResetError

    proxy.provider.answers = [stream_answer(message_stream()), begin_and_die, stream_answer(message_stream())]

    async def story(proxy: Proxy) -> None:
        await proxy.ask(request())
        head, _ = await proxy.ask(request())
        assert head.startswith(b"HTTP/1.1 502 ")
        assert (proxy.provider.connections, len(proxy.provider.heads)) == (1, 2)
        first, second = proxy.summary().calls
        assert (first.cost_microusd, second.estimated) == (300, True)

    proxy.run(story)


def test_a_fresh_connection_that_dies_is_not_tried_again(proxy: Proxy) -> None:
    async def die(_: asyncio.StreamReader, writer: asyncio.StreamWriter, __: bytes) -> None:
        writer.transport.abort()
        raise ConnectionResetError

    proxy.provider.answers = [die]

    async def story(proxy: Proxy) -> None:
        head, body = await proxy.ask(request())
        assert head.startswith(b"HTTP/1.1 502 ")
        assert orjson.loads(body)["error"]["type"] == "api_error"
        assert b"x-should-retry" not in head
        assert proxy.provider.connections == 1
        (call,) = proxy.summary().calls
        assert (call.status, call.estimated) == (None, True)
        assert call.cost_microusd > 0

    proxy.run(story)


def test_an_unreachable_provider_is_said_and_costs_nothing(proxy: Proxy) -> None:
    proxy.is_provider_dead = True

    async def story(proxy: Proxy) -> None:
        head, body = await proxy.ask(request())
        assert head.startswith(b"HTTP/1.1 502 ")
        assert "127.0.0.1" in orjson.loads(body)["error"]["message"]
        (call,) = proxy.summary().calls
        assert (call.status, call.cost_microusd, call.estimated, call.settled) == (None, 0, False, True)

    proxy.run(story)


def test_an_empty_success_is_no_free_call(proxy: Proxy) -> None:
    proxy.provider.answers = [b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"]

    async def story(proxy: Proxy) -> None:
        await proxy.ask(request())
        (call,) = proxy.summary().calls
        assert call.estimated
        assert call.cost_microusd > 0

    proxy.run(story)


@pytest.mark.parametrize("size", [1, 60, 200, 330, 420])
def test_a_cut_stream_stays_cut_and_is_settled_once_with_an_estimate(proxy: Proxy, size: int) -> None:
    part = message_stream()[:size]

    async def cut(_: asyncio.StreamReader, writer: asyncio.StreamWriter, __: bytes) -> None:
        writer.write(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
        )
        writer.write(b"%x\r\n%b\r\n" % (len(part), part))
        await writer.drain()
        writer.close()
        raise ConnectionResetError

    proxy.provider.answers = [cut]

    async def story(proxy: Proxy) -> None:
        reader, writer = await proxy.connect()
        writer.write(request())
        received = await reader.read(-1)
        assert received.endswith(b"%x\r\n%b\r\n" % (len(part), part))
        writer.close()
        (call,) = (await proxy.settled()).calls
        assert call.estimated
        assert proxy.ledger_path.read_bytes().count(b"call_ended") == 1
        if size >= 200:
            assert call.usage.input_tokens == 25

    proxy.run(story)


@pytest.mark.parametrize("sends_head", [True, False])
def test_a_client_that_leaves_ends_the_upstream_and_is_settled_once(
    proxy: Proxy, *, sends_head: bool
) -> None:
    left = asyncio.Event()
    begun = asyncio.Event()

    async def stay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, _: bytes) -> None:
        if sends_head:
            part = message_stream()[:250]
            writer.write(
                b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
            )
            writer.write(b"%x\r\n%b\r\n" % (len(part), part))
        begun.set()
        with contextlib.suppress(ConnectionError):
            assert await reader.read() == b""
        left.set()
        raise ConnectionResetError

    proxy.provider.answers = [stay]

    async def story(proxy: Proxy) -> None:
        reader, writer = await proxy.connect()
        writer.write(request())
        await begun.wait()
        if sends_head:
            await reader.readuntil(b"\r\n\r\n")
        writer.close()
        await left.wait()
        (call,) = (await proxy.settled()).calls
        assert call.estimated
        assert call.status == (200 if sends_head else None)
        assert proxy.ledger_path.read_bytes().count(b"call_ended") == 1

    proxy.run(story)


@pytest.mark.parametrize(
    ("status", "kind"), [(b"429 Too Many", "rate_limit_error"), (b"529 Busy", "overloaded_error")]
)
def test_case_04_errors_of_the_provider_pass_with_their_headers_and_are_free(
    proxy: Proxy, status: bytes, kind: str
) -> None:
    error = {"type": "error", "error": {"type": kind, "message": "slow down"}}
    proxy.provider.answers = [json_answer(error, status, b"retry-after: 30\r\nx-limit: 5\r\n")]

    async def story(proxy: Proxy) -> None:
        head, body = await proxy.ask(request())
        assert head.startswith(b"HTTP/1.1 " + status[:3])
        assert b"retry-after: 30\r\n" in head
        assert b"x-limit: 5\r\n" in head
        assert orjson.loads(body) == error
        (call,) = proxy.summary().calls
        assert (call.status, call.error_type, call.retry_after_s) == (int(status[:3]), kind, 30)
        assert (call.cost_microusd, call.estimated, call.has_succeeded) == (0, False, False)

    proxy.run(story)


def test_a_packed_answer_passes_packed_and_is_metered(proxy: Proxy) -> None:
    packed = gzip.compress(message_stream())
    kind = b"content-type: text/event-stream\r\ncontent-encoding: gzip\r\n"
    head = b"HTTP/1.1 200 OK\r\n" + kind + b"content-length: %d\r\n\r\n"
    proxy.provider.answers = [head % len(packed) + packed]

    async def story(proxy: Proxy) -> None:
        answer_head, body = await proxy.ask(request())
        assert body == packed
        assert b"content-encoding: gzip" in answer_head
        assert proxy.summary().calls[0].cost_microusd == 300

    proxy.run(story)


def test_an_answer_that_ends_with_its_connection_is_whole(proxy: Proxy) -> None:
    async def until_closed(_: asyncio.StreamReader, writer: asyncio.StreamWriter, __: bytes) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n" + message_stream())
        await writer.drain()
        writer.close()
        raise ConnectionResetError

    proxy.provider.answers = [until_closed]

    async def story(proxy: Proxy) -> None:
        _, body = await proxy.ask(request())
        assert body == message_stream()
        assert not proxy.summary().calls[0].estimated

    proxy.run(story)


def test_provisional_answers_are_not_passed_on(proxy: Proxy) -> None:
    hints = b"HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n"
    proxy.provider.answers = [hints + stream_answer(message_stream())]

    async def story(proxy: Proxy) -> None:
        head, body = await proxy.ask(request())
        assert head.startswith(b"HTTP/1.1 200 ")
        assert b"link" not in head
        assert body == message_stream()

    proxy.run(story)


@pytest.mark.parametrize(
    "answer",
    [
        b"no http at all\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nupgrade: h2c\r\nconnection: upgrade\r\n\r\n",
    ],
)
def test_an_upstream_that_speaks_no_http_is_a_bad_gateway(proxy: Proxy, answer: bytes) -> None:
    proxy.provider.answers = [answer]

    async def story(proxy: Proxy) -> None:
        head, _ = await proxy.ask(request())
        assert head.startswith(b"HTTP/1.1 502 ")
        assert (await proxy.settled()).calls[0].estimated

    proxy.run(story)


def test_a_slow_reader_slows_the_provider_and_still_gets_every_byte(proxy: Proxy) -> None:
    piece = sse("content_block_delta", delta={"type": "text_delta", "text": "x" * 65536})
    count = 300
    sent = 0

    async def much(_: asyncio.StreamReader, writer: asyncio.StreamWriter, __: bytes) -> None:
        nonlocal sent
        head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: %d\r\n\r\n"
        writer.write(head % (len(piece) * count))
        for _index in range(count):
            writer.write(piece)
            await writer.drain()
            sent += 1

    proxy.provider.answers = [much]

    async def story(proxy: Proxy) -> None:
        reader, writer = await asyncio.open_unix_connection(str(proxy.socket), limit=65536)
        proxy.keep(writer)
        writer.write(request())
        await asyncio.sleep(0.3)
        assert sent < count
        await reader.readuntil(b"\r\n\r\n")
        for _ in range(count):
            assert await reader.readexactly(len(piece)) == piece
        writer.close()

    proxy.run(story)


def test_counting_tokens_is_a_call_without_cost(proxy: Proxy) -> None:
    proxy.provider.answers = [json_answer({"input_tokens": 5})]

    async def story(proxy: Proxy) -> None:
        _, body = await proxy.ask(request(target="/v1/messages/count_tokens?beta=true"))
        assert orjson.loads(body) == {"input_tokens": 5}
        (call,) = proxy.summary().calls
        assert (call.path, call.cost_microusd, call.estimated) == ("/v1/messages/count_tokens", 0, False)

    proxy.run(story)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (b"30", 30),
        (b"0", 0),
        (None, None),
        (b"Wed, 21 Oct 2026 07:28:00 GMT", None),
        (b"9999999", None),
        (b"-1", None),
    ],
)
def test_only_seconds_are_read_from_retry_after(value: bytes | None, seconds: int | None) -> None:
    assert read_seconds(value) == seconds


def test_a_second_answer_to_one_request_reaches_nobody(proxy: Proxy) -> None:
    proxy.provider.answers = [json_answer({"a": 1}) + json_answer({"b": 2}), json_answer({"c": 3})]

    async def story(proxy: Proxy) -> None:
        reader, writer = await proxy.connect()
        writer.write(request())
        assert (await read_message(reader))[1] == b'{"a":1}'
        writer.write(request())
        head, body = await read_message(reader)
        assert head.startswith(b"HTTP/1.1 200 ")
        assert body == b'{"c":3}'
        assert proxy.provider.connections == 2
        writer.close()

    proxy.run(story)
