"""What a call is charged, by how it ended."""

from typing import Any

import pytest

from proxy.buckets import Buckets
from proxy.meter import Extra, Reading
from proxy.mode import Mode
from proxy.prices import find_price
from proxy.protocols.anthropic import read_ask
from proxy.protocols.openai import read_ask as read_openai
from proxy.settlement import End, Settlement, settle

STREAM = read_ask("/v1/messages", b'{"model":"claude-sonnet-4-5","max_tokens":100,"stream":true} ')
WHOLE = read_ask("/v1/messages", b'{"model":"claude-sonnet-4-5","max_tokens":100} ')
COUNT = read_ask("/v1/messages/count_tokens", b'{"model":"claude-sonnet-4-5"}')
PRICE = find_price("claude-sonnet-4-5")
USAGE = Buckets(input_tokens=10, output_tokens=2)


def reading(**changes: Any) -> Reading:
    fields = {"model": "claude-sonnet-4-5", "usage": USAGE, "has_usage": True, "is_whole": True}
    return Reading(**{**fields, "error_type": None, **changes})


def settled(ask: Any, end: End, provider: str = "anthropic") -> Settlement:
    asked_price = find_price(ask.model, provider, mode=ask.mode)
    return settle(ask, asked_price, 7777, end, lambda model, mode: find_price(model, provider, mode=mode))


def answered(**changes: Any) -> End:
    return End(has_left=True, status=200, reading=reading(**changes))


def test_a_whole_answer_is_charged_exactly() -> None:
    result = settled(STREAM, End(has_left=True, status=200, reading=reading()))
    assert result.cost_microusd == 60
    assert (result.is_estimated, result.price_hash) == (False, PRICE.price_hash)


@pytest.mark.parametrize("status", [301, 400, 401, 429, 500, 529])
def test_a_refused_call_is_free_and_keeps_its_error(status: int) -> None:
    said = reading(model=None, has_usage=False, is_whole=False, error_type="rate_limit_error")
    result = settled(STREAM, End(has_left=True, status=status, reading=said))
    assert (result.cost_microusd, result.usage, result.is_estimated) == (0, Buckets(), False)
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
    assert result.usage == WHOLE.input_usage + Buckets(output_tokens=WHOLE.max_tokens)
    assert result.is_estimated


def test_an_answer_without_usage_is_estimated_by_what_was_seen() -> None:
    said = reading(has_usage=False, is_whole=False, usage=Buckets(output_tokens=9))
    result = settled(STREAM, End(has_left=True, status=200, reading=said))
    assert result.usage == STREAM.input_usage + Buckets(output_tokens=9)


def test_a_cut_answer_is_flagged() -> None:
    assert settled(STREAM, End(has_left=True, status=200, reading=reading(is_whole=False))).is_estimated


def test_the_model_that_answered_is_priced() -> None:
    said = reading(model="claude-haiku-4-5-20251001")
    assert settled(STREAM, End(has_left=True, status=200, reading=said)).cost_microusd == 20


def test_case_13_an_answer_of_an_unknown_model_costs_its_reservation() -> None:
    result = settled(STREAM, End(has_left=True, status=200, reading=reading(model="claude-next")))
    assert (result.cost_microusd, result.has_unknown_price, result.price_hash) == (7777, True, None)
    assert result.usage == USAGE


def test_work_beside_the_counts_is_added_and_all_of_it_rounded_up_once() -> None:
    # Sonnet 4.5: 3, 0.3 and 15 dollars. 60 in the counts, 0.3 + 0.3 + 0.3 beside them.
    extras = tuple(Extra(None, Buckets(cache_read_tokens=1)) for _ in range(3))
    result = settled(STREAM, answered(extras=extras))
    assert (result.cost_microusd, result.is_estimated) == (61, False)
    assert result.usage == USAGE + Buckets(cache_read_tokens=3)


def test_each_part_of_a_call_has_the_cliff_of_its_own_input() -> None:
    # Beyond 200,000 tokens Sonnet 4.5 costs 6 dollars instead of 3.
    beside = Extra(None, Buckets(input_tokens=150_000))
    result = settled(STREAM, answered(usage=Buckets(input_tokens=150_000), extras=(beside,)))
    assert result.cost_microusd == 900_000


