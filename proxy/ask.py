"""What a request's body asks for: model, ceiling on output, and how much input at most.

Pure: no I/O. A protocol's own module reads the body.
"""

import math
from typing import Any, Final

import orjson

from proxy.buckets import Buckets
from proxy.mode import PLAIN, Mode

BYTES_PER_TOKEN = 2
"""Text runs at three to four bytes a token; two keeps an estimate above what is billed."""

MOST_PARTS = 2_000_000
"""Values of a body at most: read, each takes up to 240 bytes. Our own code has 90,000 commas and brackets
in four million bytes, which is about a million tokens."""


class BadAskError(Exception):
    """The body is no request of the protocol; the text is one sentence for the agent."""


class Ask:
    """The few facts of a request that money depends on."""

    def __init__(
        self,
        model: str,
        max_tokens: int,
        *,
        is_stream: bool,
        input_usage: Buckets,
        is_counting: bool = False,
        altered_body: bytes | None = None,
        mode: Mode = PLAIN,
    ) -> None:
        self.model: Final = model
        self.max_tokens: Final = max_tokens
        self.is_stream: Final = is_stream
        """Whether whatever is written is seen as it is written."""
        self.input_usage: Final = input_usage
        """The input at most, as the dearest bucket that this request can fill."""
        self.is_counting: Final = is_counting
        """A token count: the provider charges nothing for it (Anthropic's docs, read 2026-11-30)."""
        self.altered_body: Final = altered_body
        """Sent instead of what came, where the answer would else hold no usage: the chunk that then holds it
        is kept from the client."""
        self.mode: Final = mode
        """How it is to be served."""

    @property
    def most_output_tokens(self) -> int:
        """The output at most."""
        return 0 if self.is_counting else self.max_tokens


def load_request(body: bytes, api: str) -> tuple[dict[str, Any], str]:
    """The body's JSON object and the model that it names.

    Raises:
        BadAskError: No JSON object, or one without a model's name; it says to send a request of `api`.
    """
    # Counted only where there may be so many; parts of texts count too.
    if len(body) > MOST_PARTS and sum(map(body.count, (b",", b"[", b"{"))) > MOST_PARTS:
        raise BadAskError(f"The request's body has too many parts: send a smaller {api} request.")
    try:
        value: Any = orjson.loads(body)
    except orjson.JSONDecodeError:
        raise BadAskError(f"The request's body is not JSON: send a {api} request.") from None
    model = value.get("model") if isinstance(value, dict) else None
    if not isinstance(model, str) or not model:
        raise BadAskError(f"The request's body names no model: send a {api} request.")
    return value, model


def read_count(value: object) -> int | None:
    """A count of one or more; none where it is anything else."""
    return value if type(value) is int and value > 0 else None


def estimate_tokens(body: bytes) -> int:
    """The tokens of a text of this length at most."""
    return math.ceil(len(body) / BYTES_PER_TOKEN)
