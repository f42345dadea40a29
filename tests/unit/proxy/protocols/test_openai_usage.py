"""Tokens out of OpenAI's answers, streamed and whole."""

from typing import Any

import orjson
import pytest

from proxy.buckets import Buckets
from proxy.meter import Reading
from proxy.mode import Mode
from proxy.protocols.openai import CHAT, RESPONSES, open_meter
from support.proxykit import CHAT_DONE, CHAT_USAGE, chat_stream, chunk, response_stream, sse

CASE_09 = Buckets(input_tokens=2000, cache_read_tokens=8000, output_tokens=100)


def read(path: str, data: bytes, *, is_stream: bool = True) -> Reading:
    meter = open_meter(path, is_stream=is_stream)
    meter.feed(data)
    return meter.read()


def read_body(path: str, **value: Any) -> Reading:
    return read(path, orjson.dumps({"model": "gpt-5", **value}), is_stream=False)


def test_case_09_cached_input_is_taken_out_of_the_input() -> None:
    usage = {"input_tokens": 10000, "input_tokens_details": {"cached_tokens": 8000}, "output_tokens": 100}
    readings = [
        read(RESPONSES, response_stream()),
        read(CHAT, chat_stream()),
        read_body(RESPONSES, error=None, usage=usage),
        read_body(CHAT, usage=CHAT_USAGE),
    ]
    for reading in readings:
        assert reading.usage == CASE_09
        assert (reading.model, reading.is_whole, reading.error_type) == ("gpt-5", True, None)


@pytest.mark.parametrize(
    ("path", "names"),
    [(RESPONSES, ("input_tokens", "output_tokens")), (CHAT, ("prompt_tokens", "completion_tokens"))],
)
def test_cache_writes_and_reasoning_are_found_in_the_details(path: str, names: tuple[str, str]) -> None:
    given, made = names
    usage = {
        given: 100,
        f"{given}_details": {"cached_tokens": 30, "cache_write_tokens": 20},
        made: 9,
        f"{made}_details": {"reasoning_tokens": 4},
    }
    assert read_body(path, usage=usage).usage == Buckets(
        input_tokens=50, cache_read_tokens=30, cache_write_5m_tokens=20, output_tokens=9, reasoning_tokens=4
    )


@pytest.mark.parametrize(("long", "short", "is_whole"), [(20, 0, True), (5, 15, True), (25, 0, False)])
def test_cache_writes_are_split_by_their_life(*, long: int, short: int, is_whole: bool) -> None:
    lives = {"ttl_12h_tokens": long, "ttl_30m_tokens": short}
    details = {"cached_tokens": 0, "cache_write_tokens": 20, "cache_write_tokens_details": lives}
    reading = read_body(RESPONSES, usage={"input_tokens": 50, "input_tokens_details": details})
    assert reading.usage.cache_write_1h_tokens == min(long, 20)
    assert reading.usage.cache_write_5m_tokens == short
    assert reading.is_whole is is_whole


def test_the_last_present_value_wins() -> None:
    details = {"cached_tokens": None}
    later = {"prompt_tokens": 90, "prompt_tokens_details": details, "completion_tokens": None}
    first = {"prompt_tokens": 100, "prompt_tokens_details": {"cached_tokens": 30}, "completion_tokens": 7}
    data = chunk({}, usage=first) + chunk({}, usage=later) + CHAT_DONE
    assert read(CHAT, data).usage == Buckets(input_tokens=60, cache_read_tokens=30, output_tokens=7)


@pytest.mark.parametrize("value", [True, -1, "12", 1.5, [1]])
def test_a_figure_that_is_no_count_is_flagged_and_not_used(value: object) -> None:
    reading = read_body(CHAT, usage={**CHAT_USAGE, "completion_tokens": value})
    assert reading.usage.output_tokens == 0
    assert not reading.is_whole


def test_a_cache_larger_than_its_input_is_flagged_and_all_is_charged() -> None:
    usage = {"prompt_tokens": 10, "prompt_tokens_details": {"cached_tokens": 30}, "completion_tokens": 1}
    reading = read_body(CHAT, usage=usage)
    assert reading.usage == Buckets(input_tokens=10, cache_read_tokens=30, output_tokens=1)
    assert not reading.is_whole


def test_an_answer_that_reached_its_ceiling_is_whole() -> None:
    assert read(RESPONSES, response_stream(end="response.incomplete")).is_whole


def test_a_failed_response_names_its_error_and_keeps_its_usage() -> None:
    error = {"code": "server_error", "message": "…"}
    reading = read(RESPONSES, response_stream(end="response.failed", error=error))
    assert reading.error_type == "server_error"
    assert reading.usage == CASE_09
    assert not reading.is_whole


def test_a_failed_response_without_a_reason_is_an_error_too() -> None:
    assert read(RESPONSES, response_stream(end="response.failed")).error_type == "failed"


@pytest.mark.parametrize(
    ("event", "kind"),
    [
        (sse("error", code="rate_limit_exceeded", message="…"), "rate_limit_exceeded"),
        (sse("error", error={"type": "server_error", "code": None}), "server_error"),
        (sse("error", message="…"), "error"),
    ],
)
def test_an_error_event_ends_a_stream_with_a_flag(event: bytes, kind: str) -> None:
    begun = response_stream().partition(b"event: response.output_item.done")[0]
    reading = read(RESPONSES, begun + event)
    assert (reading.error_type, reading.is_whole, reading.has_usage) == (kind, False, False)


