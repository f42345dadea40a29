"""Tokens out of messages, streamed and whole."""

import orjson
import pytest

from proxy.buckets import Buckets
from proxy.meter import Extra, Meter, Reading
from proxy.mode import Mode
from proxy.protocols.anthropic import open_meter
from support.proxykit import message_stream, sse


def read_stream(*events: bytes) -> Meter:
    meter = open_meter("/v1/messages", is_stream=True)
    for event in events:
        meter.feed(event)
    return meter


def test_case_08_cumulative_stream_usage_is_neither_added_nor_maximised() -> None:
    reading = read_stream(message_stream()).read()
    assert reading.usage == Buckets(input_tokens=25, output_tokens=15)
    assert reading.is_whole
    assert reading.model == "claude-sonnet-4-5"


def test_the_last_present_value_wins_even_where_it_is_smaller() -> None:
    opened = {"model": "m", "usage": {"input_tokens": 9, "output_tokens": 40, "cache_read_input_tokens": 8}}
    usage = {"input_tokens": None, "output_tokens": 12, "cache_read_input_tokens": 7}
    events = (sse("message_start", message=opened), sse("message_delta", usage=usage), sse("message_stop"))
    assert read_stream(*events).read().usage == Buckets(input_tokens=9, output_tokens=12, cache_read_tokens=7)


def test_case_09_cache_buckets_are_disjoint() -> None:
    body = {
        "model": "claude-sonnet-4-5",
        "usage": {"input_tokens": 3, "cache_creation_input_tokens": 12304, "output_tokens": 550},
    }
    meter = open_meter("/v1/messages", is_stream=False)
    meter.feed(orjson.dumps(body))
    expected = Buckets(input_tokens=3, cache_write_5m_tokens=12304, output_tokens=550)
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
    assert read_stream(*events).read().usage == Buckets(input_tokens=1, output_tokens=20, reasoning_tokens=8)


def test_a_cut_stream_keeps_its_input_and_estimates_output_upwards() -> None:
    opened = {"model": "m", "usage": {"input_tokens": 25, "output_tokens": 1}}
    text = "x" * 101
    events = (
        sse("message_start", message=opened),
        sse("content_block_delta", delta={"type": "text_delta", "text": text}),
    )
    reading = read_stream(*events).read()
    assert reading.usage == Buckets(input_tokens=25, output_tokens=51)
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


def read_body(usage: dict[str, object], **message: object) -> Reading:
    meter = open_meter("/v1/messages", is_stream=False)
    meter.feed(
        orjson.dumps({"model": "m", "usage": {"input_tokens": 5, "output_tokens": 7, **usage}, **message})
    )
    return meter.read()


def test_searches_grow_in_the_delta_and_the_last_count_wins() -> None:
    opened = {"model": "m", "usage": {"input_tokens": 9, "server_tool_use": {"web_search_requests": 0}}}
    deltas = [sse("message_delta", usage={"server_tool_use": {"web_search_requests": n}}) for n in (1, 3)]
    reading = read_stream(sse("message_start", message=opened), *deltas, sse("message_stop")).read()
    assert (reading.usage.web_searches, reading.is_whole, reading.has_gap) == (3, True, False)


def test_fetches_cost_their_tokens_alone() -> None:
    reading = read_body({"server_tool_use": {"web_search_requests": 0, "web_fetch_requests": 4}})
    assert (reading.usage.web_searches, reading.has_gap) == (0, False)


def test_how_it_was_served_is_told() -> None:
    said = {"service_tier": "standard", "speed": "fast", "inference_geo": "us"}
    assert read_body(said).mode == Mode("standard", "fast", "us")
    assert read_body({"speed": 3, "inference_geo": None}).mode == Mode()


def test_compactions_are_told_beside_the_counts_and_turns_are_not() -> None:
    compaction = {"type": "compaction", "input_tokens": 180_000, "output_tokens": 3500}
    turn = {"type": "message", "input_tokens": 23_000, "output_tokens": 1000}
    counts = {"input_tokens": 46_000, "output_tokens": 2000}
    reading = read_body({**counts, "iterations": [compaction, turn, turn]})
    assert reading.extras == (Extra(None, Buckets(input_tokens=180_000, output_tokens=3500)),)
    assert reading.usage == Buckets(**counts)
    assert (reading.is_whole, reading.has_gap) == (True, False)


def test_turns_that_pass_their_own_sum_are_a_gap() -> None:
    """The provider's documentation once had the sum leave out what later turns read."""
    turn = {"type": "message", "input_tokens": 5, "cache_read_input_tokens": 1, "output_tokens": 7}
    assert read_body({"cache_read_input_tokens": 1, "iterations": [turn]}).has_gap is False
    assert read_body({"iterations": [turn]}).has_gap is True


