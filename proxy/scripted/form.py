"""What the scripted provider has to know of an API: how to read its requests and how to write its answers.

Pure: no I/O. A form is a module that holds these functions; `table.py` lists them by path.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import orjson

from proxy.scripted.story import StoryUsage, Turn
from proxy.scripted.tools import Tool, ToolCall

PIECE = 48
"""Characters of a text in one delta."""


@dataclass(frozen=True, slots=True)
class Asked:
    """The parts of a request that choose its answer."""

    model: str
    turns: int
    """How often the model has answered in it already."""
    said: tuple[str, ...]
    """What the user said and what tools returned, in order."""
    tools: tuple[Tool, ...]
    context: str
    """Everything that the agent says of itself and its place, as JSON."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer, before it is put on the wire."""

    n: int
    """The request's number."""
    model: str
    text: str | None
    call: ToolCall | None
    usage: StoryUsage
    turn: Turn | None
    """None for a side call."""
    turn_index: int | None


class Form(Protocol):
    """One API."""

    def read(self, request: dict[str, Any]) -> Asked:
        """Read a request."""
        ...

    def whole_body(self, answer: Answer) -> bytes:
        """The answer to a request without `stream`."""
        ...

    def stream_events(self, answer: Answer) -> Iterator[bytes]:
        """The answer as server-sent events, one by one."""
        ...

    def error_body(self, kind: str, message: str) -> bytes:
        """An error of this type."""
        ...

    def error_event(self, kind: str, message: str, number: int) -> bytes:
        """An error of this type in the middle of a stream, behind so many events."""
        ...


def reported(answer: Answer, usage: dict[str, Any]) -> dict[str, Any]:
    """The `usage` member of an answer: these figures, or what the story has in their place."""
    raw = answer.turn.raw_usage if answer.turn else None
    if raw is None:
        return {"usage": usage}
    return {"usage": raw} if raw else {}


def objects(value: object) -> list[dict[str, Any]]:
    """The objects of a list; none where it is no list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def texts(part: object) -> Iterator[str]:
    """Every text of a message or of a tool's result, whatever it is nested in."""
    if isinstance(part, str):
        yield part
    elif isinstance(part, list):
        for item in part:
            yield from texts(item)
    elif isinstance(part, dict):
        for name in ("text", "content", "output"):
            yield from texts(part.get(name))


def pieces(text: str) -> Iterator[str]:
    """A text as a stream brings it."""
    return (text[start : start + PIECE] for start in range(0, len(text), PIECE))


def event(kind: str, **fields: object) -> bytes:
    """One server-sent event that names its kind twice, as providers do."""
    return b"event: %b\ndata: %b\n\n" % (kind.encode(), orjson.dumps({"type": kind, **fields}))


def to_json(value: object) -> str:
    """A value as JSON text."""
    return orjson.dumps(value).decode()
