"""Which turn a request gets, and that turn as the Messages API would answer it.

Pure: no I/O.
"""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import orjson

from proxy.scripted.story import Story, StoryError, StoryUsage, Turn
from proxy.scripted.tools import ToolCall, call_for

_PIECE = 48
"""Characters of a text in one delta."""
_CUT_FILLER = "This answer will not be whole. " * 200


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer, before it is put on the wire."""

    id: str
    model: str
    text: str | None
    call: ToolCall | None
    usage: StoryUsage
    turn: Turn | None
    """None for a side call."""
    turn_index: int | None

    @property
    def stop_reason(self) -> str:
        """Why the model stopped."""
        return "tool_use" if self.call else "end_turn"


def answer_to(story: Story, role: str, story_round: int, request: dict[str, Any], n: int) -> Answer:
    """Choose the answer: by the number of assistant messages, so that a retry gets the same one.

    Raises:
        StoryError: The story has no answer to this.
    """
    model = story.model or str(request.get("model"))
    if not request.get("tools"):
        return Answer(f"msg_{n:06d}", model, "ok", None, story.aux_usage, None, None)
    turns = story.turns_of(role, story_round)
    messages = [message for message in request.get("messages") or () if isinstance(message, dict)]
    index = sum(message.get("role") == "assistant" for message in messages)
    index = min(index, len(turns) - 1)
    turn = _fill(turns[index], story, messages)
    text = turn.finish if turn.finish is not None else turn.say
    call = call_for(turn, request)
    if text is None and call is None:
        text = _CUT_FILLER
    return Answer(f"msg_{n:06d}", model, text, call, turn.usage or story.aux_usage, turn, index)


def _fill(turn: Turn, story: Story, messages: list[dict[str, Any]]) -> Turn:
    """The turn with every `{{name}}` replaced by what its pattern finds last in the user messages."""
    text = turn.model_dump_json()
    used = [name for name in story.captures if "{{" + name + "}}" in text]
    if not used:
        return turn
    said = "\n".join(
        part for message in messages if message.get("role") == "user" for part in _texts(message)
    )
    for name in used:
        found = re.findall(story.captures[name], said)
        if not found:
            raise StoryError(f"The capture {name} of the story is found nowhere in the request.")
        # Into JSON text, so with JSON's own escapes.
        text = text.replace("{{" + name + "}}", orjson.dumps(found[-1]).decode()[1:-1])
    return Turn.model_validate_json(text)


def _texts(part: object) -> Iterator[str]:
    """Every text of a message, tool results included."""
    if isinstance(part, str):
        yield part
    elif isinstance(part, list):
        for item in part:
            yield from _texts(item)
    elif isinstance(part, dict):
        yield from _texts(part.get("text"))
        yield from _texts(part.get("content"))


def count_input_tokens(body: bytes) -> int:
    """A count_tokens answer: a round guess, as good as any."""
    return math.ceil(len(body) / 4)


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
        "usage": {**usage, "output_tokens": min(1, answer.usage.output)},
    }
    yield _event("message_start", message=opened)
    yield _event("ping")
    for index, block in enumerate(_content(answer)):
        yield from _block_events(index, block)
    delta = {"stop_reason": answer.stop_reason, "stop_sequence": None}
    final = {key: value for key, value in usage.items() if key not in ("cache_creation", "service_tier")}
    if answer.usage.reasoning:
        final["output_tokens_details"] = {"thinking_tokens": answer.usage.reasoning}
    yield _event("message_delta", delta=delta, usage=final)
    yield _event("message_stop")


def _block_events(index: int, block: dict[str, Any]) -> Iterator[bytes]:
    """One content block, begun empty and filled piece by piece."""
    if block["type"] == "text":
        begun, whole, kind, key = {**block, "text": ""}, block["text"], "text_delta", "text"
    else:
        begun, whole = {**block, "input": {}}, orjson.dumps(block["input"]).decode()
        kind, key = "input_json_delta", "partial_json"
    yield _event("content_block_start", index=index, content_block=begun)
    for start in range(0, len(whole), _PIECE):
        piece = whole[start : start + _PIECE]
        yield _event("content_block_delta", index=index, delta={"type": kind, key: piece})
    yield _event("content_block_stop", index=index)


def _content(answer: Answer) -> list[dict[str, Any]]:
    """The content blocks: text first, then the tool call."""
    blocks: list[dict[str, Any]] = []
    if answer.text:
        blocks.append({"type": "text", "text": answer.text})
    if answer.call:
        name, arguments = answer.call.name, answer.call.arguments
        blocks.append({"type": "tool_use", "id": f"toolu_{answer.id}", "name": name, "input": arguments})
    return blocks


def _message(answer: Answer) -> dict[str, Any]:
    """A message without its content."""
    return {
        "id": answer.id,
        "type": "message",
        "role": "assistant",
        "model": answer.model,
        "stop_reason": answer.stop_reason,
        "stop_sequence": None,
        "usage": _usage(answer.usage),
    }


def _usage(usage: StoryUsage) -> dict[str, Any]:
    """The figures under the provider's names."""
    return {
        "input_tokens": usage.input,
        "cache_creation_input_tokens": usage.cache_write_5m + usage.cache_write_1h,
        "cache_read_input_tokens": usage.cache_read,
        "cache_creation": {
            "ephemeral_5m_input_tokens": usage.cache_write_5m,
            "ephemeral_1h_input_tokens": usage.cache_write_1h,
        },
        "output_tokens": usage.output,
        "service_tier": "standard",
    }


def _event(kind: str, **fields: object) -> bytes:
    """One server-sent event."""
    return b"event: %b\ndata: %b\n\n" % (kind.encode(), orjson.dumps({"type": kind, **fields}))
