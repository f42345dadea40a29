"""What an answer of the Messages API says about its tokens.

Pure: no I/O.
"""

from dataclasses import dataclass
from typing import Any

from instrument.schema.usage import Usage
from proxy.meter import Figures, Tally, shown_text

# Parts of a delta that a model was paid to write; a signature stands for thinking that is not shown.
_WRITTEN = ("text", "thinking", "partial_json", "signature", "data")


@dataclass(slots=True, kw_only=True)
class MessagesFigures(Figures):
    """The provider's usage fields: for each of them the last present value wins.

    Figures in a stream are cumulative (https://docs.anthropic.com/en/docs/build-with-claude/streaming,
    read 2026-11-30), so they are never added and no maximum is taken.
    """

    cache_read: int = 0
    cache_write: int | None = None
    split_5m: int | None = None
    split_1h: int | None = None
    output: int = 0
    reasoning: int = 0

    def take(self, usage: object) -> None:
        """Use one `usage` object; absent and null fields leave what is known."""
        if not isinstance(usage, dict):
            return
        self.input = self.count(usage, "input_tokens", self.input)
        self.cache_read = self.count(usage, "cache_read_input_tokens", self.cache_read) or 0
        self.cache_write = self.count(usage, "cache_creation_input_tokens", self.cache_write)
        self.output = self.count(usage, "output_tokens", self.output) or 0
        split = usage.get("cache_creation")
        if isinstance(split, dict):
            self.split_5m = self.count(split, "ephemeral_5m_input_tokens", self.split_5m)
            self.split_1h = self.count(split, "ephemeral_1h_input_tokens", self.split_1h)
        details = usage.get("output_tokens_details")
        if isinstance(details, dict):
            self.reasoning = self.count(details, "thinking_tokens", self.reasoning) or 0

    @property
    def is_wrong(self) -> bool:
        """Whether a figure was no count, or a split of cache writes does not add up to their total."""
        if self.cache_write is None or (self.split_5m is None and self.split_1h is None):
            return self.is_odd
        return self.is_odd or (self.split_5m or 0) + (self.split_1h or 0) != self.cache_write

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


class MessagesTally(Tally):
    """Reads the events of a stream, or a message."""

    def __init__(self) -> None:
        super().__init__(MessagesFigures())

    def take(self, event: dict[str, Any]) -> None:
        """Use one event."""
        match event.get("type"):
            case "content_block_delta":
                self.written_bytes += _written_bytes(event.get("delta"))
            case "message_start":
                message = event.get("message")
                if isinstance(message, dict):
                    self.model = shown_text(message.get("model")) or self.model
                    self.figures.take(message.get("usage"))
            case "message_delta":
                self.figures.take(event.get("usage"))
            case "message_stop":
                self.figures.take(event.get("usage"))
                self.has_stopped = True
            case "error":
                self.error_type = _error_type(event) or "error"
            case _:
                pass

    def take_body(self, value: dict[str, Any]) -> None:
        """Use a message, or an error."""
        self.model = shown_text(value.get("model"))
        self.figures.take(value.get("usage"))
        self.error_type = _error_type(value)


def _written_bytes(delta: object) -> int:
    """Bytes of what the model wrote in one delta."""
    if not isinstance(delta, dict):
        return 0
    return sum(len(part.encode()) for name in _WRITTEN if isinstance(part := delta.get(name), str))


def _error_type(value: dict[str, Any]) -> str | None:
    """The provider's error type; none where the object is no error."""
    error = value.get("error")
    return shown_text(error.get("type")) if isinstance(error, dict) else None
