"""The providers' rates, in every way in which they serve."""

from datetime import UTC, datetime

import pytest

from proxy.buckets import Buckets
from proxy.mode import Mode
from proxy.prices import (
    UnknownModeError,
    find_price,
)


def test_prices_with_dates_are_those_of_the_day() -> None:
    usage = Buckets(cache_read_tokens=200_001)
    before = find_price("claude-opus-4-6", at_utc=datetime(2026, 3, 12, tzinfo=UTC))
    after = find_price("claude-opus-4-6", at_utc=datetime(2026, 3, 13, tzinfo=UTC))
    assert before.cost_microusd(usage) == 200_001
    assert after.cost_microusd(usage) == 100_001  # 100,000.5, rounded up
    assert before.price_hash != after.price_hash


def test_without_cache_prices_reads_cost_input_and_writes_the_published_factors() -> None:
    price = find_price("claude-2")
    assert price.cost_microusd(Buckets(cache_read_tokens=100)) == 800
    assert price.cost_microusd(Buckets(cache_write_5m_tokens=100)) == 1000
    assert price.cost_microusd(Buckets(cache_write_1h_tokens=100)) == 1600


def test_openais_cache_writes_cost_as_other_input_unless_they_have_a_price() -> None:
    writes = Buckets(cache_write_5m_tokens=1000)
    assert find_price("gpt-5", "openai").cost_microusd(writes) == 1250
    assert find_price("gpt-6-cyber", "openai").cost_microusd(writes) == 25_000  # input is at 20
    assert find_price("gpt-6.1-sol", "openai").cost_microusd(Buckets(cache_write_1h_tokens=1000)) == 5000


AT = datetime(2026, 11, 30, tzinfo=UTC)
TOKENS = Buckets(
    input_tokens=100,
    cache_read_tokens=100,
    cache_write_5m_tokens=100,
    cache_write_1h_tokens=100,
    output_tokens=100,
)


def cost(model: str, provider: str, mode: Mode, usage: Buckets = TOKENS) -> int:
    return find_price(model, provider, AT, mode=mode).cost_microusd(usage)


def test_fast_mode_has_rates_of_its_own() -> None:
    # Opus 5.5: 4, 0.2, 5, 8, 20 dollars; fast twice that.
    assert cost("claude-opus-5-5", "anthropic", Mode()) == 400 + 20 + 500 + 800 + 2000
    assert cost("claude-opus-5-5", "anthropic", Mode(speed="fast")) == 2 * 3720


def test_inference_in_one_place_costs_a_tenth_more_on_every_rate_of_tokens_alone() -> None:
    there = Mode(inference_geo="us")
    assert cost("claude-opus-5-5", "anthropic", there) == 4092  # 3720 x 1.1
    assert cost("claude-opus-5-5", "anthropic", Mode(speed="fast", inference_geo="us")) == 8184
    assert cost("claude-opus-5-5", "anthropic", there, Buckets(web_searches=1)) == 10_000


@pytest.mark.parametrize(("tier", "expected"), [("flex", 5625), ("default", 11_250), ("priority", 22_500)])
def test_service_tiers_have_rates_of_their_own(tier: str, expected: int) -> None:
    # GPT-5: 1.25 and 10 dollars; flex half of it, priority twice.
    usage = Buckets(input_tokens=1000, output_tokens=1000)
    assert cost("gpt-5", "openai", Mode(service_tier=tier), usage) == expected


def test_a_tier_of_our_own_table_is_a_multiple_with_the_same_cliff() -> None:
    ultrafast = Mode(service_tier="ultrafast")
    assert cost("gpt-6-astra", "openai", ultrafast, Buckets(input_tokens=1, output_tokens=1)) == 360
    beyond = Buckets(input_tokens=300_000, output_tokens=1)
    assert cost("gpt-6-astra", "openai", ultrafast, beyond) == 300_000 * 120 + 450


@pytest.mark.parametrize(
    ("model", "provider", "mode", "named"),
    [
        ("claude-sonnet-5-5", "anthropic", Mode(speed="fast"), "speed fast"),
        ("claude-opus-5-5", "anthropic", Mode(service_tier="priority"), "service_tier priority"),
        ("claude-opus-5-5", "anthropic", Mode(speed="fast", service_tier="batch"), "service_tier batch"),
        ("claude-opus-5-5", "anthropic", Mode(inference_geo="moon"), "inference_geo moon"),
        ("gpt-5-nano", "openai", Mode(service_tier="priority"), "service_tier priority"),
        ("gpt-6-sol", "openai", Mode(service_tier="ultrafast"), "service_tier ultrafast"),
        ("gpt-5", "openai", Mode(service_tier="flexible"), "service_tier flexible"),
    ],
)
def test_a_way_of_serving_without_a_price_is_named(model: str, provider: str, mode: Mode, named: str) -> None:
    with pytest.raises(UnknownModeError, match=named) as caught:
        find_price(model, provider, AT, mode=mode)
    assert caught.value.model == model


def test_a_tier_had_no_price_before_its_day() -> None:
    with pytest.raises(UnknownModeError):
        find_price("gpt-5", "openai", datetime(2026, 10, 1, tzinfo=UTC), mode=Mode(service_tier="priority"))


def test_a_search_costs_a_cent_beside_its_tokens_and_has_no_price_with_some_models() -> None:
    price = find_price("claude-sonnet-4-5")
    assert price.cost_microusd(Buckets(input_tokens=1, web_searches=3)) == 3 + 30_000
    old = find_price("claude-2")
    assert not old.has_price_of(Buckets(web_searches=1))
    assert old.has_price_of(Buckets(input_tokens=1))


def test_the_hash_stands_for_the_mode_too() -> None:
    plain, fast = (find_price("claude-opus-5-5", mode=Mode(speed=speed)) for speed in (None, "fast"))
    assert plain.price_hash != fast.price_hash
