"""Requests of OpenAI's two APIs, and errors of ours."""

import orjson
import pytest

from proxy.ask import BadAskError
from proxy.buckets import Buckets
from proxy.mode import Mode
from proxy.protocols.openai import CHAT, MAX_OUTPUT_TOKENS, RESPONSES, auth_header, error_body, read_ask

BODY = b'{"model":"m","max_output_tokens":50,"stream":true}'


def test_the_facts_that_money_depends_on() -> None:
    ask = read_ask(RESPONSES, BODY)
    assert (ask.model, ask.max_tokens, ask.is_stream, ask.is_counting) == ("m", 50, True, False)
    assert (ask.input_usage, ask.most_output_tokens) == (Buckets(cache_write_5m_tokens=25), 50)
    assert ask.altered_body is None


@pytest.mark.parametrize(
    ("fields", "ceiling"),
    [
        ({"max_output_tokens": 7}, 7),
        ({"max_completion_tokens": 8}, 8),
        ({"max_tokens": 9}, 9),
        ({"max_tokens": 9, "max_completion_tokens": 8}, 9),
        ({"max_tokens": 9, "n": 3}, 27),
        ({}, MAX_OUTPUT_TOKENS),
        ({"max_output_tokens": None}, MAX_OUTPUT_TOKENS),
        ({"max_output_tokens": True}, MAX_OUTPUT_TOKENS),
        ({"max_output_tokens": -1}, MAX_OUTPUT_TOKENS),
    ],
)
def test_the_ceiling_on_output_is_the_largest_named_or_the_models(
    fields: dict[str, object], ceiling: int
) -> None:
    assert read_ask(CHAT, orjson.dumps({"model": "m", **fields})).max_tokens == ceiling


def test_a_request_for_the_long_cache_reserves_its_price() -> None:
    body = b'{"model":"m","prompt_cache_options":{"ttl":"12h"}}'
    assert read_ask(RESPONSES, body).input_usage == Buckets(cache_write_1h_tokens=len(body) // 2)


@pytest.mark.parametrize("options", [None, {}, {"include_usage": False}, {"include_obfuscation": False}])
def test_a_chat_stream_is_asked_for_its_usage_and_nothing_else_changes(options: object) -> None:
    sent = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "é"}], "seed": 2**53 + 1}
    if options is not None:
        sent["stream_options"] = options
    altered = read_ask(CHAT, orjson.dumps(sent)).altered_body
    assert altered is not None
    expected = {**(options if isinstance(options, dict) else {}), "include_usage": True}
    assert orjson.loads(altered) == {**sent, "stream_options": expected}


@pytest.mark.parametrize(
    ("path", "fields"),
    [
        (CHAT, {"stream": True, "stream_options": {"include_usage": True}}),
        (CHAT, {"stream": False}),
        (CHAT, {}),
        (RESPONSES, {"stream": True}),
    ],
)
def test_every_other_body_passes_as_it_is(path: str, fields: dict[str, object]) -> None:
    assert read_ask(path, orjson.dumps({"model": "m", **fields})).altered_body is None


def test_what_runs_in_the_background_is_charged_as_if_it_were_not_streamed() -> None:
    assert not read_ask(RESPONSES, b'{"model":"m","stream":true,"background":true}').is_stream


@pytest.mark.parametrize(
    ("tier", "held"),
    [("priority", "priority"), ("fast", "fast"), ("auto", None), ("flex", None), (None, None), (["x"], None)],
)
def test_a_tier_is_held_at_its_price_and_a_cheaper_one_at_the_plain_price(
    tier: object, held: str | None
) -> None:
    ask = read_ask(RESPONSES, orjson.dumps({"model": "m", "service_tier": tier}))
    assert ask.mode.plain == Mode(service_tier=held)


@pytest.mark.parametrize(("path", "api"), [(RESPONSES, "Responses API"), (CHAT, "Chat Completions API")])
def test_a_body_without_a_model_is_one_sentence(path: str, api: str) -> None:
    with pytest.raises(BadAskError, match=f"send a {api} request"):
        read_ask(path, b"{}")


@pytest.mark.parametrize(
    ("fault", "kind", "code"),
    [
        ("request", "invalid_request_error", None),
        ("path", "invalid_request_error", "unknown_url"),
        ("stop", "insufficient_quota", "insufficient_quota"),
        ("upstream", "server_error", None),
    ],
)
def test_errors_of_ours_have_openais_shape(fault: str, kind: str, code: str | None) -> None:
    body = orjson.loads(error_body(fault, "No."))  # type: ignore[arg-type]
    assert body == {"error": {"message": "No.", "type": kind, "param": None, "code": code}}


@pytest.mark.parametrize("is_bearer", [True, False])
def test_the_key_is_always_a_bearers(*, is_bearer: bool) -> None:
    assert auth_header(b"k", is_bearer=is_bearer) == (b"authorization", b"Bearer k")
