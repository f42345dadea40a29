"""The rates of the providers' models, from genai-prices' bundled data and our own additions to it.

Limits: reads the package's data once; never the network. Exact ids only; aliases are not known here.
"""

from datetime import datetime
from decimal import Decimal
from functools import cache
from typing import Any

from instrument.schema.vocabulary import ProviderName
from proxy.mode import Mode
from proxy.rates import Price, Rate

# Where the data has no cache price of its own: reads at the full input price (never too low), writes
# at a multiple of it for the shorter and the longer life. Anthropic's are those of
# https://platform.claude.com/docs/en/build-with-claude/prompt-caching#pricing
# (through the notes of genai-prices 0.2.3, read 2026-11-30). OpenAI charges writes of most models as any
# other input; 12 hours cost 2.5 times it (https://developers.openai.com/api/docs/models/gpt-6.2-sol, read
# 2026-11-30).
WRITE_FACTORS: dict[str, tuple[Decimal, Decimal]] = {
    ProviderName.ANTHROPIC: (Decimal("1.25"), Decimal(2)),
    ProviderName.OPENAI: (Decimal(1), Decimal("2.5")),
}
# Tiers that the data does not hold: model, tier, multiple of the plain rates. Ultrafast costs six times the
# plain price, long context too (https://developers.openai.com/api/docs/pricing, quoted by third parties,
# read 2026-11-30); for other models no price is published.
TIER_FACTORS: dict[tuple[str, str | None], Decimal] = {("gpt-6-astra", "ultrafast"): Decimal(6)}
# Places that cost more, by what Anthropic's answers name: every rate of tokens, searches not
# (https://platform.claude.com/docs/en/manage-claude/data-residency, read 2026-11-30).
PLACE_FACTORS: dict[str, Decimal] = {"us": Decimal("1.1")}
_PER_THOUSAND = Decimal(1000)
"""Dollars a thousand searches to micro-dollars a search."""


class NoRateError(Exception):
    """The data holds no rates for a model that is asked for like this."""


@cache
def load_models() -> dict[str, dict[str, Any]]:
    """The library's entries by provider and id; may be called twice."""
    # Imported here, since it takes a tenth of a second: the socket opens first.
    from genai_prices.data import providers  # noqa: PLC0415

    return {
        provider.id: {model.id: model for model in provider.models}
        for provider in providers
        if provider.id in WRITE_FACTORS
    }


def read_price(entry: Any, provider: str, at_utc: datetime, mode: Mode) -> Price:  # noqa: ANN401 - the library's own
    """The library's entry as a price of ours.

    Args:
        entry: One of `load_models`.
        provider: Whose factors fill what the entry lacks.
        at_utc: Selects among dated prices.
        mode: Plain words left out, see `Mode.plain`.

    Raises:
        NoRateError: The entry has no rates of tokens, or none for this mode.
    """
    factor = _place_factor(mode)
    tier: str | None = mode.service_tier
    if (entry.id, tier) in TIER_FACTORS:
        factor, tier = factor * TIER_FACTORS[entry.id, tier], None
    words = (("service_tier", tier), ("speed", mode.speed))
    context = {name: word for name, word in words if word is not None}
    if not context.items() <= _held(entry, context, at_utc):
        raise NoRateError
    prices = entry.get_prices(at_utc, context)
    base, output = _read_rate(prices.input_mtok), _read_rate(prices.output_mtok)
    if base is None or output is None:
        raise NoRateError
    write_5m, write_1h = WRITE_FACTORS[provider]
    search = prices.web_searches_kcount
    plain = Price(
        model=entry.id,
        input=base,
        cache_read=_read_rate(prices.cache_read_mtok) or base,
        cache_write_5m=_read_rate(prices.cache_write_mtok) or base.times(write_5m),
        cache_write_1h=_read_rate(prices.cache_write_1h_mtok) or base.times(write_1h),
        output=output,
        search_microusd=search * _PER_THOUSAND if isinstance(search, Decimal) else None,
    )
    return plain if factor == 1 else plain.times(factor)


def _place_factor(mode: Mode) -> Decimal:
    """What the place multiplies."""
    if mode.inference_geo is None:
        return Decimal(1)
    factor = PLACE_FACTORS.get(mode.inference_geo)
    if factor is None:
        raise NoRateError
    return factor


def _held(entry: Any, context: dict[str, str], at_utc: datetime) -> set[tuple[str, str]]:  # noqa: ANN401 - as above
    """The words of a context that the entry has prices for."""
    return {
        item
        for variant in entry.price_variants or ()
        if variant.constraint is None or variant.constraint.active(at_utc)
        if variant.when.items() <= context.items()
        for item in variant.when.items()
    }


def _read_rate(value: Any) -> Rate | None:  # noqa: ANN401 - as above
    """A plain or a tiered figure of the library; none where it has none."""
    if value is None:
        return None
    if isinstance(value, Decimal):
        return Rate(value)
    return Rate(value.base, tuple((tier.start, tier.price) for tier in value.tiers))
