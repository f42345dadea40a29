"""What a request's body asks for: model, ceiling on output, and how much input at most.

Pure: no I/O.
"""

import math
from dataclasses import dataclass
from typing import Any

import orjson

from instrument.schema.usage import Usage

COUNT_TOKENS = "/v1/messages/count_tokens"
BYTES_PER_TOKEN = 2
"""Text runs at three to four bytes a token; two keeps an estimate above what is billed."""


class BadAskError(Exception):
    """The body is no Messages request; the text is one sentence for the agent."""


@dataclass(frozen=True, slots=True)
class Ask:
    """The few facts of a request that money depends on."""

    model: str
    max_tokens: int
    is_stream: bool
    is_counting: bool
    """A token count: the provider charges nothing for it (its docs, read 2026-11-30)."""
    input_estimate_tokens: int
    has_hour_cache: bool

    @property
    def input_usage(self) -> Usage:
        """The input at most, as the dearest bucket that this request can fill."""
        if self.is_counting:
            return Usage()
        if self.has_hour_cache:
            return Usage(cache_write_1h_tokens=self.input_estimate_tokens)
        return Usage(cache_write_5m_tokens=self.input_estimate_tokens)

    @property
    def most_usage(self) -> Usage:
        """The whole call at most."""
        return self.input_usage + Usage(output_tokens=0 if self.is_counting else self.max_tokens)


def read_ask(path: str, body: bytes) -> Ask:
    """Read a request's body.

    Raises:
        BadAskError: No JSON object, or one without a model's name.
    """
    try:
        value: Any = orjson.loads(body)
    except orjson.JSONDecodeError:
        raise BadAskError("The request's body is not JSON: send a Messages API request.") from None
    model = value.get("model") if isinstance(value, dict) else None
    if not isinstance(model, str) or not model:
        raise BadAskError("The request's body names no model: send a Messages API request.")
    ceiling = value.get("max_tokens")
    return Ask(
        model=model,
        max_tokens=ceiling if type(ceiling) is int and ceiling > 0 else 0,
        is_stream=value.get("stream") is True,
        is_counting=path == COUNT_TOKENS,
        input_estimate_tokens=math.ceil(len(body) / BYTES_PER_TOKEN),
        # A text that merely holds these bytes makes the estimate too high, never too low.
        has_hour_cache=b'"1h"' in body,
    )