def test_an_error_in_a_chat_stream_is_flagged() -> None:
    error = b'data: {"error":{"message":"x","type":"server_error","param":null,"code":null}}\n\n'
    reading = read(CHAT, chunk({"content": "hello"}) + error)
    assert (reading.error_type, reading.is_whole) == ("server_error", False)


@pytest.mark.parametrize("path", [RESPONSES, CHAT])
@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"type": "invalid_request_error", "code": "invalid_api_key"}, "invalid_api_key"),
        ({"type": "server_error", "code": None}, "server_error"),
        ({"message": "x"}, "error"),
        ("down", "error"),
    ],
)
def test_an_error_body_names_its_code_or_its_type(path: str, error: object, kind: str) -> None:
    reading = read(path, orjson.dumps({"error": error}), is_stream=False)
    assert (reading.error_type, reading.is_whole) == (kind, False)


def test_a_cut_stream_counts_what_the_model_wrote() -> None:
    begun = response_stream().partition(b"event: response.completed")[0]
    call = sse("response.function_call_arguments.delta", delta="é" * 50)
    sealed = sse("response.output_item.done", item={"type": "reasoning", "encrypted_content": "x" * 21})
    # 5 bytes of "hello", 100 of arguments, 21 of sealed reasoning; two bytes a token.
    reading = read(RESPONSES, begun + call + sealed)
    assert reading.usage == Buckets(output_tokens=63)
    assert (reading.has_usage, reading.is_whole) == (False, False)


def test_zeros_of_a_response_that_runs_are_no_usage() -> None:
    usage = {"input_tokens": 0, "output_tokens": 0}
    reading = read(RESPONSES, sse("response.created", response={"model": "gpt-5", "usage": usage}))
    assert (reading.model, reading.has_usage, reading.is_whole) == ("gpt-5", False, False)


def test_a_cut_chat_stream_counts_texts_and_arguments_of_tools() -> None:
    call = {"tool_calls": [{"index": 0, "id": "call_1", "function": {"name": "bash", "arguments": "abcdef"}}]}
    data = chunk({"role": "assistant", "content": "xyz"}, {"refusal": "no"}) + chunk(call)
    assert read(CHAT, data).usage == Buckets(output_tokens=8)


def test_a_chat_stream_without_its_mark_is_not_whole() -> None:
    assert not read(CHAT, chat_stream().removesuffix(CHAT_DONE)).is_whole


def test_a_chat_stream_without_usage_is_not_whole() -> None:
    reading = read(CHAT, chat_stream(has_usage=False))
    assert (reading.is_whole, reading.has_usage, reading.usage.output_tokens) == (False, False, 3)


def search(action: object = None) -> dict[str, object]:
    return {"type": "web_search_call", "status": "completed", "action": action or {"type": "search"}}


def test_searches_are_counted_once_wherever_they_show() -> None:
    items = [search(), {"type": "message"}, search(), search({"type": "open_page"}), search("odd")]
    done = [sse("response.output_item.done", output_index=n, item=item) for n, item in enumerate(items)]
    for data in (
        b"".join(done) + response_stream(output=items),
        b"".join(done) + response_stream(output=[]),
        response_stream(output=items),
    ):
        reading = read(RESPONSES, data)
        assert (reading.usage.web_searches, reading.has_gap, reading.is_whole) == (3, False, True)
    assert read_body(RESPONSES, usage={}, output=items).usage.web_searches == 3


@pytest.mark.parametrize("kind", ["file_search_call", "code_interpreter_call", "image_generation_call"])
def test_a_tool_that_is_charged_without_a_count_is_a_gap(kind: str) -> None:
    assert read_body(RESPONSES, usage={}, output=[{"type": kind}]).has_gap
    done = sse("response.output_item.done", output_index=0, item={"type": kind})
    assert read(RESPONSES, done + response_stream()).has_gap
    assert not read_body(RESPONSES, usage={}, output=[{"type": "function_call"}, None]).has_gap


def test_the_tier_is_the_one_at_the_end() -> None:
    created = sse("response.created", response={"model": "gpt-5", "service_tier": "auto"})
    assert read(RESPONSES, created).mode == Mode()
    ended = created + response_stream(service_tier="priority")
    assert read(RESPONSES, ended).mode == Mode(service_tier="priority")
    assert read_body(RESPONSES, usage={}, service_tier="flex").mode == Mode(service_tier="flex")
    assert read_body(CHAT, usage={}, service_tier="flex").mode == Mode(service_tier="flex")
    chat = chunk({"content": "x"}, service_tier="priority") + chunk(usage=CHAT_USAGE) + CHAT_DONE
    assert read(CHAT, chat).mode == Mode(service_tier="priority")


def test_a_completion_that_cites_the_web_has_searched_it() -> None:
    cited = [{"type": "url_citation", "url_citation": {"url": "https://example.org"}}]
    streamed = chunk({"annotations": cited}) + chunk({"annotations": cited}) + chat_stream()
    assert read(CHAT, streamed).usage.web_searches == 1
    choices = [{"message": {"content": "x", "annotations": cited}}, None]
    assert read_body(CHAT, usage=CHAT_USAGE, choices=choices).usage.web_searches == 1
    for notes in ([], None, [{"type": "file_citation"}, 3]):
        assert (
            read_body(CHAT, usage=CHAT_USAGE, choices=[{"message": {"annotations": notes}}]).usage == CASE_09
        )
