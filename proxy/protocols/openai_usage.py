"""What an answer of the Responses and of the Chat Completions API says about tokens, searches and tier.

Pure: no I/O. Limits: reasoning that is not shown before its item is done is missing from a cut
stream's estimate; cache writes without their lives are taken for the shorter; what a provider adds for
the place of its host is in no answer.
"""

from typing import Any, ClassVar

from proxy.buckets import Buckets
from proxy.meter import Figures, Tally, shown_text
from proxy.mode import Mode

_UNWRITTEN = ("role", "id", "type")
_ENDS = ("response.completed", "response.incomplete", "response.failed")
# Tools of the provider that are charged by use or by time, with no count in `usage`.
_UNCOUNTED = ("file_search_call", "code_interpreter_call", "image_generation_call")
_OPENED = ("open_page", "find_in_page")
"""Actions of a `web_search_call` that cost nothing: a search does
(https://developers.openai.com/api/docs/guides/tools-web-search, read 2026-11-30)."""


class OpenAIFigures(Figures):
    """The provider's usage fields: for each of them the last present value wins.

    Input holds what was read from the cache and what was written to it, output holds reasoning (names
    and nesting as in the `openai` extractors of genai-prices 0.2.3).
    """

    cache_read: int = 0
    cache_write: int = 0
    written_12h: int = 0
    """The part of `cache_write` that is kept for 12 hours; the rest is kept for 30 minutes."""
    output: int = 0
    reasoning: int = 0
    tier: str | None = None

    def __init__(self, *, input_name: str, output_name: str) -> None:
        """`input_name` is `input_tokens` of Responses and `prompt_tokens` of Chat Completions."""
        self.input_name = input_name
        self.output_name = output_name
        self.searches: set[int] = set()
        """Which parts of the answer are searches: an event and the whole response name the same ones."""

    def take(self, usage: object) -> None:
        """Use one `usage` object; absent and null fields leave what is known."""
        if not isinstance(usage, dict):
            return
        self.input = self.count(usage, self.input_name, self.input)
        self.output = self.count(usage, self.output_name, self.output) or 0
        details = usage.get(f"{self.input_name}_details")
        if isinstance(details, dict):
            self.cache_read = self.count(details, "cached_tokens", self.cache_read) or 0
            self.cache_write = self.count(details, "cache_write_tokens", self.cache_write) or 0
            lives = details.get("cache_write_tokens_details")
            if isinstance(lives, dict):
                self.written_12h = self.count(lives, "ttl_12h_tokens", self.written_12h) or 0
        details = usage.get(f"{self.output_name}_details")
        if isinstance(details, dict):
            self.reasoning = self.count(details, "reasoning_tokens", self.reasoning) or 0

    @property
    def is_wrong(self) -> bool:
        """Whether a figure was no count, or a part is larger than its whole."""
        return self.is_odd or self.written_12h > self.cache_write or (self.has_usage and self._uncached < 0)

    @property
    def _uncached(self) -> int:
        """The input that no cache had a part in; negative where the figures cannot be."""
        return (self.input or 0) - self.cache_read - self.cache_write

    def usage(self) -> Buckets:
        """The disjoint buckets; where the parts pass the whole, all of them are charged."""
        uncached = self._uncached
        long = min(self.written_12h, self.cache_write)
        return Buckets(
            input_tokens=uncached if uncached >= 0 else self.input or 0,
            cache_read_tokens=self.cache_read,
            cache_write_5m_tokens=self.cache_write - long,
            cache_write_1h_tokens=long,
            output_tokens=self.output,
            reasoning_tokens=min(self.reasoning, self.output),
            web_searches=len(self.searches),
        )

    @property
    def mode(self) -> Mode:
        """How the call was served, as last reported."""
        return Mode(service_tier=self.tier)

    def take_item(self, index: object, item: object) -> None:
        """Use one part of an answer's output."""
        if not isinstance(item, dict):
            return
        kind, action = item.get("type"), item.get("action")
        self.lacks_figure = self.lacks_figure or kind in _UNCOUNTED
        is_opening = isinstance(action, dict) and action.get("type") in _OPENED
        if kind == "web_search_call" and not is_opening and isinstance(index, int):
            self.searches.add(index)


