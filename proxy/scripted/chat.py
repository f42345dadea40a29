"""The form of OpenAI's Chat Completions API.

Pure: no I/O. Limits: a stream always holds its usage, since the proxy always asks for it.
"""

from collections.abc import Iterator
from typing import Any

import orjson

from proxy.scripted.form import Answer, Asked, objects, pieces, reported, texts, to_json
from proxy.scripted.responses import error_body as error_body  # noqa: PLC0414 - one shape for both
from proxy.scripted.responses import input_details, input_total
from proxy.scripted.story import StoryUsage
from proxy.scripted.tools import Tool

_CITATION = [{"type": "url_citation", "url_citation": {"url": "https://example.org/", "title": "A page"}}]
"""What a search leaves in a message."""


def read(request: dict[str, Any]) -> Asked:
    """Read a request."""
    messages = objects(request.get("messages"))
    said = (message for message in messages if message.get("role") in ("user", "tool"))
    functions = (tool["function"] for tool in objects(request.get("tools")) if _has_function(tool))
    return Asked(
        model=str(request.get("model")),
        turns=sum(message.get("role") == "assistant" for message in messages),
        said=tuple(text for message in said for text in texts(message)),
        tools=tuple(
            Tool.of(one.get("name"), one.get("description"), one.get("parameters")) for one in functions
        ),
        context=to_json(request.get("messages")),
    )


def _has_function(tool: dict[str, Any]) -> bool:
    return tool.get("type") == "function" and isinstance(tool.get("function"), dict)


def whole_body(answer: Answer) -> bytes:
    """The answer to a request without `stream`."""
    message: dict[str, Any] = {"role": "assistant", "content": answer.text, "refusal": None}
    if answer.call:
        message["tool_calls"] = [_call(answer, to_json(answer.call.arguments))]
    if answer.usage.searches:
        message["annotations"] = _CITATION
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": _finish_reason(answer)}
    head = _head(answer, "chat.completion")
    return orjson.dumps({**head, "choices": [choice], **reported(answer, _usage(answer.usage))})


def error_event(kind: str, message: str, number: int) -> bytes:  # noqa: ARG001 - its chunks have no numbers
    """An error of this type in the middle of a stream."""
    return b"data: %b\n\n" % error_body(kind, message)


def stream_events(answer: Answer) -> Iterator[bytes]:
    """The answer as server-sent events, one by one."""
    head = _head(answer, "chat.completion.chunk")
    for delta in _deltas(answer):
        yield _chunk({**head, "choices": [_choice(delta, None)], "usage": None})
    yield _chunk({**head, "choices": [_choice({}, _finish_reason(answer))], "usage": None})
    yield _chunk({**head, "choices": [], **reported(answer, _usage(answer.usage))})
    yield b"data: [DONE]\n\n"


def _deltas(answer: Answer) -> Iterator[dict[str, Any]]:
    """What each chunk adds to the message."""
    yield {"role": "assistant", "content": "" if answer.text else None, "refusal": None}
    for piece in pieces(answer.text or ""):
        yield {"content": piece}
    if answer.call:
        yield {"tool_calls": [{"index": 0, **_call(answer, "")}]}
        for piece in pieces(to_json(answer.call.arguments)):
            yield {"tool_calls": [{"index": 0, "function": {"arguments": piece}}]}
    if answer.usage.searches:
        yield {"annotations": _CITATION}


def _choice(delta: dict[str, Any], finish_reason: str | None) -> dict[str, Any]:
    """The one choice of a chunk."""
    return {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}


def _call(answer: Answer, arguments: str) -> dict[str, Any]:
    """The call of a tool with these arguments."""
    name = answer.call.name if answer.call else ""
    function = {"name": name, "arguments": arguments}
    return {"id": f"call_{answer.n:06d}", "type": "function", "function": function}


def _head(answer: Answer, kind: str) -> dict[str, Any]:
    """What a completion and its chunks begin with."""
    head = {"id": f"chatcmpl-{answer.n:06d}", "object": kind, "created": 0, "model": answer.model}
    return {**head, "service_tier": answer.usage.tier or "default"}


def _finish_reason(answer: Answer) -> str:
    """Why the model stopped."""
    return "tool_calls" if answer.call else "stop"


def _usage(usage: StoryUsage) -> dict[str, Any]:
    """The figures under the provider's names: input holds what the cache had a part in."""
    total = input_total(usage)
    return {
        "prompt_tokens": total,
        "completion_tokens": usage.output,
        "total_tokens": total + usage.output,
        "prompt_tokens_details": input_details(usage),
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning},
    }


def _chunk(value: dict[str, Any]) -> bytes:
    """One server-sent event."""
    return b"data: %b\n\n" % orjson.dumps(value)
