"""Calls of OpenAI's APIs between real sockets: bytes, money, cuts and refusals."""

import asyncio
import gzip
from pathlib import Path
from typing import Any

import orjson
import pytest

from instrument.schema.usage import Usage
from proxy.protocols import openai
from proxy.protocols.openai import CHAT, PATHS, RESPONSES
from support.proxykit import (
    CHAT_USAGE,
    Proxy,
    chat_stream,
    json_answer,
    request,
    response_stream,
    stream_answer,
)

CASE_09 = Usage(input_tokens=2000, cache_read_tokens=8000, output_tokens=100)
CASE_09_MICROUSD = 4500  # 2000 x 1.25 + 8000 x 0.125 + 100 x 10


@pytest.fixture
def proxy(tmp_path: Path) -> Proxy:
    made = Proxy(tmp_path)
    made.wire = openai
    return made


def ask(path: str, model: str = "gpt-5", **fields: Any) -> bytes:
    return request(orjson.dumps({"model": model, "stream": True, **fields}), path)


def error_of(body: bytes) -> dict[str, Any]:
    (error,) = orjson.loads(body).values()
    assert isinstance(error, dict)
    return error


@pytest.mark.parametrize(
    ("path", "answer"),
    [
        (RESPONSES, stream_answer(response_stream())),
        (CHAT, stream_answer(chat_stream())),
        (
            RESPONSES,
            json_answer(
                {
                    "model": "gpt-5-2025-08-07",
                    "usage": {
                        "input_tokens": 10000,
                        "input_tokens_details": {"cached_tokens": 8000},
                        "output_tokens": 100,
                    },
                }
            ),
        ),
        (CHAT, json_answer({"model": "gpt-5-2025-08-07", "usage": CHAT_USAGE})),
    ],
)
def test_case_09_both_apis_are_charged_by_their_buckets(proxy: Proxy, path: str, answer: bytes) -> None:
    proxy.provider.answers = [answer]

    async def story(proxy: Proxy) -> None:
        await proxy.ask(ask(path, stream=b"event-stream" in answer))
        (call,) = proxy.summary().calls
        assert (call.usage, call.cost_microusd) == (CASE_09, CASE_09_MICROUSD)
        assert (call.path, call.estimated, call.has_succeeded) == (path, False, True)

    proxy.run(story)


def test_a_responses_stream_passes_byte_for_byte_with_our_key(proxy: Proxy) -> None:
    body = b'{ "model":"gpt-5",\n"stream":true, "input":"\xc3\xa9" } '
    proxy.provider.answers = [stream_answer(response_stream())]

    async def story(proxy: Proxy) -> None:
        _, answer = await proxy.ask(request(body, RESPONSES, extra=b"authorization: Bearer theirs\r\n"))
        assert answer == response_stream()
        assert proxy.provider.bodies == [body]
        head = proxy.provider.heads[0].lower()
        assert head.startswith(b"post /v1/responses http/1.1\r\n")
        assert b"authorization: bearer real-key\r\n" in head
        assert b"theirs" not in head
        assert b"x-api-key" not in head

    proxy.run(story)


def test_usage_that_the_client_did_not_ask_for_is_asked_for_and_kept_from_it(proxy: Proxy) -> None:
    proxy.provider.answers = [stream_answer(chat_stream())]

    async def story(proxy: Proxy) -> None:
        head, body = await proxy.ask(ask(CHAT))
        assert body == chat_stream(has_usage=False)
        assert b"transfer-encoding: chunked" in head
        assert orjson.loads(proxy.provider.bodies[0])["stream_options"] == {"include_usage": True}
        assert b"content-length: %d\r\n" % len(proxy.provider.bodies[0]) in proxy.provider.heads[0]
        assert proxy.summary().calls[0].cost_microusd == CASE_09_MICROUSD

    proxy.run(story)


def test_usage_that_the_client_asked_for_reaches_it(proxy: Proxy) -> None:
    raw = ask(CHAT, stream_options={"include_usage": True})
    proxy.provider.answers = [stream_answer(chat_stream())]

    async def story(proxy: Proxy) -> None:
        assert (await proxy.ask(raw))[1] == chat_stream()
        assert proxy.provider.bodies[0] in raw

    proxy.run(story)


def test_a_stream_of_known_length_gets_shorter_without_lying_about_it(proxy: Proxy) -> None:
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: %d\r\n\r\n"
    proxy.provider.answers = [head % len(chat_stream()) + chat_stream()]

    async def story(proxy: Proxy) -> None:
        head, body = await proxy.ask(ask(CHAT))
        assert b"content-length" not in head
        assert body == chat_stream(has_usage=False)

    proxy.run(story)


def test_what_the_stream_ends_with_reaches_the_client_without_its_blank_line(proxy: Proxy) -> None:
    proxy.provider.answers = [stream_answer(chat_stream().rstrip())]

    async def story(proxy: Proxy) -> None:
        assert (await proxy.ask(ask(CHAT)))[1] == chat_stream(has_usage=False).rstrip()

    proxy.run(story)


def test_a_packed_stream_passes_packed_and_is_metered(proxy: Proxy) -> None:
    packed = gzip.compress(chat_stream())
    kind = b"content-type: text/event-stream\r\ncontent-encoding: gzip\r\n"
    head = b"HTTP/1.1 200 OK\r\n" + kind + b"content-length: %d\r\n\r\n"
    proxy.provider.answers = [head % len(packed) + packed]

    async def story(proxy: Proxy) -> None:
        head, body = await proxy.ask(ask(CHAT))
        assert body == packed
        assert b"content-length: %d\r\n" % len(packed) in head
        assert proxy.summary().calls[0].cost_microusd == CASE_09_MICROUSD

    proxy.run(story)


