"""Providers in order for the same model: who is asked when, what is booked, and what passes."""

import asyncio
from pathlib import Path

import orjson
import pytest

from proxy.address import Address
from proxy.protocols import openai
from proxy.routes import Route, Routes
from proxy.upstream import Upstream
from support.proxykit import (
    CHAT_USAGE,
    Answerer,
    Provider,
    Proxy,
    chat_stream,
    json_answer,
    message_stream,
    read_message,
    request,
    stream_answer,
)

ERROR = {"type": "error", "error": {"type": "overloaded_error", "message": "later"}}
BUSY = json_answer(ERROR, b"529 Busy", b"retry-after: 30\r\n")
WELL = stream_answer(message_stream())


@pytest.fixture
def proxy(proxy: Proxy) -> Proxy:
    """One with a provider and two fallbacks, which answer well."""
    proxy.fallbacks = [Provider(), Provider()]
    return proxy


def route(host: str) -> Route:
    return Route(Upstream(Address(host, 80, is_tls=False, prefix=b"")), (b"x-api-key", b"sk-secret"))


def asked(proxy: Proxy) -> list[int]:
    return [len(provider.heads) for provider in (proxy.provider, *proxy.fallbacks)]


def rows(proxy: Proxy) -> list[tuple[str | None, int | None]]:
    return [(call.host, call.status) for call in proxy.summary().calls]


def test_each_is_in_turn_once_from_the_preferred_one_around() -> None:
    a, b, c = route("a"), route("b"), route("c")
    routes = Routes((a, b, c))
    assert routes.in_turn() == (a, b, c)
    routes.prefer(b)
    assert routes.in_turn() == (b, c, a)
    routes.avoid(c)
    assert routes.in_turn() == (a, b, c)
    assert "sk-secret" not in repr(routes.in_turn())


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504, 529])
def test_a_provider_that_cannot_answer_now_is_followed_by_the_next_with_its_own_key(
    proxy: Proxy, status: int
) -> None:
    proxy.provider.answers = [json_answer(ERROR, b"%d Busy" % status)]

    async def story(proxy: Proxy) -> None:
        head, body = await proxy.ask(request())
        assert head.startswith(b"HTTP/1.1 200 ")
        assert body == message_stream()
        assert asked(proxy) == [1, 1, 0]
        assert proxy.fallbacks[0].bodies == proxy.provider.bodies
        assert b"x-api-key: key-2\r\n" in proxy.fallbacks[0].heads[0]
        assert b"host: 127.0.0.2:" in proxy.fallbacks[0].heads[0]
        assert rows(proxy) == [("127.0.0.1", status), ("127.0.0.2", 200)]
        first, second = proxy.summary().calls
        assert (first.cost_microusd, first.error_type) == (0, "overloaded_error")
        assert (second.cost_microusd, second.estimated) == (300, False)
        assert proxy.marks == 1

    proxy.run(story)


@pytest.mark.parametrize("status", [200, 400, 401, 403, 404, 408, 413, 501])
def test_any_other_answer_passes(proxy: Proxy, status: int) -> None:
    proxy.provider.answers = [json_answer(ERROR, b"%d Said" % status)]

    async def story(proxy: Proxy) -> None:
        head, body = await proxy.ask(request(stream=False))
        assert head.startswith(b"HTTP/1.1 %d " % status)
        assert orjson.loads(body) == ERROR
        assert asked(proxy) == [1, 0, 0]

    proxy.run(story)


def test_a_provider_that_cannot_be_reached_is_followed_by_the_next_and_costs_nothing(proxy: Proxy) -> None:
    proxy.is_provider_dead = True

    async def story(proxy: Proxy) -> None:
        assert (await proxy.ask(request()))[1] == message_stream()
        assert rows(proxy) == [("127.0.0.1", None), ("127.0.0.2", 200)]
        first, second = proxy.summary().calls
        assert (first.cost_microusd, first.estimated, first.settled) == (0, False, True)
        assert second.cost_microusd == 300

    proxy.run(story)


def test_the_last_ones_answer_passes_as_it_is(proxy: Proxy) -> None:
    for n, provider in enumerate((proxy.provider, *proxy.fallbacks)):
        provider.answers = [json_answer(ERROR, b"529 Busy", b"retry-after: %d\r\nx-limit: 5\r\n" % n)]

    async def story(proxy: Proxy) -> None:
        head, body = await proxy.ask(request())
        assert head.startswith(b"HTTP/1.1 529 ")
        assert b"retry-after: 2\r\nx-limit: 5\r\n" in head
        assert orjson.loads(body) == ERROR
        assert asked(proxy) == [1, 1, 1]
        calls = proxy.summary().calls
        assert [call.retry_after_s for call in calls] == [0, 1, 2]
        assert not any(call.has_succeeded or call.cost_microusd for call in calls)

    proxy.run(story)


def test_the_one_that_answered_last_is_asked_first_and_around_from_there(proxy: Proxy) -> None:
    proxy.provider.answers = [BUSY, WELL]
    proxy.fallbacks[0].answers = [WELL, WELL, BUSY]
    proxy.fallbacks[1].answers = [BUSY]

    async def story(proxy: Proxy) -> None:
        reader, writer = await proxy.connect()
        for _ in range(4):
            writer.write(request())
            assert (await read_message(reader))[1] == message_stream()
        writer.close()
        first, second, third = "127.0.0.1", "127.0.0.2", "127.0.0.3"
        assert rows(proxy) == [
            *((first, 529), (second, 200)),
            (second, 200),
            *((second, 529), (third, 529), (first, 200)),
            (first, 200),
        ]

    proxy.run(story)


