"""Answers as the Messages API would give them."""

import orjson

from proxy.buckets import Buckets
from proxy.protocols.anthropic import open_meter
from proxy.scripted.form import Answer
from proxy.scripted.messages import stream_events, whole_body
from proxy.scripted.story import StoryUsage
from proxy.scripted.tools import ToolCall

ANSWER = Answer(
    n=1,
    model="claude-sonnet-4-5",
    text="I look first.",
    call=ToolCall("Bash", {"command": "ls", "description": "x" * 60}),
    usage=StoryUsage(input=1, output=90, cache_read=2, cache_write_5m=3, cache_write_1h=4, reasoning=5),
    turn=None,
    turn_index=None,
)


def test_our_meter_reads_the_storys_figures_from_both_forms() -> None:
    expected = Buckets(
        input_tokens=1,
        cache_read_tokens=2,
        cache_write_5m_tokens=3,
        cache_write_1h_tokens=4,
        output_tokens=90,
    )
    body, stream = (open_meter("/v1/messages", is_stream=is_stream) for is_stream in (False, True))
    body.feed(whole_body(ANSWER))
    for event in stream_events(ANSWER):
        stream.feed(event)
    assert body.read().usage == expected
    assert stream.read().usage == Buckets(**{**expected.row(), "reasoning_tokens": 5})
    assert body.read().is_whole
    assert stream.read().is_whole


def test_a_stream_has_the_providers_events_and_puts_together_to_the_whole() -> None:
    events = [orjson.loads(event.split(b"data: ", 1)[1]) for event in stream_events(ANSWER)]
    kinds = [event["type"] for event in events]
    assert kinds[:3] == ["message_start", "ping", "content_block_start"]
    assert kinds[-2:] == ["message_delta", "message_stop"]
    assert kinds.count("content_block_start") == kinds.count("content_block_stop") == 2
    deltas = [event["delta"] for event in events if event["type"] == "content_block_delta"]
    assert "".join(delta.get("text", "") for delta in deltas) == "I look first."
    arguments = "".join(delta.get("partial_json", "") for delta in deltas)
    assert orjson.loads(arguments) == orjson.loads(whole_body(ANSWER))["content"][1]["input"]
    assert events[-2]["delta"]["stop_reason"] == "tool_use"
