"""What calls cost, with figures computed by hand."""

from datetime import UTC, datetime
from decimal import Decimal

import pytest

from instrument.schema.usage import Usage
from instrument.schema.vocabulary import ProviderName
from proxy.prices import (
    PRICE_PACKAGE,
    Price,
    Rate,
    UnknownPriceError,
    find_price,
    is_same_model,
    load_aliases,
    provider_of_model,
)

SONNET = Price(
    model="by-hand",
    input=Rate(Decimal(3)),
    cache_read=Rate(Decimal("0.30")),
    cache_write_5m=Rate(Decimal("3.75")),
    cache_write_1h=Rate(Decimal(6)),
    output=Rate(Decimal(15)),
)


def test_case_09_cache_writes_are_charged_as_such() -> None:
    usage = Usage(input_tokens=3, cache_write_5m_tokens=12304, output_tokens=550)
    by_hand = 3 * 3 + 12304 * 3.75 + 550 * 15
    assert by_hand == 54399
    assert SONNET.cost_microusd(usage) == 54399
    assert find_price("claude-sonnet-4-5").cost_microusd(usage) == 54399


def test_one_hour_writes_have_a_price_of_their_own() -> None:
    assert find_price("claude-sonnet-4-5").cost_microusd(Usage(cache_write_1h_tokens=1000)) == 6000


def test_all_buckets_are_rounded_up_together_and_once() -> None:
    # 0.3 + 3.75 = 4.05: rounded apart it would be 1 + 4 = 5 as well, 0.3 + 0.3 would not.
    assert SONNET.cost_microusd(Usage(cache_read_tokens=1, cache_write_5m_tokens=1)) == 5
    assert SONNET.cost_microusd(Usage(cache_read_tokens=2)) == 1
    assert SONNET.cost_microusd(Usage(cache_read_tokens=10)) == 3
    assert SONNET.cost_microusd(Usage()) == 0


def test_beyond_a_tier_the_whole_call_has_the_higher_rate() -> None:
    price = find_price("claude-sonnet-4-5")
    at_the_edge = Usage(input_tokens=1, cache_read_tokens=199_999, output_tokens=10)
    beyond = Usage(input_tokens=2, cache_read_tokens=199_999, output_tokens=10)
    assert price.cost_microusd(at_the_edge) == 60153  # 3 + 59,999.7 + 150
    assert price.cost_microusd(beyond) == 120237  # 12 + 119,999.4 + 225


def test_prices_with_dates_are_those_of_the_day() -> None:
    usage = Usage(cache_read_tokens=200_001)
    before = find_price("claude-opus-4-6", at_utc=datetime(2026, 3, 12, tzinfo=UTC))
    after = find_price("claude-opus-4-6", at_utc=datetime(2026, 3, 13, tzinfo=UTC))
    assert before.cost_microusd(usage) == 200_001
    assert after.cost_microusd(usage) == 100_001  # 100,000.5, rounded up
    assert before.price_hash != after.price_hash


def test_without_cache_prices_reads_cost_input_and_writes_the_published_factors() -> None:
    price = find_price("claude-2")
    assert price.cost_microusd(Usage(cache_read_tokens=100)) == 800
    assert price.cost_microusd(Usage(cache_write_5m_tokens=100)) == 1000
    assert price.cost_microusd(Usage(cache_write_1h_tokens=100)) == 1600


@pytest.mark.parametrize(
    "model", ["claude-sonnet-4-5", "claude-sonnet-4-5-20250929", "claude-opus-4-20250514"]
)
def test_known_are_ids_aliases_and_both_with_a_date(model: str) -> None:
    assert find_price(model).model in {"claude-sonnet-4-5", "claude-opus-4-0"}


@pytest.mark.parametrize(
    "model",
    [
        "",
        "claude-sonnet-4-5-mini",
        "claude-sonnet-4-5-2025092",
        "claude-sonnet-4-5-20250929-20250929",
        "claude-sonnet-4-5\n",
        "Claude-Sonnet-4-5",
        "gpt-5",
    ],
)
def test_case_13_a_prefix_is_no_match_and_the_sentence_says_what_to_do(model: str) -> None:
    with pytest.raises(UnknownPriceError) as caught:
        find_price(model)
    assert repr(model) in str(caught.value)
    assert "proxy/aliases.toml" in str(caught.value)
    assert caught.value.model == model


