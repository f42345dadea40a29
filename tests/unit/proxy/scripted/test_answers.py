"""Turns as the Messages API would answer them."""

from typing import Any

import orjson
import pytest

from instrument.schema.usage import Usage
from proxy.meter import BodyMeter, StreamMeter
from proxy.scripted.answers import answer_to, stream_events, whole_body
from proxy.scripted.story import Story, StoryError, load_story

BASH = {"name": "Bash", "input_schema": {"properties": {"command": {"type": "string"}, "description": {}}}}
STORY = load_story(
    """
    captures: {token: 'verdict ([0-9a-f]{4})'}
    aux_usage: {input: 7, output: 3}
    rounds:
      - role: coder
        turns:
          - say: "I look first."
            run: "ls {{token}}"
            usage: {input: 1, output: 90, cache_read: 2, cache_write_5m: 3, cache_write_1h: 4, reasoning: 5}
          - finish: "Done."
    """
)


def request(*assistant: str, user: str = "verdict aaaa, then verdict beef", **fields: Any) -> dict[str, Any]:
    messages: list[dict[str, Any]] = [{"role": "user", "content": [{"type": "text", "text": user}]}]
    for text in assistant:
        messages += [{"role": "assistant", "content": text}, {"role": "user", "content": "go on"}]
    return {"model": "claude-sonnet-4-5", "messages": messages, "tools": [BASH], **fields}


def test_the_turn_is_the_number_of_assistant_messages_and_the_last_again_past_the_end() -> None:
    indices = [answer_to(STORY, "coder", 1, request(*["x"] * count), 1).turn_index for count in (0, 0, 1, 5)]
    assert indices == [0, 0, 1, 1]


def test_captures_are_the_last_match_in_what_the_user_said() -> None:
    answer = answer_to(STORY, "coder", 1, request("verdict 0000"), 1)
    assert answer.text == "Done."
    answer = answer_to(STORY, "coder", 1, request(), 1)
    assert answer.call is not None
    assert answer.call.arguments["command"] == "ls beef"


def test_a_capture_in_a_tools_result_is_found_too() -> None:
    asked = request(user="nothing")
    result = {"type": "tool_result", "content": [{"type": "text", "text": "verdict cafe"}]}
    asked["messages"].append({"role": "user", "content": [result]})
    answer = answer_to(STORY, "coder", 1, asked, 1)
    assert answer.call is not None
    assert answer.call.arguments["command"] == "ls cafe"


def test_a_capture_that_is_nowhere_is_one_sentence() -> None:
    with pytest.raises(StoryError, match="capture token"):
        answer_to(STORY, "coder", 1, request(user="no such thing"), 1)


def test_a_request_without_tools_is_a_side_call() -> None:
    answer = answer_to(STORY, "coder", 1, request(tools=[]), 1)
    assert (answer.text, answer.call, answer.turn_index) == ("ok", None, None)
    assert (answer.usage.input, answer.usage.output) == (7, 3)


def test_the_model_of_an_answer_is_the_storys_or_the_one_asked_for() -> None:
    assert answer_to(STORY, "coder", 1, request(), 1).model == "claude-sonnet-4-5"
    renamed = Story(rounds=STORY.rounds, model="other")
    assert answer_to(renamed, "coder", 1, request("x"), 1).model == "other"


def test_our_meter_reads_the_storys_figures_from_both_forms() -> None:
    answer = answer_to(STORY, "coder", 1, request(), 1)
    expected = Usage(
        input_tokens=1,
        cache_read_tokens=2,
        cache_write_5m_tokens=3,
        cache_write_1h_tokens=4,
        output_tokens=90,
    )
    body, stream = BodyMeter(), StreamMeter()
    body.feed(whole_body(answer))
    for event in stream_events(answer):
        stream.feed(event)
    assert body.read().usage == expected
    assert stream.read().usage == expected.model_copy(update={"reasoning_tokens": 5})
    assert body.read().is_whole
    assert stream.read().is_whole


def test_a_stream_has_the_providers_events_and_puts_together_to_the_whole() -> None:
    answer = answer_to(STORY, "coder", 1, request(), 1)
    events = [orjson.loads(event.split(b"data: ", 1)[1]) for event in stream_events(answer)]
    kinds = [event["type"] for event in events]
    assert kinds[:3] == ["message_start", "ping", "content_block_start"]
    assert kinds[-2:] == ["message_delta", "message_stop"]
    assert kinds.count("content_block_start") == kinds.count("content_block_stop") == 2
    deltas = [event["delta"] for event in events if event["type"] == "content_block_delta"]
    assert "".join(delta.get("text", "") for delta in deltas) == "I look first."
    arguments = "".join(delta.get("partial_json", "") for delta in deltas)
    assert orjson.loads(arguments) == orjson.loads(whole_body(answer))["content"][1]["input"]
    assert events[-2]["delta"]["stop_reason"] == "tool_use"
