"""Tokens out of one answer of the Messages API, streamed or whole.

Pure: no I/O. Fed with a copy of the bytes in any chunking; never sees the client.
"""

import math
from dataclasses import dataclass, field
from typing import Any, Protocol

import orjson

from instrument.schema.usage import Usage
from proxy.ask import BYTES_PER_TOKEN
from proxy.sse import EventReader

MAX_BODY_BYTES = 64 * 1024 * 1024
# Parts of a delta that a model was paid to write; a signature stands for thinking that is not shown.
_WRITTEN = ("text", "thinking", "partial_json", "signature", "data")


@dataclass(frozen=True, slots=True)
class Reading:
    """What an answer said about itself so far."""

    model: str | None
    usage: Usage
    """As last reported; `output_tokens` is raised to an estimate where the answer is not whole."""
    has_usage: bool
    """Whether input was reported at all."""
    is_whole: bool
    """Whether the answer came to its own end and its figures agree with each other."""
    error_type: str | None


class Meter(Protocol):
    """Order of calls: `feed` for each piece, then `read`, which may be called at any time."""

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes."""
        ...

    def read(self) -> Reading:
        """What is known after the bytes so far."""
        ...


@dataclass(slots=True)
class UsageFields:
    """The provider's usage fields: for each of them the last present value wins.

    Figures in a stream are cumulative (https://docs.anthropic.com/en/docs/build-with-claude/streaming,
    read 2026-11-30), so they are never added and no maximum is taken.
    """

    input: int | None = None
    cache_read: int = 0
    cache_write: int | None = None
    split_5m: int | None = None
    split_1h: int | None = None
    output: int = 0
    reasoning: int = 0
    is_odd: bool = field(default=False)
    """A figure was no count."""

    def take(self, usage: object) -> None:
        """Use one `usage` object; absent and null fields leave what is known."""
        if not isinstance(usage, dict):
            return
        self.input = self._count(usage, "input_tokens", self.input)
        self.cache_read = self._count(usage, "cache_read_input_tokens", self.cache_read) or 0
        self.cache_write = self._count(usage, "cache_creation_input_tokens", self.cache_write)
        self.output = self._count(usage, "output_tokens", self.output) or 0
        split = usage.get("cache_creation")
        if isinstance(split, dict):
            self.split_5m = self._count(split, "ephemeral_5m_input_tokens", self.split_5m)
            self.split_1h = self._count(split, "ephemeral_1h_input_tokens", self.split_1h)
        details = usage.get("output_tokens_details")
        if isinstance(details, dict):
            self.reasoning = self._count(details, "thinking_tokens", self.reasoning) or 0

    def _count(self, values: dict[str, Any], name: str, known: int | None) -> int | None:
        """A field's new value, or the known one where it is absent, null or no count."""
        value = values.get(name)
        if value is None:
            return known
        if type(value) is not int or value < 0:
            self.is_odd = True
            return known
        return value

    @property
    def is_split_wrong(self) -> bool:
        """Whether a reported split of cache writes does not add up to their total."""
        if self.cache_write is None or (self.split_5m is None and self.split_1h is None):
            return False
        return (self.split_5m or 0) + (self.split_1h or 0) != self.cache_write

    def usage(self) -> Usage:
        """The disjoint buckets: 1 h writes are at most the total, the rest is 5 min."""
        hour = self.split_1h or 0
        total = self.cache_write if self.cache_write is not None else (self.split_5m or 0) + hour
        hour = min(hour, total)
        return Usage(
            input_tokens=self.input or 0,
            cache_read_tokens=self.cache_read,
            cache_write_5m_tokens=total - hour,
            cache_write_1h_tokens=hour,
            output_tokens=self.output,
            reasoning_tokens=min(self.reasoning, self.output),
        )


class StreamMeter:
    """Meters a stream of server-sent events."""

    def __init__(self) -> None:
        self._events = EventReader()
        self._fields = UsageFields()
        self._model: str | None = None
        self._error_type: str | None = None
        self._written_bytes = 0
        self._has_stopped = False
        self._is_odd = False

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes."""
        for data in self._events.feed(chunk):
            try:
                event: Any = orjson.loads(data)
            except orjson.JSONDecodeError:
                self._is_odd = True
                continue
            if isinstance(event, dict):
                self._take(event)

    def _take(self, event: dict[str, Any]) -> None:
        """Use one event."""
        match event.get("type"):
            case "content_block_delta":
                self._written_bytes += _written_bytes(event.get("delta"))
            case "message_start":
                message = event.get("message")
                if isinstance(message, dict):
                    self._model = _text(message.get("model")) or self._model
                    self._fields.take(message.get("usage"))
            case "message_delta":
                self._fields.take(event.get("usage"))
            case "message_stop":
                self._fields.take(event.get("usage"))
                self._has_stopped = True
            case "error":
                self._error_type = _error_type(event) or "error"
            case _:
                pass

    def read(self) -> Reading:
        """What is known after the bytes so far; an answer without its end is estimated upwards."""
        fields = self._fields
        usage = fields.usage()
        is_odd = self._is_odd or fields.is_odd or fields.is_split_wrong or self._events.is_overrun
        is_whole = self._has_stopped and self._error_type is None and fields.input is not None
        if not is_whole or is_odd:
            guess = math.ceil(self._written_bytes / BYTES_PER_TOKEN)
            usage = usage.model_copy(update={"output_tokens": max(usage.output_tokens, guess)})
        return Reading(
            self._model, usage, fields.input is not None, is_whole and not is_odd, self._error_type
        )


class BodyMeter:
    """Meters an answer that is one JSON object: a message, or an error."""

    def __init__(self) -> None:
        self._body = bytearray()
        self._is_overrun = False

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes."""
        if len(self._body) + len(chunk) > MAX_BODY_BYTES:
            self._is_overrun = True
        else:
            self._body += chunk

    def read(self) -> Reading:
        """What the object says; half an object says nothing."""
        try:
            value: Any = None if self._is_overrun else orjson.loads(self._body)
        except orjson.JSONDecodeError:
            value = None
        if not isinstance(value, dict):
            return Reading(None, Usage(), has_usage=False, is_whole=False, error_type=None)
        fields = UsageFields()
        fields.take(value.get("usage"))
        error_type = _error_type(value)
        has_usage = fields.input is not None
        is_whole = has_usage and error_type is None and not fields.is_odd and not fields.is_split_wrong
        return Reading(_text(value.get("model")), fields.usage(), has_usage, is_whole, error_type)


def _written_bytes(delta: object) -> int:
    """Bytes of what the model wrote in one delta."""
    if not isinstance(delta, dict):
        return 0
    return sum(len(part.encode()) for name in _WRITTEN if isinstance(part := delta.get(name), str))


def _error_type(value: dict[str, Any]) -> str | None:
    """The provider's error type; none where the object is no error."""
    error = value.get("error")
    return _text(error.get("type")) if isinstance(error, dict) else None


def _text(value: object) -> str | None:
    """A text, shortened to what a ledger row should hold; none where it is none."""
    return value[:200] if isinstance(value, str) and value else None
