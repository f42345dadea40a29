"""What one model call costs, from genai-prices' bundled data.

Limits: reads the package's data and `aliases.toml` beside this file once; never the network.
"""

import hashlib
import re
import tomllib
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import ROUND_CEILING, Decimal
from functools import cache
from importlib import resources
from importlib.metadata import version
from typing import Any

from instrument.schema.usage import Usage
from instrument.schema.vocabulary import ProviderName

PRICE_PACKAGE = f"genai-prices {version('genai-prices')}"
_DATE = re.compile(r"-(\d{8}|\d{4}-\d{2}-\d{2})\Z")

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


class UnknownPriceError(Exception):
    """A model that the price data does not know."""

    def __init__(self, model: str) -> None:
        self.model = model
        super().__init__(
            f"No price is known for the model {model[:100]!r}: name it as the price data does, "
            "or add an alias for it to proxy/aliases.toml."
        )


@dataclass(frozen=True, slots=True)
class Rate:
    """Dollars a million tokens, which is micro-dollars a token."""

    base: Decimal
    tiers: tuple[tuple[int, Decimal], ...] = ()
    """Input tokens above which the whole call has another rate; ascending."""

    def at(self, input_tokens: int) -> Decimal:
        """The rate of a call with this much input, caches included."""
        rate = self.base
        for start, tier in self.tiers:
            if input_tokens > start:
                rate = tier
        return rate

    def times(self, factor: Decimal) -> "Rate":
        """The same steps at a multiple."""
        return Rate(self.base * factor, tuple((start, rate * factor) for start, rate in self.tiers))


@dataclass(frozen=True, slots=True)
class Price:
    """The rates of one model by bucket."""

    model: str
    """The id in the price data."""
    input: Rate
    cache_read: Rate
    cache_write_5m: Rate
    cache_write_1h: Rate
    output: Rate

    @property
    def price_hash(self) -> str:
        """First 16 hex digits of SHA-256 over these rates: two calls with one hash had one price."""
        return hashlib.sha256(repr(self).encode()).hexdigest()[:16]

    def cost_microusd(self, usage: Usage) -> int:
        """All buckets together in Decimal, rounded up once to a micro-dollar."""
        size = usage.total_tokens - usage.output_tokens
        exact = (
            usage.input_tokens * self.input.at(size)
            + usage.cache_read_tokens * self.cache_read.at(size)
            + usage.cache_write_5m_tokens * self.cache_write_5m.at(size)
            + usage.cache_write_1h_tokens * self.cache_write_1h.at(size)
            + usage.output_tokens * self.output.at(size)
        )
        return int(exact.to_integral_value(rounding=ROUND_CEILING))


def find_price(model: str, provider: str = ProviderName.ANTHROPIC, at_utc: datetime | None = None) -> Price:
    """The price of a model id: equal to an id in the data or an alias of ours, a date suffix aside.

    The library's own match is by prefix and would price `claude-sonnet-4-5-mini` as its big sister.

    Args:
        model: The id as asked for, or as an answer names it.
        provider: Whose model it is: a name of ours, which is the id in the data too.
        at_utc: Selects among dated prices; none: now.

    Raises:
        UnknownPriceError: No such id.
    """
    entry = _find_entry(model, provider)
    if entry is None:
        raise UnknownPriceError(model)
    return _read_price(entry, at_utc or datetime.now(UTC), *WRITE_FACTORS[provider])


def provider_of_model(model: str) -> ProviderName:
    """The provider that has this model; Anthropic where none has it."""
    known = (provider for provider in ProviderName if _find_entry(model, provider) is not None)
    return next(known, ProviderName.ANTHROPIC)


def is_same_model(asked: str, answered: str) -> bool:
    """Whether two ids name one model: equal, an alias of ours, one of them with a date behind it."""
    if asked == answered:
        return True
    if _DATE.search(asked) and _DATE.search(answered):
        return False
    pair = (_DATE.sub("", asked), _DATE.sub("", answered))
    return pair[0] == pair[1] or any(
        aliases.get(name) == other
        for aliases in load_aliases().values()
        for name, other in (pair, pair[::-1])
    )


def _find_entry(model: str, provider: str) -> Any:  # noqa: ANN401 - the library's own shape
    """The library's entry of a model; none where there is no such id."""
    known, aliases = _models()[provider], load_aliases()[provider]
    names = (aliases.get(name, name) for name in (model, _DATE.sub("", model)))
    return next((known[name] for name in names if name in known), None)


def load_prices() -> None:
    """Read the data now, so that the first call need not wait for it; may be called twice."""
    load_aliases()
    _models()


@cache
def load_aliases() -> dict[str, dict[str, str]]:
    """Our aliases by provider: id the provider names, to id in the price data."""
    table = tomllib.loads(resources.files("proxy").joinpath("aliases.toml").read_text("utf-8"))
    return {
        provider: {str(name): str(target) for name, target in table[provider].items()}
        for provider in WRITE_FACTORS
    }


@cache
def _models() -> dict[str, dict[str, Any]]:
    """The entries by provider and id."""
    # Imported here, since it takes a tenth of a second: the socket opens first.
    from genai_prices.data import providers  # noqa: PLC0415

    return {
        provider.id: {model.id: model for model in provider.models}
        for provider in providers
        if provider.id in WRITE_FACTORS
    }


def _read_price(
    entry: Any,  # noqa: ANN401 - the library's own shape ends here
    at_utc: datetime,
    write_5m: Decimal,
    write_1h: Decimal,
) -> Price:
    """Turn the library's entry into ours, with the published factors where it has no cache price."""
    prices = entry.get_prices(at_utc)
    base = _read_rate(prices.input_mtok)
    output = _read_rate(prices.output_mtok)
    if base is None or output is None:
        raise UnknownPriceError(entry.id)
    return Price(
        model=entry.id,
        input=base,
        cache_read=_read_rate(prices.cache_read_mtok) or base,
        cache_write_5m=_read_rate(prices.cache_write_mtok) or base.times(write_5m),
        cache_write_1h=_read_rate(prices.cache_write_1h_mtok) or base.times(write_1h),
        output=output,
    )


def _read_rate(value: Any) -> Rate | None:  # noqa: ANN401 - as above
    """A plain or a tiered figure of the library; none where it has none."""
    if value is None:
        return None
    if isinstance(value, Decimal):
        return Rate(value)
    return Rate(value.base, tuple((tier.start, tier.price) for tier in value.tiers))
