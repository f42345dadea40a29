"""Reads what agent programs print, a JSON object a line, whatever it holds.

Pure: no I/O; never raises.
"""

import json
from collections.abc import Iterator
from typing import Any

from instrument.schema.transcript import (
    MOST_CHARACTERS,
    MOST_ENTRIES,
    CallSeen,
    FileRead,
    ToolUse,
    Transcript,
)

ENDED_EARLY = "It ended without its last message."


def messages(transcript: bytes) -> Iterator[dict[str, Any]]:
    """The objects of all lines; a line that is no JSON object is left out."""
    start = 0
    while start < len(transcript):
        end = transcript.find(b"\n", start)
        end = len(transcript) if end < 0 else end
        message = _load(transcript[start:end])
        if message is not None:
            yield message
        start = end + 1


def _load(line: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def is_truncated(transcript: bytes) -> bool:
    """Whether the last line was cut: it has no end and cannot be read."""
    last = transcript[transcript.rfind(b"\n") + 1 :]
    return bool(last.strip()) and _load(last) is None


def dig(value: object, *keys: str) -> Any:  # noqa: ANN401 - a foreign payload
    """What lies at these keys, one below the other; none where one is missing."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def text(value: object) -> str | None:
    """A text that can be written anywhere: JSON may hold half of a surrogate pair."""
    if not isinstance(value, str):
        return None
    return value.encode("utf-8", errors="replace").decode()[:MOST_CHARACTERS]


def count(value: object) -> int | None:
    """A number of something; none for what is none."""
    is_count = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    return int(value) if is_count and isinstance(value, int) else None


def line_number(value: object) -> int | None:
    """A line's number, from 1; none for what is none."""
    return count(value) or None


def last_words(stderr: bytes) -> str:
    """The end of what it complained of, or that it said nothing."""
    return stderr.decode(errors="replace").strip()[-MOST_CHARACTERS:] or ENDED_EARLY


class Notes:
    """Gathers a transcript; what is beyond the caps is dropped."""

    def __init__(self) -> None:
        self._calls: list[CallSeen] = []
        self._tools: dict[str, ToolUse] = {}
        self._reads: list[FileRead] = []
        self._errors: list[str] = []

    def call(self, call: CallSeen) -> None:
        """Add a model call."""
        if len(self._calls) < MOST_ENTRIES:
            self._calls.append(call)

    def tool(
        self, key: object, name: object, *, is_ok: bool | None = None, duration_ms: int | None = None
    ) -> None:
        """Add a tool's run, or its end where its key is known already."""
        known = self._tools.get(str(key))
        if known is None and len(self._tools) >= MOST_ENTRIES:
            return
        shown = known.name if known else text(name) or "unknown"
        self._tools[str(key)] = ToolUse(name=shown, is_ok=is_ok, duration_ms=duration_ms)

    def read(self, path: object, first: object = None, lines: object = None) -> None:
        """Add a file that was read, from a line on (the first where none is told), so many lines."""
        shown = text(path)
        if not shown or len(self._reads) >= MOST_ENTRIES:
            return
        first_line = line_number(first) or 1
        length = line_number(lines)
        last_line = first_line + length - 1 if length else None
        self._reads.append(FileRead(path=shown, first_line=first_line, last_line=last_line))

    def error(self, message: object) -> None:
        """Add an error's text."""
        shown = text(message)
        if shown and len(self._errors) < MOST_ENTRIES:
            self._errors.append(shown)

    def taken(self) -> Transcript:
        """All of it."""
        return Transcript(
            calls=tuple(self._calls),
            tools=tuple(self._tools.values()),
            reads=tuple(self._reads),
            errors=tuple(self._errors),
        )