@pytest.mark.parametrize(
    ("asked", "answered", "is_same"),
    [
        ("claude-sonnet-4-5", "claude-sonnet-4-5", True),
        ("claude-sonnet-4-5", "claude-sonnet-4-5-20250929", True),
        ("claude-sonnet-4-5-20250929", "claude-sonnet-4-5", True),
        ("gpt-5", "gpt-5-2025-08-07", True),
        ("claude-sonnet-4-0", "claude-sonnet-4-20250514", True),
        ("claude-3-5-sonnet-latest", "claude-3-5-sonnet-20241022", True),
        ("claude-sonnet-4-5-20250929", "claude-sonnet-4-5-20260101", False),
        ("claude-sonnet-4-5", "claude-sonnet-4-5-fast", False),
        ("claude-sonnet-4-5", "claude-sonnet-4-0", False),
        ("gpt-5.1-codex-max", "gpt-5.1-codex", False),
        ("unheard-of", "unheard-of-20250101", True),
    ],
)
def test_an_alias_and_a_date_name_the_same_model_and_a_common_price_does_not(
    asked: str, answered: str, *, is_same: bool
) -> None:
    assert is_same_model(asked, answered) is is_same


def test_every_alias_leads_to_a_price_and_hides_no_id() -> None:
    for provider, aliases in load_aliases().items():
        for name, target in aliases.items():
            assert find_price(target, provider).model == target
            assert find_price(name, provider).model == target
            assert name not in aliases.values()


def test_the_hash_stands_for_the_rates() -> None:
    price = find_price("claude-sonnet-4-5")
    assert price.price_hash == find_price("claude-sonnet-4-5-20250929").price_hash
    assert price.price_hash != find_price("claude-haiku-4-5").price_hash
    assert len(price.price_hash) == 16
    assert int(price.price_hash, 16) >= 0
    assert PRICE_PACKAGE.startswith("genai-prices ")


def test_case_09_openais_cached_input_is_charged_as_such() -> None:
    usage = Usage(input_tokens=2000, cache_read_tokens=8000, output_tokens=100)
    by_hand = 2000 * 1.25 + 8000 * 0.125 + 100 * 10
    assert by_hand == 4500
    assert find_price("gpt-5", "openai").cost_microusd(usage) == 4500


def test_openais_cache_writes_cost_as_other_input_unless_they_have_a_price() -> None:
    writes = Usage(cache_write_5m_tokens=1000)
    assert find_price("gpt-5", "openai").cost_microusd(writes) == 1250
    assert find_price("gpt-6-cyber", "openai").cost_microusd(writes) == 25_000  # input is at 20
    assert find_price("gpt-6.1-sol", "openai").cost_microusd(Usage(cache_write_1h_tokens=1000)) == 5000


@pytest.mark.parametrize(
    ("model", "known"),
    [
        ("gpt-5", "gpt-5"),
        ("gpt-5-2025-08-07", "gpt-5"),
        ("gpt-5-20250807", "gpt-5"),
        ("gpt-5.1-codex-max", "gpt-5.1"),
        ("gpt-5-codex-2025-09-15", "gpt-5"),
        ("gpt-4o-2024-08-06", "gpt-4o"),
        ("gpt-4o-2024-05-13", "gpt-4o-2024-05-13"),
    ],
)
def test_openais_ids_may_have_a_date_of_its_form(model: str, known: str) -> None:
    assert find_price(model, "openai").model == known
    assert provider_of_model(model) is ProviderName.OPENAI


@pytest.mark.parametrize(
    "model", ["gpt-5-unheard-of", "gpt-5-2025-08", "gpt-5-2025-08-07-x", "claude-sonnet-4-5", "tts-1", ""]
)
def test_what_openais_prices_do_not_hold_is_unknown(model: str) -> None:
    with pytest.raises(UnknownPriceError, match="No price is known"):
        find_price(model, "openai")


@pytest.mark.parametrize("model", ["claude-sonnet-4-5", "claude-opus-4-20250514", "of-nobody"])
def test_a_model_of_nobody_is_taken_for_anthropics(model: str) -> None:
    assert provider_of_model(model) is ProviderName.ANTHROPIC
