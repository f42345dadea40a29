"""What a call is charged, by how it ended."""

from typing import Any

import pytest

from instrument.schema.usage import Usage
from proxy.meter import Reading
from proxy.prices import find_price
from proxy.protocols.anthropic import read_ask
from proxy.settlement import End, Settlement, settle

STREAM = read_ask("/v1/messages", b'{"model":"claude-sonnet-4-5","max_tokens":100,"stream":true} ')
WHOLE = read_ask("/v1/messages", b'{"model":"claude-sonnet-4-5","max_tokens":100} ')
COUNT = read_ask("/v1/messages/count_tokens", b'{"model":"claude-sonnet-4-5"}')
PRICE = find_price("claude-sonnet-4-5")
USAGE = Usage(input_tokens=10, output_tokens=2)


def reading(**changes: Any) -> Reading:
    fields = {"model": "claude-sonnet-4-5", "usage": USAGE, "has_usage": True, "is_whole": True}
    return Reading(**{**fields, "error_type": None, **changes})


def settled(ask: Any, end: End) -> Settlement:
    return settle(ask, PRICE, 7777, end, find_price)


def test_a_whole_answer_is_charged_exactly() -> None:
    result = settled(STREAM, End(has_left=True, status=200, reading=reading()))
    assert result.cost_microusd == 60
    assert (result.is_estimated, result.price_hash) == (False, PRICE.price_hash)


@pytest.mark.parametrize("status", [301, 400, 401, 429, 500, 529])
def test_a_refused_call_is_free_and_keeps_its_error(status: int) -> None:
    said = reading(model=None, has_usage=False, is_whole=False, error_type="rate_limit_error")
    result = settled(STREAM, End(has_left=True, status=status, reading=said))
    assert (result.cost_microusd, result.usage, result.is_estimated) == (0, Usage(), False)
    assert result.error_type == "rate_limit_error"


def test_what_never_left_is_free() -> None:
    assert settled(STREAM, End(has_left=False, status=None, reading=None)).cost_microusd == 0


def test_counting_tokens_is_free() -> None:
    said = reading(model=None, has_usage=False, is_whole=False)
    result = settled(COUNT, End(has_left=True, status=200, reading=said))
    assert (result.cost_microusd, result.is_estimated) == (0, False)


def test_a_stream_that_gave_no_answer_costs_its_input_at_most() -> None:
    result = settled(STREAM, End(has_left=True, status=None, reading=None))
    assert result.usage == STREAM.input_usage
    assert result.is_estimated
    assert result.cost_microusd > 0


def test_a_whole_answer_that_never_came_may_have_been_written() -> None:
    result = settled(WHOLE, End(has_left=True, status=None, reading=None))
    assert result.usage == WHOLE.most_usage
    assert result.is_estimated


def test_an_answer_without_usage_is_estimated_by_what_was_seen() -> None:
    said = reading(has_usage=False, is_whole=False, usage=Usage(output_tokens=9))
    result = settled(STREAM, End(has_left=True, status=200, reading=said))
    assert result.usage == STREAM.input_usage + Usage(output_tokens=9)


def test_a_cut_answer_is_flagged() -> None:
    assert settled(STREAM, End(has_left=True, status=200, reading=reading(is_whole=False))).is_estimated


def test_the_model_that_answered_is_priced() -> None:
    said = reading(model="claude-haiku-4-5-20251001")
    assert settled(STREAM, End(has_left=True, status=200, reading=said)).cost_microusd == 20


def test_case_13_an_answer_of_an_unknown_model_costs_its_reservation() -> None:
    result = settled(STREAM, End(has_left=True, status=200, reading=reading(model="claude-next")))
    assert (result.cost_microusd, result.has_unknown_price, result.price_hash) == (7777, True, None)
    assert result.usage == USAGE