def test_without_a_fallback_what_a_busy_provider_says_passes(proxy: Proxy) -> None:
    proxy.fallbacks, proxy.provider.answers = [], [BUSY]

    async def story(proxy: Proxy) -> None:
        assert (await proxy.ask(request()))[0].startswith(b"HTTP/1.1 529 ")
        assert rows(proxy) == [("127.0.0.1", 529)]

    proxy.run(story)


def test_a_request_that_left_and_got_no_answer_is_not_sent_again_but_the_next_goes_elsewhere(
    proxy: Proxy,
) -> None:
    async def die(_: asyncio.StreamReader, writer: asyncio.StreamWriter, __: bytes) -> None:
        writer.transport.abort()
        raise ConnectionResetError

    proxy.provider.answers = [die]

    async def story(proxy: Proxy) -> None:
        head, body = await proxy.ask(request())
        assert head.startswith(b"HTTP/1.1 502 ")
        assert "127.0.0.1" in orjson.loads(body)["error"]["message"]
        assert asked(proxy) == [1, 0, 0]
        assert proxy.summary().calls[0].estimated
        assert (await proxy.ask(request()))[1] == message_stream()
        assert asked(proxy) == [1, 1, 0]

    proxy.run(story)


def after_head(then: bytes) -> Answerer:
    """Says that it is overloaded, and then as much as this of what it announced."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, _: bytes) -> None:
        writer.write(b"HTTP/1.1 503 Busy\r\ncontent-type: application/json\r\ncontent-length: 999\r\n\r\n")
        await writer.drain()
        writer.write(then)
        assert await reader.read() == b""
        raise ConnectionResetError

    return answer


@pytest.mark.parametrize("then", [b"", b"x" * 998])
def test_an_error_that_never_ends_is_not_waited_for(proxy: Proxy, then: bytes) -> None:
    proxy.provider.answers = [after_head(then)]

    async def story(proxy: Proxy) -> None:
        assert (await proxy.ask(request()))[1] == message_stream()
        assert rows(proxy) == [("127.0.0.1", 503), ("127.0.0.2", 200)]
        assert proxy.ledger_path.read_bytes().count(b"call_ended") == 2

    proxy.run(story)


def test_a_cut_of_the_fallbacks_answer_stays_a_cut(proxy: Proxy) -> None:
    async def cut(_: asyncio.StreamReader, writer: asyncio.StreamWriter, __: bytes) -> None:
        writer.write(WELL[:400])
        await writer.drain()
        writer.close()
        raise ConnectionResetError

    proxy.provider.answers, proxy.fallbacks[0].answers = [BUSY], [cut]

    async def story(proxy: Proxy) -> None:
        reader, writer = await proxy.connect()
        writer.write(request())
        assert not (await reader.read()).endswith(b"0\r\n\r\n")
        writer.close()
        first, second = (await proxy.settled(2)).calls
        assert (first.estimated, second.estimated) == (False, True)
        assert asked(proxy) == [1, 1, 0]

    proxy.run(story)


def test_a_client_that_leaves_between_two_providers_settles_each_attempt_once(proxy: Proxy) -> None:
    begun, left = asyncio.Event(), asyncio.Event()

    async def stay(reader: asyncio.StreamReader, _: asyncio.StreamWriter, __: bytes) -> None:
        begun.set()
        assert await reader.read() == b""
        left.set()
        raise ConnectionResetError

    proxy.provider.answers, proxy.fallbacks[0].answers = [BUSY], [stay]

    async def story(proxy: Proxy) -> None:
        _, writer = await proxy.connect()
        writer.write(request())
        await begun.wait()
        writer.close()
        await left.wait()
        first, second = (await proxy.settled(2)).calls
        assert (first.cost_microusd, first.status) == (0, 529)
        assert (second.estimated, second.status) == (True, None)
        assert asked(proxy) == [1, 1, 0]

    proxy.run(story)


def test_after_the_deadline_no_other_provider_is_asked(proxy: Proxy) -> None:
    async def too_late(_: asyncio.StreamReader, writer: asyncio.StreamWriter, __: bytes) -> None:
        proxy.now_s = proxy.deadline_s + 1
        writer.write(BUSY)

    proxy.provider.answers = [too_late]

    async def story(proxy: Proxy) -> None:
        assert (await proxy.ask(request()))[0].startswith(b"HTTP/1.1 529 ")
        assert asked(proxy) == [1, 0, 0]

    proxy.run(story)


def test_the_usage_that_a_client_did_not_ask_for_is_hidden_from_whoever_answers(tmp_path: Path) -> None:
    proxy = Proxy(tmp_path)
    proxy.wire, proxy.fallbacks = openai, [Provider()]
    error = {"error": {"message": "later", "type": "server_error", "param": None, "code": None}}
    proxy.provider.answers = [json_answer(error, b"503 Busy")]
    proxy.fallbacks[0].answers = [stream_answer(chat_stream())]
    body = orjson.dumps({"model": "gpt-5", "stream": True, "messages": []})

    async def story(proxy: Proxy) -> None:
        _, answer = await proxy.ask(request(body, target="/v1/chat/completions"))
        assert answer == chat_stream(has_usage=False)
        assert proxy.fallbacks[0].bodies == proxy.provider.bodies
        assert b"authorization: Bearer key-2\r\n" in proxy.fallbacks[0].heads[0]
        first, second = proxy.summary().calls
        assert first.error_type == "server_error"
        assert second.usage.output_tokens == CHAT_USAGE["completion_tokens"]

    proxy.run(story)
