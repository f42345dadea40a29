"""Requests of the Chat Completions API read, and answers as it would give them."""

from dataclasses import replace
from typing import Any

import orjson

from proxy.protocols.openai import CHAT
from proxy.scripted.chat import read, stream_events, whole_body
from proxy.scripted.form import Answer
from proxy.scripted.tools import ToolCall
from support.readings import BY_HAND, TOLD, readings

ANSWER = Answer(
    n=7,
    model="gpt-5",
    text="I look first.",
    call=ToolCall("bash", {"command": "ls " + "x" * 60}),
    usage=TOLD,
    turn=None,
    turn_index=None,
)


def chunks(answer: Answer = ANSWER) -> list[dict[str, Any]]:
    *events, done = stream_events(answer)
    assert done == b"data: [DONE]\n\n"
    return [orjson.loads(event.removeprefix(b"data: ")) for event in events]


def test_turns_texts_and_tools_are_read() -> None:
    schema = {"type": "object", "properties": {"command": {"type": "string"}}}
    function = {"name": "bash", "description": "Runs.", "parameters": schema}
    asked = read(
        {
            "model": "gpt-5",
            "messages": [
                {"role": "system", "content": "rules"},
                {"role": "user", "content": [{"type": "text", "text": "go"}]},
                {"role": "assistant", "content": None, "tool_calls": []},
                {"role": "tool", "tool_call_id": "c", "content": "a file"},
            ],
            "tools": [{"type": "function", "function": function}, {"type": "custom", "custom": {}}],
        }
    )
    assert (asked.model, asked.turns, asked.said) == ("gpt-5", 1, ("go", "a file"))
    (tool,) = asked.tools
    assert (tool.name, tool.description, list(tool.properties)) == ("bash", "Runs.", ["command"])


def test_our_meter_reads_the_storys_figures_from_both_forms() -> None:
    for reading in readings(CHAT, whole_body(ANSWER), stream_events(ANSWER)):
        assert reading.usage == BY_HAND
        assert (reading.model, reading.is_whole) == ("gpt-5", True)


def test_a_stream_puts_together_to_the_whole() -> None:
    whole = orjson.loads(whole_body(ANSWER))
    (choice,) = whole["choices"]
    *made, usage = chunks()
    deltas = [chunk["choices"][0]["delta"] for chunk in made]
    assert "".join(delta.get("content") or "" for delta in deltas) == choice["message"]["content"]
    calls = [call for delta in deltas for call in delta.get("tool_calls", ())]
    (call,) = choice["message"]["tool_calls"]
    assert (calls[0]["id"], calls[0]["function"]["name"]) == (call["id"], "bash")
    assert "".join(call["function"]["arguments"] for call in calls) == call["function"]["arguments"]
    assert orjson.loads(call["function"]["arguments"]) == {"command": "ls " + "x" * 60}
    assert made[-1]["choices"][0]["finish_reason"] == choice["finish_reason"] == "tool_calls"
    assert (usage["choices"], usage["usage"]) == ([], whole["usage"])


def test_an_answer_without_a_call_stops() -> None:
    answer = replace(ANSWER, call=None)
    (choice,) = orjson.loads(whole_body(answer))["choices"]
    assert choice["finish_reason"] == "stop"
    assert "tool_calls" not in choice["message"]
    assert chunks(answer)[-2]["choices"][0]["finish_reason"] == "stop"
