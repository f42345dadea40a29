"""Reads the session logs of Codex.

Pure: no I/O. The shape was read from a log that version 0.171.0 wrote. It tells every answer in a
`token_usage_record`; what a log's running total holds beyond these is counted too, since a log may have been
begun by a version that wrote totals only. Limits: a session that such a version forked repeats the first
one's totals, which nothing tells apart.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

from instrument.planner.calls import Call, count, dig, text, time_of
from instrument.schema.usage import Usage
from instrument.schema.vocabulary import RuntimeName

_NAMES = ("input_tokens", "cached_input_tokens", "cache_write_input_tokens", "output_tokens")
_REASONING = "reasoning_output_tokens"
_Counts = dict[str, int]


def calls_of(messages: Iterable[Any]) -> Iterator[Call]:
    """The calls of one log, in its order."""
    log = _Log()
    for message in messages:
        at_utc, payload = time_of(dig(message, "timestamp")), dig(message, "payload")
        if at_utc is None:
            continue
        match dig(message, "type"), dig(payload, "type"):
            case "session_meta", _:
                log.begins(payload)
            case "turn_context", _:
                log.turns(payload)
            case "token_usage_record", _:
                yield log.answer(payload, at_utc)
            case "event_msg", "token_count":
                yield from log.total(payload, at_utc)
            case _:
                pass


class _Log:
    """Where the reading of one log stands."""

    def __init__(self) -> None:
        self._session = self._folder = ""
        self._model: str | None = None
        self._counted = _counts(None)

    def begins(self, payload: Any) -> None:  # noqa: ANN401 - a foreign log's value
        # A fork repeats the beginning of the first session behind its own.
        self._session = self._session or text(dig(payload, "id")) or ""
        self._folder = self._folder or text(dig(payload, "cwd")) or ""

    def turns(self, payload: Any) -> None:  # noqa: ANN401 - as above
        self._folder = text(dig(payload, "cwd")) or self._folder
        self._model = text(dig(payload, "model")) or self._model

    def answer(self, payload: Any, at_utc: datetime) -> Call:  # noqa: ANN401 - as above
        self._counted = _counts(dig(payload, "thread_token_usage"))
        key = text(dig(payload, "response_id")) or f"{self._session} {at_utc.isoformat()}"
        return self._call(key, at_utc, _counts(dig(payload, "usage")))

    def total(self, payload: Any, at_utc: datetime) -> Iterator[Call]:  # noqa: ANN401 - as above
        total = dig(payload, "info", "total_token_usage")
        if not isinstance(total, dict):
            return
        now, before = _counts(total), self._counted
        grown = {name: max(0, value - before[name]) for name, value in now.items()}
        self._counted = now
        if any(grown.values()):
            yield self._call(f"{self._session} {at_utc.isoformat()}", at_utc, grown)

    def _call(self, key: str, at_utc: datetime, counts: _Counts) -> Call:
        return Call(f"codex {key}", RuntimeName.CODEX, at_utc, self._folder, self._model, _usage(counts))


def _counts(usage: Any) -> _Counts:  # noqa: ANN401 - as above
    return {name: count(dig(usage, name)) for name in (*_NAMES, _REASONING)}


def _usage(counts: _Counts) -> Usage:
    """The disjoint buckets: what was read from a cache or written to one is a part of the input."""
    whole, read, written, output = (counts[name] for name in _NAMES)
    return Usage(
        input_tokens=max(0, whole - read - written),
        cache_read_tokens=read,
        cache_write_5m_tokens=written,
        output_tokens=output,
        reasoning_tokens=min(counts[_REASONING], output),
    )
