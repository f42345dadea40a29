"""OpenAI's Responses and Chat Completions APIs: requests, errors of ours, the key's header.

Pure: no I/O. Limits: what a request refers to by an id (`previous_response_id`) is not in its bytes, so
not in the estimate of its input.
"""

from typing import Any

import orjson

from instrument.schema.vocabulary import ProviderName
from proxy.ask import Ask, estimate_tokens, load_request, read_count
from proxy.buckets import Buckets
from proxy.meter import Meter, meter_over, shown_text
from proxy.mode import PLAIN, Mode
from proxy.protocols.openai_usage import ChatTally, ResponsesTally
from proxy.protocols.wire import Fault

PROVIDER = ProviderName.OPENAI
RESPONSES = "/v1/responses"
CHAT = "/v1/chat/completions"
PATHS: tuple[str, ...] = (RESPONSES, CHAT)
STOP = "insufficient_quota"
"""The error type and code that end an agent's run. codex 0.171.0, tried 2026-11-30: after a 400 of this type
it sends nothing more, shows the message and ends with exit code 1."""
MAX_OUTPUT_TOKENS = 128_000
"""The most that a call without a ceiling of its own may write. The price data names no limit of a model;
this is that of the newest
(https://developers.openai.com/api/docs/models/gpt-6.2-sol, read 2026-11-30)."""
_CHEAPER = "flex"
"""A service tier that is held at the plain price, and charged at its own where it has one."""
_CEILINGS = ("max_output_tokens", "max_completion_tokens", "max_tokens")
_ERRORS: dict[Fault, tuple[str, str | None]] = {
    "request": ("invalid_request_error", None),
    "path": ("invalid_request_error", "unknown_url"),
    "stop": (STOP, STOP),
    "upstream": ("server_error", None),
}


def read_ask(path: str, body: bytes) -> Ask:
    """Read a request's body.

    Raises:
        BadAskError: No JSON object, or one without a model's name.
    """
    value, model = load_request(body, "Responses API" if path == RESPONSES else "Chat Completions API")
    tier = shown_text(value.get("service_tier"))
    ceilings = [ceiling for name in _CEILINGS if (ceiling := read_count(value.get(name)))]
    is_stream = value.get("stream") is True
    # What runs in the background is written on after its reader has left, as an unstreamed answer is.
    is_seen = is_stream and value.get("background") is not True
    return Ask(
        model=model,
        # Each of `n` choices may be as long.
        max_tokens=max(ceilings, default=MAX_OUTPUT_TOKENS) * (read_count(value.get("n")) or 1),
        is_stream=is_seen,
        input_usage=_input_usage(body),
        altered_body=_asking_for_usage(value) if is_stream and path == CHAT else None,
        mode=PLAIN if tier in (_CHEAPER, None) else Mode(service_tier=tier),
    )


def _input_usage(body: bytes) -> Buckets:
    """The input at most, all written to the cache: no bucket of input costs more.

    A text that merely holds `"12h"` makes it too high, never too low.
    """
    tokens = estimate_tokens(body)
    return (
        Buckets(cache_write_1h_tokens=tokens)
        if body.find(b'"12h"') >= 0
        else Buckets(cache_write_5m_tokens=tokens)
    )


def _asking_for_usage(value: dict[str, Any]) -> bytes | None:
    """The body with `include_usage`; none where the client asks for it by itself."""
    options = value.get("stream_options")
    options = options if isinstance(options, dict) else {}
    if options.get("include_usage") is True:
        return None
    return orjson.dumps({**value, "stream_options": {**options, "include_usage": True}})


def open_meter(path: str, *, is_stream: bool) -> Meter:
    """A meter for an answer."""
    return meter_over(ResponsesTally() if path == RESPONSES else ChatTally(), is_stream=is_stream)


def error_body(fault: Fault, message: str) -> bytes:
    """The body of an error of ours, in the provider's shape."""
    kind, code = _ERRORS[fault]
    return orjson.dumps({"error": {"message": message, "type": kind, "param": None, "code": code}})


def auth_header(secret: bytes, *, is_bearer: bool) -> tuple[bytes, bytes]:  # noqa: ARG001 - it has one way
    """The header that carries the key."""
    return b"authorization", b"Bearer " + secret
