"""Which price a model id has."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from instrument.schema.vocabulary import ProviderName
from proxy.buckets import Buckets
from proxy.mode import Mode
from proxy.prices import (
    PRICE_PACKAGE,
    UnknownModeError,
    UnknownPriceError,
    find_price,
    is_same_model,
    load_aliases,
    price_package,
    provider_of_model,
)
from proxy.rates import Price, Rate
from support.by_hand import SONNET

TIERED = Price(
    model="with-cliffs",
    input=Rate(Decimal(3)),
    cache_read=Rate(Decimal("0.30")),
    cache_write_5m=Rate(Decimal("3.75"), ((200_000, Decimal("7.5")),)),
    cache_write_1h=Rate(Decimal(6)),
    output=Rate(Decimal("15.01"), ((200_000, Decimal("22.51")),)),
)
counts = st.integers(min_value=0, max_value=400_000)


def test_case_09_cache_writes_are_charged_as_such() -> None:
    usage = Buckets(input_tokens=3, cache_write_5m_tokens=12304, output_tokens=550)
    by_hand = 3 * 3 + 12304 * 3.75 + 550 * 15
    assert by_hand == 54399
    assert SONNET.cost_microusd(usage) == 54399
    assert find_price("claude-sonnet-4-5").cost_microusd(usage) == 54399


@given(counts, counts)
def test_the_most_is_the_cost_of_the_input_and_of_the_whole(tokens: int, output_tokens: int) -> None:
    fresh, whole = (Buckets(cache_write_5m_tokens=tokens, output_tokens=n) for n in (0, output_tokens))
    most = TIERED.most_microusd(fresh, output_tokens)
    assert most == (TIERED.cost_microusd(fresh), TIERED.cost_microusd(whole))


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


def test_case_09_openais_cached_input_is_charged_as_such() -> None:
    usage = Buckets(input_tokens=2000, cache_read_tokens=8000, output_tokens=100)
    by_hand = 2000 * 1.25 + 8000 * 0.125 + 100 * 10
    assert by_hand == 4500
    assert find_price("gpt-5", "openai").cost_microusd(usage) == 4500


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


def test_an_unknown_model_is_no_known_one_in_an_unknown_way() -> None:
    with pytest.raises(UnknownPriceError) as caught:
        find_price("of-nobody", mode=Mode(speed="fast"))
    assert type(caught.value) is UnknownPriceError


def test_the_ledger_names_what_lies_on_top_of_the_package() -> None:
    assert price_package({}) == PRICE_PACKAGE
    assert price_package({"a": 1, "b": 2}) == f"{PRICE_PACKAGE}, 2 of factory.toml on top"


def test_a_price_of_ones_own_holds_in_every_place_but_for_no_other_speed() -> None:
    own = {"claude-opus-5-5": SONNET}
    for mode in (Mode(inference_geo="us"), Mode(service_tier="on_demand")):
        assert find_price("claude-opus-5-5", mode=mode, own=own) is SONNET
    for mode in (Mode(speed="fast"), Mode(service_tier="priority")):
        with pytest.raises(UnknownModeError):
            find_price("claude-opus-5-5", mode=mode, own=own)
