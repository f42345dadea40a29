"""Requests of the Messages API, and errors of ours."""

import pytest

from proxy.ask import BadAskError
from proxy.buckets import Buckets
from proxy.mode import Mode
from proxy.protocols.anthropic import auth_header, error_body, read_ask

BODY = b'{"model":"m","max_tokens":50,"stream":true}'


def test_the_facts_that_money_depends_on() -> None:
    ask = read_ask("/v1/messages", BODY)
    assert (ask.model, ask.max_tokens, ask.is_stream, ask.is_counting) == ("m", 50, True, False)
    assert (ask.input_usage, ask.most_output_tokens) == (Buckets(cache_write_5m_tokens=22), 50)


def test_a_request_for_the_hour_cache_reserves_its_price() -> None:
    body = b'{"model":"m","system":[{"cache_control":{"type":"ephemeral","ttl":"1h"}}]}'
    assert read_ask("/v1/messages", body).input_usage.cache_write_1h_tokens == len(body) // 2


def test_a_request_that_may_be_compacted_on_the_way_reserves_its_input_twice() -> None:
    body = b'{"model":"m","context_management":{"edits":[{"type":"compact_20260112"}]}}'
    assert read_ask("/v1/messages", body).input_usage.cache_write_5m_tokens == len(body)


def test_the_ways_of_serving_that_cost_more_are_read() -> None:
    body = b'{"model":"m","speed":"fast","inference_geo":"us","service_tier":"auto"}'
    assert read_ask("/v1/messages", body).mode == Mode(speed="fast", inference_geo="us")
    assert read_ask("/v1/messages", b'{"model":"m","speed":3,"inference_geo":null}').mode == Mode()


def test_counting_tokens_reserves_nothing() -> None:
    counted = read_ask("/v1/messages/count_tokens", BODY)
    assert (counted.input_usage, counted.most_output_tokens) == (Buckets(), 0)


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"{}", b'{"model":5}', b'{"model":""}', b"\xff\xfe"])
def test_a_body_without_a_model_is_one_sentence(body: bytes) -> None:
    with pytest.raises(BadAskError, match="send a Messages API request"):
        read_ask("/v1/messages", body)


@pytest.mark.parametrize("value", [b"true", b"-5", b'"9"', b"null", b"1.5"])
def test_a_ceiling_that_is_no_count_is_none(value: bytes) -> None:
    assert read_ask("/v1/messages", b'{"model":"m","max_tokens":' + value + b"}").max_tokens == 0


def test_errors_of_ours_keep_their_bytes() -> None:
    bodies = {fault: error_body(fault, "No.") for fault in ("request", "path", "stop", "upstream")}
    assert bodies == {
        "request": b'{"type":"error","error":{"type":"invalid_request_error","message":"No."}}',
        "path": b'{"type":"error","error":{"type":"not_found_error","message":"No."}}',
        "stop": b'{"type":"error","error":{"type":"billing_error","message":"No."}}',
        "upstream": b'{"type":"error","error":{"type":"api_error","message":"No."}}',
    }


def test_the_key_goes_where_the_settings_say() -> None:
    assert auth_header(b"k", is_bearer=False) == (b"x-api-key", b"k")
    assert auth_header(b"k", is_bearer=True) == (b"authorization", b"Bearer k")
