"""What usage costs at given rates, with figures computed by hand."""

from proxy.buckets import Buckets
from proxy.prices import (
    PRICE_PACKAGE,
    find_price,
)
from support.by_hand import SONNET


def test_one_hour_writes_have_a_price_of_their_own() -> None:
    assert find_price("claude-sonnet-4-5").cost_microusd(Buckets(cache_write_1h_tokens=1000)) == 6000


def test_all_buckets_are_rounded_up_together_and_once() -> None:
    # 0.3 + 3.75 = 4.05: rounded apart it would be 1 + 4 = 5 as well, 0.3 + 0.3 would not.
    assert SONNET.cost_microusd(Buckets(cache_read_tokens=1, cache_write_5m_tokens=1)) == 5
    assert SONNET.cost_microusd(Buckets(cache_read_tokens=2)) == 1
    assert SONNET.cost_microusd(Buckets(cache_read_tokens=10)) == 3
    assert SONNET.cost_microusd(Buckets()) == 0


def test_beyond_a_tier_the_whole_call_has_the_higher_rate() -> None:
    price = find_price("claude-sonnet-4-5")
    at_the_edge = Buckets(input_tokens=1, cache_read_tokens=199_999, output_tokens=10)
    beyond = Buckets(input_tokens=2, cache_read_tokens=199_999, output_tokens=10)
    assert price.cost_microusd(at_the_edge) == 60153  # 3 + 59,999.7 + 150
    assert price.cost_microusd(beyond) == 120237  # 12 + 119,999.4 + 225


def test_the_hash_stands_for_the_rates() -> None:
    price = find_price("claude-sonnet-4-5")
    assert price.price_hash == find_price("claude-sonnet-4-5-20250929").price_hash
    assert price.price_hash != find_price("claude-haiku-4-5").price_hash
    assert len(price.price_hash) == 16
    assert int(price.price_hash, 16) >= 0
    assert PRICE_PACKAGE.startswith("genai-prices ")
