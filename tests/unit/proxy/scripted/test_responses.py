"""Requests of the Responses API read, and answers as it would give them."""

from typing import Any

import orjson
import pytest

from proxy.protocols.openai import RESPONSES
from proxy.scripted.form import Answer
from proxy.scripted.responses import read, stream_events, whole_body
from proxy.scripted.tools import ToolCall
from support.readings import BY_HAND, TOLD, readings

ANSWER = Answer(
    n=7,
    model="gpt-5",
    text="I look first.",
    call=ToolCall("exec_command", {"cmd": "ls " + "x" * 60}),
    usage=TOLD,
    turn=None,
    turn_index=None,
)
USER = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "go"}]}
SAID = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "well"}]}
THOUGHT = {"type": "reasoning", "summary": []}
CALL = {"type": "function_call", "call_id": "c", "name": "exec_command", "arguments": "{}"}
RESULT = {"type": "function_call_output", "call_id": "c", "output": "a file"}
CUSTOM = {"type": "custom_tool_call", "call_id": "d", "name": "apply_patch", "input": "x"}
CUSTOM_RESULT = {"type": "custom_tool_call_output", "call_id": "d", "output": [{"text": "patched"}]}


def events() -> list[dict[str, Any]]:
    return [orjson.loads(event.split(b"data: ", 1)[1]) for event in stream_events(ANSWER)]


@pytest.mark.parametrize(
    ("items", "turns"),
    [
        ([USER], 0),
        ([USER, SAID, USER], 1),
        ([USER, CALL, RESULT], 1),
        ([USER, THOUGHT, SAID, CALL, RESULT], 1),
        ([USER, SAID, CALL, RESULT, THOUGHT, CALL, RESULT], 2),
        ([USER, CUSTOM, CUSTOM_RESULT, SAID, USER], 2),
        ([{"role": "developer", "content": "rules"}, USER, {"role": "assistant", "content": "x"}, USER], 1),
        ("just a text", 0),
        (None, 0),
    ],
)
def test_a_turn_is_whatever_the_model_said_at_once(items: object, turns: int) -> None:
    assert read({"model": "gpt-5", "input": items}).turns == turns


def test_what_users_and_tools_said_is_kept_and_what_others_said_is_not() -> None:
    items = [{"role": "developer", "content": "rules"}, USER, SAID, CALL, RESULT, CUSTOM, CUSTOM_RESULT]
    assert read({"model": "gpt-5", "input": items}).said == ("go", "a file", "patched")
    assert read({"model": "gpt-5", "input": "a text"}).said == ("a text",)


def test_only_functions_are_tools_that_a_story_can_call() -> None:
    schema = {"type": "object", "properties": {"cmd": {"type": "string"}}}
    offered = [
        {"type": "function", "name": "exec_command", "description": "Runs.", "parameters": schema},
        {"type": "custom", "name": "apply_patch"},
        {"type": "web_search"},
    ]
    (tool,) = read({"model": "gpt-5", "input": [], "tools": offered}).tools
    assert (tool.name, tool.description, list(tool.properties)) == ("exec_command", "Runs.", ["cmd"])


def test_our_meter_reads_the_storys_figures_from_both_forms() -> None:
    for reading in readings(RESPONSES, whole_body(ANSWER), stream_events(ANSWER)):
        assert reading.usage == BY_HAND
        assert (reading.model, reading.is_whole) == ("gpt-5", True)


def test_a_stream_has_the_apis_events_in_their_order() -> None:
    assert [event["type"].removeprefix("response.") for event in events()] == [
        "created",
        "in_progress",
        "output_item.added",
        "content_part.added",
        "output_text.delta",
        "output_text.done",
        "content_part.done",
        "output_item.done",
        "output_item.added",
        "function_call_arguments.delta",
        "function_call_arguments.delta",
        "function_call_arguments.done",
        "output_item.done",
        "completed",
    ]
    assert [event["sequence_number"] for event in events()] == list(range(14))


def test_a_stream_puts_together_to_the_whole() -> None:
    whole = orjson.loads(whole_body(ANSWER))
    made = events()
    assert made[-1]["response"] == whole
    assert [event["item"] for event in made if event["type"].endswith("item.done")] == whole["output"]
    arguments = "".join(event["delta"] for event in made if event["type"].endswith("arguments.delta"))
    assert arguments == whole["output"][1]["arguments"]
    assert orjson.loads(arguments) == {"cmd": "ls " + "x" * 60}
    assert made[0]["response"]["usage"] is None
    assert made[2]["item"]["content"] == []
    assert made[8]["item"]["arguments"] == ""
