from datetime import UTC, datetime

import pytest

from instrument.planner.prices import cost_of
from instrument.schema.usage import Usage
from instrument.schema.vocabulary import ProviderName, RuntimeName
from proxy.buckets import Buckets
from proxy.prices import UnknownPriceError, find_price

NOW = datetime(2026, 11, 30, tzinfo=UTC)
USAGE = Usage(
    input_tokens=1001,
    cache_read_tokens=2003,
    cache_write_5m_tokens=307,
    output_tokens=503,
    reasoning_tokens=11,
)
AN_HOUR = Usage(cache_write_1h_tokens=41)


@pytest.mark.parametrize(
    ("program", "model", "usage"),
    [
        (RuntimeName.CLAUDE, "claude-sonnet-4-5", USAGE + AN_HOUR),
        (RuntimeName.CLAUDE, "claude-sonnet-4-5-20250929", USAGE),
        (RuntimeName.CLAUDE, "claude-sonnet-4-5", USAGE + Usage(input_tokens=300_000)),
        (RuntimeName.CLAUDE, "claude-opus-4-1", USAGE + AN_HOUR),
        (RuntimeName.CODEX, "gpt-5.5", USAGE),
        (RuntimeName.CODEX, "gpt-5.5", USAGE + Usage(input_tokens=300_000)),
    ],
)
def test_a_price_is_the_ledgers(program: RuntimeName, model: str, usage: Usage) -> None:
    provider = ProviderName.ANTHROPIC if program is RuntimeName.CLAUDE else ProviderName.OPENAI

    buckets = Buckets(**usage.model_dump())
    assert cost_of(program, model, usage, NOW) == find_price(model, provider, NOW).cost_microusd(buckets)


@pytest.mark.parametrize("model", [None, "", "claude-sonnet-4-5-mini", "gpt-5.5"])
def test_only_an_exact_id_has_a_price(model: str | None) -> None:
    assert cost_of(RuntimeName.CLAUDE, model, USAGE, NOW) is None
    with pytest.raises(UnknownPriceError):
        find_price(model or "", ProviderName.ANTHROPIC, NOW)