def test_an_adviser_is_charged_as_its_own_model() -> None:
    # Haiku 4.5: 1 and 5 dollars.
    advice = Extra("claude-haiku-4-5", Buckets(input_tokens=1000, output_tokens=100))
    assert settled(STREAM, answered(extras=(advice,))).cost_microusd == 60 + 1500


def test_an_adviser_without_a_price_stops_what_it_would_otherwise_cost_for_nothing() -> None:
    result = settled(STREAM, answered(extras=(Extra("claude-next", USAGE),)))
    assert (result.cost_microusd, result.unpriced_model, result.usage) == (7777, "claude-next", USAGE + USAGE)
    assert result.has_unknown_price


def test_the_mode_that_an_answer_names_is_charged_and_that_asked_for_where_it_names_none() -> None:
    # Opus 5.5: 4 and 20 dollars, twice that in fast mode, a tenth more in the US.
    asked = read_ask("/v1/messages", b'{"model":"claude-opus-5-5","stream":true,"speed":"fast"}')
    opus = {"model": "claude-opus-5-5"}
    assert settled(asked, answered(**opus)).cost_microusd == 160
    assert settled(asked, answered(**opus, mode=Mode(speed="standard"))).cost_microusd == 80
    there = settled(asked, answered(**opus, mode=Mode("standard", inference_geo="us")))
    assert (there.cost_microusd, there.mode) == (176, "speed fast, inference_geo us")
    assert settled(STREAM, answered(**opus, mode=Mode(speed="fast"))).cost_microusd == 160


def test_a_mode_without_a_price_is_charged_plainly_and_flagged() -> None:
    result = settled(STREAM, answered(mode=Mode(service_tier="priority")))
    assert (result.cost_microusd, result.is_estimated, result.has_unknown_price) == (60, True, False)


def test_openais_tier_is_the_one_that_served() -> None:
    # GPT-5: 1.25 and 10 dollars, twice that for priority, half of it for flex.
    asked = read_openai("/v1/responses", b'{"model":"gpt-5","service_tier":"flex"}')
    usage = Buckets(input_tokens=800, output_tokens=100)
    for tier, cost in (("default", 2000), ("priority", 4000), ("flex", 1000)):
        end = answered(model="gpt-5", usage=usage, mode=Mode(service_tier=tier))
        result = settled(asked, end, "openai")
        assert (result.cost_microusd, result.is_estimated) == (cost, False)


def test_a_search_is_charged_and_one_without_a_price_is_flagged() -> None:
    searched = USAGE + Buckets(web_searches=2)
    result = settled(STREAM, answered(usage=searched))
    assert (result.cost_microusd, result.is_estimated) == (20_060, False)
    result = settled(STREAM, answered(model="claude-2", usage=searched))
    assert (result.cost_microusd, result.is_estimated) == (128, True)  # 8 and 24 dollars


def test_a_charge_that_an_answer_shows_without_a_figure_is_flagged() -> None:
    result = settled(STREAM, answered(has_gap=True))
    assert (result.cost_microusd, result.is_estimated) == (60, True)


def test_work_that_was_seen_and_not_reported_costs_the_calls_input_at_most() -> None:
    result = settled(STREAM, answered(extras=(Extra(None, None),), has_gap=True))
    assert result.usage == USAGE + STREAM.input_usage
    assert (result.cost_microusd, result.is_estimated) == (60 + PRICE.cost_microusd(STREAM.input_usage), True)


def test_searches_that_were_seen_before_a_cut_are_charged() -> None:
    asked = read_openai("/v1/responses", b'{"model":"gpt-5","stream":true}')
    cut = {"has_usage": False, "is_whole": False, "usage": Buckets(output_tokens=4, web_searches=3)}
    result = settled(asked, answered(model="gpt-5", **cut), "openai")
    assert result.usage == asked.input_usage + Buckets(output_tokens=4, web_searches=3)
    assert result.is_estimated
