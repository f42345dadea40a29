"""Tokens out of messages, streamed and whole."""

import orjson
import pytest

from instrument.schema.usage import Usage
from proxy.meter import Meter
from proxy.protocols.anthropic import open_meter
from support.proxykit import message_stream, sse


def read_stream(*events: bytes) -> Meter:
    meter = open_meter("/v1/messages", is_stream=True)
    for event in events:
        meter.feed(event)
    return meter


def test_case_08_cumulative_stream_usage_is_neither_added_nor_maximised() -> None:
    reading = read_stream(message_stream()).read()
    assert reading.usage == Usage(input_tokens=25, output_tokens=15)
    assert reading.is_whole
    assert reading.model == "claude-sonnet-4-5"


def test_the_last_present_value_wins_even_where_it_is_smaller() -> None:
    opened = {"model": "m", "usage": {"input_tokens": 9, "output_tokens": 40, "cache_read_input_tokens": 8}}
    usage = {"input_tokens": None, "output_tokens": 12, "cache_read_input_tokens": 7}
    events = (sse("message_start", message=opened), sse("message_delta", usage=usage), sse("message_stop"))
    assert read_stream(*events).read().usage == Usage(input_tokens=9, output_tokens=12, cache_read_tokens=7)


def test_case_09_cache_buckets_are_disjoint() -> None:
    body = {
        "model": "claude-sonnet-4-5",
        "usage": {"input_tokens": 3, "cache_creation_input_tokens": 12304, "output_tokens": 550},
    }
    meter = open_meter("/v1/messages", is_stream=False)
    meter.feed(orjson.dumps(body))
    expected = Usage(input_tokens=3, cache_write_5m_tokens=12304, output_tokens=550)
    assert meter.read().usage == expected
    assert meter.read().is_whole


@pytest.mark.parametrize(
    ("usage", "five", "hour", "is_whole"),
    [
        ({"cache_creation_input_tokens": 10}, 10, 0, True),
        (
            {
                "cache_creation_input_tokens": 10,
                "cache_creation": {"ephemeral_5m_input_tokens": 4, "ephemeral_1h_input_tokens": 6},
            },
            4,
            6,
            True,
        ),
        ({"cache_creation": {"ephemeral_5m_input_tokens": 4, "ephemeral_1h_input_tokens": 6}}, 4, 6, True),
        (
            {"cache_creation_input_tokens": 10, "cache_creation": {"ephemeral_1h_input_tokens": 12}},
            0,
            10,
            False,
        ),
        (
            {"cache_creation_input_tokens": 10, "cache_creation": {"ephemeral_1h_input_tokens": 6}},
            4,
            6,
            False,
        ),
        ({"cache_creation_input_tokens": 10, "cache_creation": None}, 10, 0, True),
    ],
)
def test_cache_writes_are_split_by_their_life(
    usage: dict[str, object], five: int, hour: int, *, is_whole: bool
) -> None:
    reading = read_stream(message_stream(**usage)).read()
    assert (reading.usage.cache_write_5m_tokens, reading.usage.cache_write_1h_tokens) == (five, hour)
    assert reading.is_whole is is_whole


def test_thinking_is_a_part_of_output() -> None:
    usage = {"output_tokens": 20, "output_tokens_details": {"thinking_tokens": 8}}
    events = (
        sse("message_start", message={"model": "m", "usage": {"input_tokens": 1}}),
        sse("message_delta", usage=usage),
        sse("message_stop"),
    )
    assert read_stream(*events).read().usage == Usage(input_tokens=1, output_tokens=20, reasoning_tokens=8)


def test_a_cut_stream_keeps_its_input_and_estimates_output_upwards() -> None:
    opened = {"model": "m", "usage": {"input_tokens": 25, "output_tokens": 1}}
    text = "x" * 101
    events = (
        sse("message_start", message=opened),
        sse("content_block_delta", delta={"type": "text_delta", "text": text}),
    )
    reading = read_stream(*events).read()
    assert reading.usage == Usage(input_tokens=25, output_tokens=51)
    assert not reading.is_whole


def test_a_cut_stream_is_never_below_the_last_usage_it_reported() -> None:
    whole = message_stream(output=4000)
    reading = read_stream(whole[: whole.index(b"event: message_stop")]).read()
    assert reading.usage.output_tokens == 4000
    assert not reading.is_whole


def test_arguments_of_tools_and_thinking_count_as_written() -> None:
    opened = {"model": "m", "usage": {"input_tokens": 1, "output_tokens": 1}}
    deltas = ({"partial_json": "ab"}, {"thinking": "cdef"}, {"signature": "gh"}, {"text": "é"})
    events = [sse("content_block_delta", delta=delta) for delta in deltas]
    assert read_stream(sse("message_start", message=opened), *events).read().usage.output_tokens == 5


def test_an_error_event_ends_a_stream_with_a_flag() -> None:
    opened = {"model": "m", "usage": {"input_tokens": 25, "output_tokens": 1}}
    error = sse("error", error={"type": "overloaded_error", "message": "…"})
    reading = read_stream(sse("message_start", message=opened), error, sse("message_stop")).read()
    assert reading.error_type == "overloaded_error"
    assert not reading.is_whole


@pytest.mark.parametrize("value", [True, -1, "12", 1.5, [1]])
def test_a_figure_that_is_no_count_is_flagged_and_not_used(value: object) -> None:
    reading = read_stream(message_stream(cache_read_input_tokens=value)).read()
    assert reading.usage.cache_read_tokens == 0
    assert not reading.is_whole


def test_a_stream_without_any_usage_is_not_whole() -> None:
    reading = read_stream(sse("message_start", message={"model": "m"}), sse("message_stop")).read()
    assert not reading.has_usage
    assert not reading.is_whole


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"usage": 3}', b"\xff"])
def test_a_body_that_says_nothing_is_not_whole(body: bytes) -> None:
    meter = open_meter("/v1/messages", is_stream=False)
    meter.feed(body)
    assert not meter.read().is_whole
    assert not meter.read().has_usage


def test_an_error_body_names_its_type() -> None:
    meter = open_meter("/v1/messages", is_stream=False)
    meter.feed(b'{"type":"error","error":{"type":"rate_limit_error","message":"slow"}}')
    assert meter.read().error_type == "rate_limit_error"
