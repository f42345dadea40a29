"""Anthropic's Messages API: requests, errors of ours, the key's header.

Pure: no I/O.
"""

import orjson

from instrument.schema.vocabulary import ProviderName
from proxy.ask import Ask, estimate_tokens, load_request, read_count
from proxy.buckets import Buckets
from proxy.meter import Meter, meter_over, shown_text
from proxy.mode import PLAIN, Mode
from proxy.protocols.anthropic_usage import MessagesTally
from proxy.protocols.wire import Fault

PROVIDER = ProviderName.ANTHROPIC
MESSAGES = "/v1/messages"
COUNT_TOKENS = "/v1/messages/count_tokens"
PATHS: tuple[str, ...] = (MESSAGES, COUNT_TOKENS)
STOP = "billing_error"
"""The error type that ends an agent's run. Claude Code 2.1.332, tried 2026-11-30: after a 400 of this type
it sends nothing more in that conversation (a summary and each sub-agent have their own); after an
`invalid_request_error` it tries five times again with fewer betas."""
_ERROR_TYPES: dict[Fault, str] = {
    "request": "invalid_request_error",
    "path": "not_found_error",
    "stop": STOP,
    "upstream": "api_error",
}


def read_ask(path: str, body: bytes) -> Ask:
    """Read a request's body; without a ceiling on output the provider refuses it, so it counts as 0.

    Raises:
        BadAskError: No JSON object, or one without a model's name.
    """
    value, model = load_request(body, "Messages API")
    is_counting = path == COUNT_TOKENS
    speed, place = shown_text(value.get("speed")), shown_text(value.get("inference_geo"))
    return Ask(
        model=model,
        max_tokens=read_count(value.get("max_tokens")) or 0,
        is_stream=value.get("stream") is True,
        input_usage=Buckets() if is_counting else _input_usage(body),
        is_counting=is_counting,
        mode=PLAIN if speed is None and place is None else Mode(speed=speed, inference_geo=place),
    )


def _input_usage(body: bytes) -> Buckets:
    """The input at most: a text that merely holds `"1h"` or `"compact_` makes it too high, never too low."""
    # What compacts on the way is read once more.
    tokens = estimate_tokens(body) * (2 if body.find(b'"compact_') >= 0 else 1)
    if body.find(b'"1h"') >= 0:
        return Buckets(cache_write_1h_tokens=tokens)
    return Buckets(cache_write_5m_tokens=tokens)


def open_meter(path: str, *, is_stream: bool) -> Meter:  # noqa: ARG001 - all its answers have one shape
    """A meter for an answer."""
    return meter_over(MessagesTally(), is_stream=is_stream)


def error_body(fault: Fault, message: str) -> bytes:
    """The body of an error of ours, in the provider's shape."""
    return orjson.dumps({"type": "error", "error": {"type": _ERROR_TYPES[fault], "message": message}})


def auth_header(secret: bytes, *, is_bearer: bool) -> tuple[bytes, bytes]:
    """The header that carries the key."""
    return (b"authorization", b"Bearer " + secret) if is_bearer else (b"x-api-key", secret)