def test_an_answer_that_is_no_stream_passes_as_it_is(proxy: Proxy) -> None:
    error = {"error": {"message": "slow", "type": "requests", "param": None, "code": "rate_limit_exceeded"}}
    proxy.provider.answers = [json_answer(error, b"429 Too Many", b"retry-after: 30\r\n")]

    async def story(proxy: Proxy) -> None:
        head, body = await proxy.ask(ask(CHAT))
        assert orjson.loads(body) == error
        assert b"content-length: %d\r\n" % len(body) in head
        (call,) = proxy.summary().calls
        assert (call.status, call.error_type, call.retry_after_s) == (429, "rate_limit_exceeded", 30)
        assert (call.cost_microusd, call.estimated) == (0, False)

    proxy.run(story)


@pytest.mark.parametrize(("path", "stream"), [(RESPONSES, response_stream()), (CHAT, chat_stream())])
@pytest.mark.parametrize("size", [0, 1, 200, 330])
def test_a_cut_stream_stays_cut_and_is_settled_once_at_its_input_at_most(
    proxy: Proxy, path: str, stream: bytes, size: int
) -> None:
    part = stream[:size]

    async def cut(_: asyncio.StreamReader, writer: asyncio.StreamWriter, __: bytes) -> None:
        writer.write(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
        )
        if part:
            writer.write(b"%x\r\n%b\r\n" % (len(part), part))
        await writer.drain()
        writer.close()
        raise ConnectionResetError

    proxy.provider.answers = [cut]

    async def story(proxy: Proxy) -> None:
        reader, writer = await proxy.connect()
        raw = ask(path)
        writer.write(raw)
        received = await reader.read(-1)
        assert not received.endswith(b"0\r\n\r\n")
        writer.close()
        (call,) = (await proxy.settled()).calls
        sent = len(raw.partition(b"\r\n\r\n")[2])
        assert call.usage.cache_write_5m_tokens == -(-sent // 2)
        assert (call.estimated, call.cost_microusd > 0) == (True, True)
        assert proxy.ledger_path.read_bytes().count(b"call_ended") == 1

    proxy.run(story)


def test_a_failed_stream_is_no_success(proxy: Proxy) -> None:
    error = {"code": "server_error", "message": "x"}
    proxy.provider.answers = [stream_answer(response_stream(end="response.failed", error=error))]

    async def story(proxy: Proxy) -> None:
        await proxy.ask(ask(RESPONSES))
        (call,) = proxy.summary().calls
        assert (call.error_type, call.has_succeeded) == ("server_error", False)
        assert (call.estimated, call.cost_microusd) == (True, CASE_09_MICROUSD)

    proxy.run(story)


@pytest.mark.parametrize("path", PATHS)
def test_a_spent_budget_is_the_one_answer_that_ends_an_agent(proxy: Proxy, path: str) -> None:
    proxy.budget_microusd = 0

    async def story(proxy: Proxy) -> None:
        head, body = await proxy.ask(ask(path))
        assert head.startswith(b"HTTP/1.1 400 ")
        assert b"x-should-retry: false\r\n" in head
        assert b"retry-after" not in head
        error = error_of(body)
        assert "budget" in error.pop("message")
        assert error == {"type": "insufficient_quota", "param": None, "code": "insufficient_quota"}
        assert proxy.summary().denied[0].reason == "budget"
        assert proxy.provider.connections == 0

    proxy.run(story)


@pytest.mark.parametrize("model", ["gpt-5-unheard-of", "claude-sonnet-4-5"])
def test_case_13_a_model_without_a_price_never_leaves(proxy: Proxy, model: str) -> None:
    async def story(proxy: Proxy) -> None:
        head, body = await proxy.ask(ask(RESPONSES, model))
        assert head.startswith(b"HTTP/1.1 400 ")
        assert repr(model) in error_of(body)["message"]
        assert proxy.summary().denied[0].reason == "price"
        assert proxy.provider.connections == 0

    proxy.run(story)


def test_case_22_an_upgrade_is_426_at_once_and_the_post_after_it_works(proxy: Proxy) -> None:
    raw = b"GET /v1/responses HTTP/1.1\r\nhost: x\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\r\n"
    proxy.provider.answers = [stream_answer(response_stream())]

    async def story(proxy: Proxy) -> None:
        head, body = await proxy.ask(raw)
        assert head.startswith(b"HTTP/1.1 426 ")
        assert error_of(body)["type"] == "invalid_request_error"
        assert (await proxy.ask(ask(RESPONSES)))[1] == response_stream()
        assert [denied.reason for denied in proxy.summary().denied] == ["upgrade"]
        assert len(proxy.summary().calls) == 1

    proxy.run(story)


@pytest.mark.parametrize("path", ["/v1/messages", "/responses", "/v1/responses/x", "/v1/embeddings"])
def test_case_22_any_other_path_is_404_with_a_row(proxy: Proxy, path: str) -> None:
    async def story(proxy: Proxy) -> None:
        head, body = await proxy.ask(ask(path))
        assert head.startswith(b"HTTP/1.1 404 ")
        assert error_of(body)["code"] == "unknown_url"
        assert "POST /v1/responses and POST /v1/chat/completions" in error_of(body)["message"]
        assert proxy.summary().denied[0].path == path

    proxy.run(story)


def test_a_dead_provider_is_a_bad_gateway_in_openais_shape(proxy: Proxy) -> None:
    proxy.is_provider_dead = True

    async def story(proxy: Proxy) -> None:
        head, body = await proxy.ask(ask(CHAT))
        assert head.startswith(b"HTTP/1.1 502 ")
        assert error_of(body)["type"] == "server_error"

    proxy.run(story)