def test_the_last_list_of_iterations_is_the_list() -> None:
    one = {"type": "compaction", "input_tokens": 1, "output_tokens": 1}
    opened = {"model": "m", "usage": {"input_tokens": 9, "iterations": [one]}}
    events = (
        sse("message_start", message=opened),
        sse("message_delta", usage={"iterations": [one, one]}),
        sse("message_delta", usage={"iterations": None}),
        sse("message_stop"),
    )
    assert len(read_stream(*events).read().extras) == 2


def test_an_advisers_tokens_are_told_with_its_model() -> None:
    advice = {"type": "advisor_message", "model": "claude-opus-5-5", "input_tokens": 8, "output_tokens": 9}
    reading = read_body({"iterations": [advice]})
    assert reading.extras == (Extra("claude-opus-5-5", Buckets(input_tokens=8, output_tokens=9)),)
    assert not reading.has_gap


@pytest.mark.parametrize(
    "iterations",
    [
        "many",
        [None],
        [{"type": "rethinking", "input_tokens": 1, "output_tokens": 1}],
        [{"input_tokens": 1, "output_tokens": 1}],
        [{"type": "fallback_message", "model": "n", "input_tokens": 1, "output_tokens": 1}],
        [{"type": "advisor_message", "input_tokens": 1, "output_tokens": 1}],
        [{"type": "compaction"}],
        [{"type": "compaction", "input_tokens": -1, "output_tokens": 1}],
        [{"type": "compaction", "input_tokens": 1, "cache_creation_input_tokens": 5, "output_tokens": 1}],
    ],
)
def test_iterations_that_cannot_be_counted_are_a_gap(iterations: object) -> None:
    reading = read_body({"iterations": iterations})
    assert (reading.has_gap, reading.is_whole) == (True, True)
    assert reading.usage == Buckets(input_tokens=5, output_tokens=7)


def test_iterations_in_iterations_are_not_followed() -> None:
    entry = b'{"type":"compaction","input_tokens":1,"iterations":['
    meter = open_meter("/v1/messages", is_stream=False)
    meter.feed(b'{"usage":{"input_tokens":1,"iterations":[' + entry * 505 + b"]}" * 505 + b"]}}")
    assert meter.read().extras == (Extra(None, Buckets(input_tokens=1)),)


def test_writes_without_a_split_may_be_the_dearer_ones() -> None:
    assert read_body({"cache_creation_input_tokens": 10}).has_gap
    assert not read_body({"cache_creation_input_tokens": 0}).has_gap
    split = {"ephemeral_5m_input_tokens": 10, "ephemeral_1h_input_tokens": 0}
    assert not read_body({"cache_creation_input_tokens": 10, "cache_creation": split}).has_gap


def test_executed_code_is_charged_by_a_time_that_no_answer_tells() -> None:
    assert read_body({}, container={"id": "c"}).has_gap
    assert not read_body({}, container=None).has_gap
    searched = {"server_tool_use": {"web_search_requests": 1}}
    assert not read_body(searched, container={"id": "c"}).has_gap
    opened = {"model": "m", "usage": {"input_tokens": 9}, "container": None}
    ended = sse("message_delta", delta={"container": {"id": "c"}}, usage={"output_tokens": 1})
    assert read_stream(sse("message_start", message=opened), ended, sse("message_stop")).read().has_gap


def test_a_summary_was_written_too() -> None:
    opened = sse("message_start", message={"model": "m", "usage": {"input_tokens": 9}})
    delta = sse("content_block_delta", delta={"type": "compaction_delta", "content": "x" * 200})
    assert read_stream(opened, delta).read().usage.output_tokens == 100


def test_a_wrong_split_says_nothing_against_the_output() -> None:
    wrong = {"cache_creation_input_tokens": 10, "cache_creation": {"ephemeral_1h_input_tokens": 12}}
    opened = sse("message_start", message={"model": "m", "usage": {"input_tokens": 9, **wrong}})
    delta = sse("content_block_delta", delta={"type": "text_delta", "text": "x" * 200})
    ended = sse("message_delta", usage={"output_tokens": 3})
    reading = read_stream(opened, delta, ended, sse("message_stop")).read()
    assert (reading.usage.output_tokens, reading.is_whole) == (3, False)


def test_a_summary_that_was_seen_and_never_reported_is_not_forgotten() -> None:
    opened = sse("message_start", message={"model": "m", "usage": {"input_tokens": 9}})
    begun = sse("content_block_start", content_block={"type": "compaction"})
    entry = {"type": "compaction", "input_tokens": 1, "output_tokens": 1}
    reading = read_stream(opened, begun).read()
    assert (reading.extras, reading.has_gap) == ((Extra(None, None),), True)
    ended = read_stream(opened, begun, sse("message_delta", usage={"iterations": [entry]})).read()
    assert (len(ended.extras), ended.has_gap) == (1, False)
    whole = read_body({}, content=[{"type": "compaction", "content": "x"}, None])
    assert (whole.extras, whole.has_gap) == ((Extra(None, None),), True)
