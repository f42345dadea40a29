"""The form of Anthropic's Messages API.

Pure: no I/O.
"""

from collections.abc import Iterator
from typing import Any

import orjson

from proxy.scripted.form import Answer, Asked, event, objects, pieces, reported, texts, to_json
from proxy.scripted.story import StoryUsage
from proxy.scripted.tools import Tool


def read(request: dict[str, Any]) -> Asked:
    """Read a request."""
    messages = objects(request.get("messages"))
    return Asked(
        model=str(request.get("model")),
        turns=sum(message.get("role") == "assistant" for message in messages),
        said=tuple(text for part in messages if part.get("role") == "user" for text in texts(part)),
        tools=tuple(
            Tool.of(tool.get("name"), tool.get("description"), tool.get("input_schema"))
            for tool in objects(request.get("tools"))
        ),
        context=to_json([request.get("system"), request.get("messages")]),
    )


def whole_body(answer: Answer) -> bytes:
    """The answer to a request without `stream`."""
    return orjson.dumps({**_message(answer), "content": _content(answer)})


def stream_events(answer: Answer) -> Iterator[bytes]:
    """The answer as server-sent events, one by one."""
    usage = _usage(answer.usage)
    opened = {
        **_message(answer),
        "content": [],
        "stop_reason": None,
        # Output is counted as it is written: one token at the start.
        **reported(answer, {**usage, "output_tokens": min(1, answer.usage.output)}),
    }
    yield event("message_start", message=opened)
    yield event("ping")
    for index, block in enumerate(_content(answer)):
        yield from _block_events(index, block)
    delta = {"stop_reason": _stop_reason(answer), "stop_sequence": None}
    final = {key: value for key, value in usage.items() if key not in ("cache_creation", "service_tier")}
    if answer.usage.reasoning:
        final["output_tokens_details"] = {"thinking_tokens": answer.usage.reasoning}
    yield event("message_delta", delta=delta, **reported(answer, final))
    yield event("message_stop")


def error_body(kind: str, message: str) -> bytes:
    """An error of this type."""
    return orjson.dumps({"type": "error", "error": {"type": kind, "message": message}})


def error_event(kind: str, message: str, number: int) -> bytes:  # noqa: ARG001 - its events have no numbers
    """An error of this type in the middle of a stream."""
    return event("error", error={"type": kind, "message": message})


def _block_events(index: int, block: dict[str, Any]) -> Iterator[bytes]:
    """One content block, begun empty and filled piece by piece."""
    if block["type"] == "text":
        begun, whole, kind, key = {**block, "text": ""}, block["text"], "text_delta", "text"
    else:
        begun, whole = {**block, "input": {}}, to_json(block["input"])
        kind, key = "input_json_delta", "partial_json"
    yield event("content_block_start", index=index, content_block=begun)
    for piece in pieces(whole):
        yield event("content_block_delta", index=index, delta={"type": kind, key: piece})
    yield event("content_block_stop", index=index)


def _content(answer: Answer) -> list[dict[str, Any]]:
    """The content blocks: text first, then the tool call."""
    blocks: list[dict[str, Any]] = []
    if answer.text:
        blocks.append({"type": "text", "text": answer.text})
    if answer.call:
        name, arguments = answer.call.name, answer.call.arguments
        call_id = f"toolu_msg_{answer.n:06d}"
        blocks.append({"type": "tool_use", "id": call_id, "name": name, "input": arguments})
    return blocks


def _message(answer: Answer) -> dict[str, Any]:
    """A message without its content."""
    return {
        "id": f"msg_{answer.n:06d}",
        "type": "message",
        "role": "assistant",
        "model": answer.model,
        "stop_reason": _stop_reason(answer),
        "stop_sequence": None,
        **reported(answer, _usage(answer.usage)),
    }


def _stop_reason(answer: Answer) -> str:
    """Why the model stopped."""
    return "tool_use" if answer.call else "end_turn"


def _usage(usage: StoryUsage) -> dict[str, Any]:
    """The figures under the provider's names."""
    return {**_counts(usage), "service_tier": usage.tier or "standard", **_extras(usage)}


def _counts(usage: StoryUsage) -> dict[str, Any]:
    """The tokens."""
    return {
        "input_tokens": usage.input,
        "cache_creation_input_tokens": usage.cache_write_5m + usage.cache_write_1h,
        "cache_read_input_tokens": usage.cache_read,
        "cache_creation": {
            "ephemeral_5m_input_tokens": usage.cache_write_5m,
            "ephemeral_1h_input_tokens": usage.cache_write_1h,
        },
        "output_tokens": usage.output,
    }


def _extras(usage: StoryUsage) -> dict[str, Any]:
    """What is reported only where there is something to report."""
    extras: dict[str, Any] = {}
    if usage.searches:
        extras["server_tool_use"] = {"web_search_requests": usage.searches}
    if usage.speed is not None:
        extras["speed"] = usage.speed
    if usage.place is not None:
        extras["inference_geo"] = usage.place
    if usage.compactions:
        turns = [{"type": "compaction", **_counts(each)} for each in usage.compactions]
        extras["iterations"] = [*turns, {"type": "message", **_counts(usage)}]
    return extras
