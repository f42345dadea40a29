"""What an answer of the Messages API says about its tokens, its searches and how it was served.

Pure: no I/O. Names and kinds are those of the provider's client library (anthropic 2.10.0, types of
`usage`). Limits: a long context's cliff is judged on the sum of a call's turns, which is never too low.
"""

from dataclasses import dataclass
from typing import Any

from proxy.buckets import Buckets
from proxy.meter import Extra, Figures, Tally, shown_text
from proxy.mode import Mode

# Parts of a delta that a model was paid to write; a signature stands for thinking that is not shown, the
# content is a compaction's summary.
_WRITTEN = ("text", "thinking", "partial_json", "signature", "data", "content")
# Kinds of `usage.iterations`. The counts are the sum of the first; the others stand beside them. An adviser's
# tokens cost what its own model's do
# (https://platform.claude.com/docs/en/agents-and-tools/tool-use/advisor-tool, read 2026-11-30). Where another
# model answered in place of one that declined (`fallback_message`), no count holds what the first had read.
_INSIDE, _ADVICE = "message", "advisor_message"
_OUTSIDE = ("compaction", _ADVICE)


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
    searches: int = 0
    fetches: int = 0
    has_container: bool = False
    """Code was executed; no answer says for how long, which is free beside searches and fetches."""
    tier: str | None = None
    speed: str | None = None
    place: str | None = None
    iterations: Any = None
    """As last reported, unread."""
    compactions: int = 0
    """Summaries that the answer shows; their tokens are reported at its end."""

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
        tools = usage.get("server_tool_use")
        if isinstance(tools, dict):
            # A fetch has no price beside its tokens.
            self.fetches = self.count(tools, "web_fetch_requests", self.fetches) or 0
            self.searches = self.count(tools, "web_search_requests", self.searches) or 0
        self.tier = shown_text(usage.get("service_tier")) or self.tier
        self.speed = shown_text(usage.get("speed")) or self.speed
        self.place = shown_text(usage.get("inference_geo")) or self.place
        if usage.get("iterations") is not None:
            self.iterations = usage["iterations"]

    @property
    def is_wrong(self) -> bool:
        """Whether a figure was no count, or a split of cache writes does not add up to their total."""
        if self.cache_write is None or (self.split_5m is None and self.split_1h is None):
            return self.is_odd
        return self.is_odd or (self.split_5m or 0) + (self.split_1h or 0) != self.cache_write

    def usage(self) -> Buckets:
        """The disjoint buckets: 1 h writes are at most the total, the rest is 5 min."""
        hour = self.split_1h or 0
        total = self.cache_write if self.cache_write is not None else (self.split_5m or 0) + hour
        hour = min(hour, total)
        return Buckets(
            input_tokens=self.input or 0,
            cache_read_tokens=self.cache_read,
            cache_write_5m_tokens=total - hour,
            cache_write_1h_tokens=hour,
            output_tokens=self.output,
            reasoning_tokens=min(self.reasoning, self.output),
            web_searches=self.searches,
        )

    @property
    def mode(self) -> Mode:
        """How the call was served, as last reported."""
        return Mode(self.tier, self.speed, self.place)

    @property
    def extras(self) -> tuple[Extra, ...]:
        """The iterations outside of the counts, as last reported."""
        if self.iterations is None:
            return (Extra(None, None),) * self.compactions if self.compactions else ()
        return read_iterations(self.iterations).extras

    @property
    def has_gap(self) -> bool:
        """Whether a charge was shown without a figure for it."""
        is_timed = self.has_container and not (self.searches or self.fetches)
        is_unsplit = bool(self.cache_write) and self.split_5m is None and self.split_1h is None
        if self.lacks_figure or is_timed or is_unsplit:
            return True
        if self.iterations is None:
            return self.compactions > 0
        read = read_iterations(self.iterations)
        return read.has_gap or read.turns.total_tokens > self.usage().total_tokens


@dataclass(frozen=True, slots=True)
class Iterations:
    """What a call did inside."""

    turns: Buckets
    """The sum of those that the counts hold."""
    extras: tuple[Extra, ...]
    """Those beside the counts."""
    has_gap: bool
    """Whether something of it cannot be counted."""


def read_iterations(value: object) -> Iterations:
    """Read `usage.iterations`, whatever it is."""
    turns, extras, has_gap = Buckets(), [], not isinstance(value, list)
    for entry in value if isinstance(value, list) else ():
        kind = entry.get("type") if isinstance(entry, dict) else None
        if kind != _INSIDE and kind not in _OUTSIDE:
            has_gap = True
            continue
        figures = MessagesFigures()
        figures.take({**entry, "iterations": None})
        model = shown_text(entry.get("model")) if kind == _ADVICE else None
        if kind == _INSIDE:
            turns += figures.usage()
        else:
            extras.append(Extra(model, figures.usage()))
            is_clear = figures.has_usage and not figures.is_wrong and not figures.has_gap
            has_gap = has_gap or not is_clear or (kind == _ADVICE and model is None)
    return Iterations(turns, tuple(extras), has_gap)


class MessagesTally(Tally):
    """Reads the events of a stream, or a message."""

    def __init__(self) -> None:
        self._reported = MessagesFigures()
        super().__init__(self._reported)

    def take(self, event: dict[str, Any]) -> None:
        """Use one event."""
        match event.get("type"):
            case "content_block_delta":
                self.written_bytes += _written_bytes(event.get("delta"))
            case "content_block_start":
                self._note(event.get("content_block"))
            case "message_start":
                message = event.get("message")
                if isinstance(message, dict):
                    self.model = shown_text(message.get("model")) or self.model
                    self._use(message.get("usage"), message)
            case "message_delta":
                self._use(event.get("usage"), event.get("delta"))
            case "message_stop":
                self._reported.take(event.get("usage"))
                self.has_stopped = True
            case "error":
                self.error_type = _error_type(event) or "error"
            case _:
                pass

    def take_body(self, value: dict[str, Any]) -> None:
        """Use a message, or an error."""
        self.model = shown_text(value.get("model"))
        self._use(value.get("usage"), value)
        content = value.get("content")
        for block in content if isinstance(content, list) else ():
            self._note(block)
        self.error_type = _error_type(value)

    def _note(self, block: object) -> None:
        """Count the summaries among the parts of an answer."""
        if isinstance(block, dict) and block.get("type") == "compaction":
            self._reported.compactions += 1

    def _use(self, usage: object, message: object) -> None:
        """Take what is reported of a message, and whether code was executed for it."""
        self._reported.take(usage)
        if isinstance(message, dict) and message.get("container") is not None:
            self._reported.has_container = True


def _written_bytes(delta: object) -> int:
    """Bytes of what the model wrote in one delta."""
    if not isinstance(delta, dict):
        return 0
    return sum(len(part.encode()) for name in _WRITTEN if isinstance(part := delta.get(name), str))


def _error_type(value: dict[str, Any]) -> str | None:
    """The provider's error type; none where the object is no error."""
    error = value.get("error")
    return shown_text(error.get("type")) if isinstance(error, dict) else None
