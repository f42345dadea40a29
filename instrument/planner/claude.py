"""Reads the session logs of Claude Code.

Pure: no I/O. The shape was read from logs that version 2.1.332 wrote; logs of sub-agents look the same.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from instrument.planner.calls import Call, count, dig, text, time_of
from instrument.schema.usage import Usage
from instrument.schema.vocabulary import RuntimeName

_SYNTHETIC = "<synthetic>"
"""The model of messages that the program writes by itself."""
_LISTED = (None, "", "standard")
"""Tiers and speeds that cost what the price list says."""


def calls_of(messages: Iterable[Any]) -> Iterator[Call]:
    """The calls of one log, in its order; a call of several parts comes several times."""
    for message in messages:
        if dig(message, "type") != "assistant":
            continue
        answer = dig(message, "message")
        usage, model = dig(answer, "usage"), text(dig(answer, "model"))
        at_utc, key = time_of(dig(message, "timestamp")), text(dig(answer, "id"))
        if not isinstance(usage, dict) or model == _SYNTHETIC or at_utc is None or key is None:
            continue
        yield Call(
            key=f"claude {key} {text(dig(message, 'requestId')) or ''}",
            program=RuntimeName.CLAUDE,
            at_utc=at_utc,
            folder=text(dig(message, "cwd")) or "",
            model=model,
            usage=_usage(usage),
            has_extras=_has_extras(usage),
        )


def _usage(usage: dict[str, Any]) -> Usage:
    written = count(usage.get("cache_creation_input_tokens"))
    hour = min(count(dig(usage, "cache_creation", "ephemeral_1h_input_tokens")), written)
    output = count(usage.get("output_tokens"))
    return Usage(
        input_tokens=count(usage.get("input_tokens")),
        cache_read_tokens=count(usage.get("cache_read_input_tokens")),
        cache_write_5m_tokens=written - hour,
        cache_write_1h_tokens=hour,
        output_tokens=output,
        reasoning_tokens=min(count(dig(usage, "output_tokens_details", "thinking_tokens")), output),
    )


def _has_extras(usage: dict[str, Any]) -> bool:
    """Searches are billed by the search; another tier or speed has another price."""
    return (
        bool(count(dig(usage, "server_tool_use", "web_search_requests")))
        or usage.get("service_tier") not in _LISTED
        or usage.get("speed") not in _LISTED
    )
