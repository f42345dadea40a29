"""The form of OpenAI's Responses API.

Pure: no I/O. Limits: calls tools of type `function` only.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import orjson

from proxy.scripted.form import Answer, Asked, event, objects, pieces, reported, texts, to_json
from proxy.scripted.story import StoryUsage
from proxy.scripted.tools import Tool

_MODELS = ("function_call", "custom_tool_call", "local_shell_call", "reasoning")
"""Items that only a model makes; a message is one where its role is the assistant's."""
_RETURNED = ("function_call_output", "custom_tool_call_output", "local_shell_call_output")


def read(request: dict[str, Any]) -> Asked:
    """Read a request; `input` may be a text or a list of items."""
    given = request.get("input")
    items = [{"role": "user", "content": given}] if isinstance(given, str) else objects(given)
    return Asked(
        model=str(request.get("model")),
        turns=_count_turns(items),
        said=tuple(text for item in items if _is_said(item) for text in texts(item)),
        tools=tuple(
            Tool.of(tool.get("name"), tool.get("description"), tool.get("parameters"))
            for tool in objects(request.get("tools"))
            if tool.get("type") == "function"
        ),
        context=to_json([request.get("instructions"), given]),
    )


def _count_turns(items: list[dict[str, Any]]) -> int:
    """Runs of the model's own items: one turn may be a message with a call."""
    by_model = [False, *(item.get("role") == "assistant" or item.get("type") in _MODELS for item in items)]
    return sum(is_model and not was_model for was_model, is_model in pairwise(by_model))


def _is_said(item: dict[str, Any]) -> bool:
    """Whether the user or a tool said it."""
    return item.get("role") == "user" or item.get("type") in _RETURNED


def whole_body(answer: Answer) -> bytes:
    """The answer to a request without `stream`."""
    return orjson.dumps(_response(answer, "completed"))


def stream_events(answer: Answer) -> Iterator[bytes]:
    """The answer as server-sent events, one by one."""
    for number, (kind, fields) in enumerate(_events(answer)):
        yield event(kind, sequence_number=number, **fields)


def error_body(kind: str, message: str) -> bytes:
    """An error of this type; its code is the same word."""
    return orjson.dumps({"error": {"message": message, "type": kind, "param": None, "code": kind}})


def error_event(kind: str, message: str, number: int) -> bytes:
    """An error of this type in the middle of a stream, behind so many events."""
    return event("error", sequence_number=number, code=kind, message=message, param=None)


def _events(answer: Answer) -> Iterator[tuple[str, dict[str, Any]]]:
    """Kinds and fields, without their numbers."""
    begun = _response(answer, "in_progress")
    yield "response.created", {"response": begun}
    yield "response.in_progress", {"response": begun}
    for index, item in enumerate(_output(answer)):
        yield from _item_events(index, item)
    yield "response.completed", {"response": _response(answer, "completed")}


def _item_events(index: int, item: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """One item, begun empty and filled piece by piece."""
    is_text, is_call = item["type"] == "message", item["type"] == "function_call"
    empty: dict[str, Any] = {"content": []} if is_text else {"arguments": ""} if is_call else {}
    begun = {**item, "status": "in_progress", **empty}
    yield "response.output_item.added", {"output_index": index, "item": begun}
    place = {"item_id": item["id"], "output_index": index}
    if is_text:
        yield from _text_events({**place, "content_index": 0}, item["content"][0])
    elif is_call:
        for piece in pieces(item["arguments"]):
            yield "response.function_call_arguments.delta", {**place, "delta": piece}
        done = {**place, "name": item["name"], "arguments": item["arguments"]}
        yield "response.function_call_arguments.done", done
    yield "response.output_item.done", {"output_index": index, "item": item}


def _text_events(place: dict[str, Any], part: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The one part of a message."""
    yield "response.content_part.added", {**place, "part": {**part, "text": ""}}
    for piece in pieces(part["text"]):
        yield "response.output_text.delta", {**place, "delta": piece, "logprobs": []}
    yield "response.output_text.done", {**place, "text": part["text"], "logprobs": []}
    yield "response.content_part.done", {**place, "part": part}


def _output(answer: Answer) -> list[dict[str, Any]]:
    """The items: searches first, then text, then the tool call."""
    action = {"type": "search", "query": "as the story has it"}
    items: list[dict[str, Any]] = [
        {
            "id": f"ws_{answer.n:06d}_{number}",
            "type": "web_search_call",
            "status": "completed",
            "action": action,
        }
        for number in range(answer.usage.searches)
    ]
    if answer.text:
        part = {"type": "output_text", "text": answer.text, "annotations": [], "logprobs": []}
        message = {"id": f"msg_{answer.n:06d}", "type": "message", "role": "assistant"}
        items.append({**message, "status": "completed", "content": [part]})
    if answer.call:
        call = {"id": f"fc_{answer.n:06d}", "type": "function_call", "call_id": f"call_{answer.n:06d}"}
        arguments = to_json(answer.call.arguments)
        items.append({**call, "status": "completed", "name": answer.call.name, "arguments": arguments})
    return items


def _response(answer: Answer, status: str) -> dict[str, Any]:
    """The response object in one of its states; only the last holds output and usage."""
    is_done = status == "completed"
    return {
        "id": f"resp_{answer.n:06d}",
        "object": "response",
        "created_at": 0,
        "status": status,
        "background": False,
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "max_output_tokens": None,
        "metadata": {},
        "model": answer.model,
        "output": _output(answer) if is_done else [],
        "parallel_tool_calls": True,
        "previous_response_id": None,
        "store": False,
        "temperature": 1.0,
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "service_tier": answer.usage.tier or "default",
        **(reported(answer, _usage(answer.usage)) if is_done else {"usage": None}),
    }


def _usage(usage: StoryUsage) -> dict[str, Any]:
    """The figures under the provider's names: input holds what the cache had a part in."""
    total = input_total(usage)
    return {
        "input_tokens": total,
        "input_tokens_details": input_details(usage),
        "output_tokens": usage.output,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning},
        "total_tokens": total + usage.output,
    }


def input_total(usage: StoryUsage) -> int:
    """All input, whatever part of it the cache had."""
    return usage.input + usage.cache_read + usage.cache_write_5m + usage.cache_write_1h


def input_details(usage: StoryUsage) -> dict[str, Any]:
    """The cache's part of the input."""
    return {
        "cached_tokens": usage.cache_read,
        "cache_write_tokens": usage.cache_write_5m + usage.cache_write_1h,
        "cache_write_tokens_details": {
            "ttl_30m_tokens": usage.cache_write_5m,
            "ttl_12h_tokens": usage.cache_write_1h,
        },
    }