class ResponsesTally(Tally):
    """Reads the events of a Responses stream, or a response."""

    end_mark: ClassVar[bytes | None] = b"[DONE]"

    def __init__(self) -> None:
        self._reported = OpenAIFigures(input_name="input_tokens", output_name="output_tokens")
        super().__init__(self._reported)

    def take(self, event: dict[str, Any]) -> None:
        """Use one event."""
        kind = event.get("type")
        if kind == "error":
            self.error_type = _error_type(event.get("error")) or shown_text(event.get("code")) or "error"
            return
        response = event.get("response")
        if isinstance(response, dict):
            self.model = shown_text(response.get("model")) or self.model
            if kind in _ENDS:
                # Only now: figures of a response that runs are none yet, and some servers write zeros.
                self.take_body(response)
                self.has_stopped = True
            if kind == "response.failed":
                self.error_type = self.error_type or "failed"
        elif isinstance(delta := event.get("delta"), str):
            self.written_bytes += len(delta.encode())
        elif kind == "response.output_item.done" and isinstance(item := event.get("item"), dict):
            # Reasoning that is not shown comes as one sealed text, at the end of its item.
            sealed = item.get("encrypted_content")
            self.written_bytes += len(sealed) if isinstance(sealed, str) else 0
            self._reported.take_item(event.get("output_index"), item)

    def take_body(self, value: dict[str, Any]) -> None:
        """Use a response, or an error."""
        self.model = shown_text(value.get("model")) or self.model
        self._reported.take(value.get("usage"))
        self._reported.tier = shown_text(value.get("service_tier")) or self._reported.tier
        output = value.get("output")
        for index, item in enumerate(output if isinstance(output, list) else ()):
            self._reported.take_item(index, item)
        self.error_type = _error_type(value.get("error")) or self.error_type


class ChatTally(Tally):
    """Reads the chunks of a Chat Completions stream, or a completion."""

    end_mark: ClassVar[bytes | None] = b"[DONE]"

    def __init__(self) -> None:
        self._reported = OpenAIFigures(input_name="prompt_tokens", output_name="completion_tokens")
        super().__init__(self._reported)

    def take(self, event: dict[str, Any]) -> None:
        """Use one chunk."""
        self._use(event)
        for choice in _choices(event):
            delta = choice.get("delta")
            self.written_bytes += _written_bytes(delta)
            self._note(delta)

    def take_body(self, value: dict[str, Any]) -> None:
        """Use a completion, or an error."""
        self._use(value)
        for choice in _choices(value):
            self._note(choice.get("message"))

    def _use(self, value: dict[str, Any]) -> None:
        """Take what stands beside the choices."""
        self.model = shown_text(value.get("model")) or self.model
        self._reported.take(value.get("usage"))
        self._reported.tier = shown_text(value.get("service_tier")) or self._reported.tier
        self.error_type = _error_type(value.get("error")) or self.error_type

    def _note(self, message: object) -> None:
        """A model that searches does it once a call; no more of it shows than the pages that it cites."""
        if isinstance(message, dict) and _has_found(message.get("annotations")):
            self._reported.searches.add(0)


def _choices(value: dict[str, Any]) -> list[dict[str, Any]]:
    """The choices of a chunk or a completion."""
    choices = value.get("choices")
    return [choice for choice in choices if isinstance(choice, dict)] if isinstance(choices, list) else []


def _has_found(notes: object) -> bool:
    """Whether one of them cites a page of the web."""
    return isinstance(notes, list) and any(
        isinstance(note, dict) and note.get("type") == "url_citation" for note in notes
    )


def _written_bytes(part: object) -> int:
    """Bytes of the texts in one delta, whatever they are nested in: arguments of tool calls, names."""
    if isinstance(part, str):
        return len(part.encode())
    if isinstance(part, dict):
        return sum(_written_bytes(value) for name, value in part.items() if name not in _UNWRITTEN)
    return sum(_written_bytes(value) for value in part) if isinstance(part, list) else 0


def _error_type(error: object) -> str | None:
    """The error's code, which says more than its type; none where there is no error."""
    if error is None:
        return None
    if not isinstance(error, dict):
        return "error"
    return shown_text(error.get("code")) or shown_text(error.get("type")) or "error"
