"""The rates of one model, and what a call costs at them.

Pure: no I/O.
"""

import hashlib
import math
from dataclasses import dataclass, field, replace
from decimal import Decimal

from instrument.schema.usage import Usage

_TOKEN_RATES = ("input", "cache_read", "cache_write_5m", "cache_write_1h", "output")
_NOTHING = Decimal(0)


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
    search_microusd: Decimal | None = None
    """Of one web search; none where no price is known."""
    price_hash: str = field(init=False, repr=False, compare=False)
    """First 16 hex digits of SHA-256 over these rates: two calls with one hash had one price."""

    def __post_init__(self) -> None:
        """Make the hash now, since a price is read once and every call names it."""
        object.__setattr__(self, "price_hash", hashlib.sha256(repr(self).encode()).hexdigest()[:16])

    def times(self, factor: Decimal) -> "Price":
        """The price with all rates of tokens at a multiple."""
        return replace(self, **{name: getattr(self, name).times(factor) for name in _TOKEN_RATES})

    def has_price_of(self, usage: Usage) -> bool:
        """Whether everything in it has a price here."""
        return self.search_microusd is not None or not usage.web_searches

    def exact_microusd(self, usage: Usage) -> Decimal:
        """All buckets together, at the cliff of their input; a search without a price is 0."""
        fresh, read, output = usage.input_tokens, usage.cache_read_tokens, usage.output_tokens
        short, long = usage.cache_write_5m_tokens, usage.cache_write_1h_tokens
        size = fresh + read + short + long
        exact = usage.web_searches * self.search_microusd if self.search_microusd else _NOTHING
        # Most of them are empty, and Decimals are slow.
        if fresh:
            exact += fresh * self.input.at(size)
        if read:
            exact += read * self.cache_read.at(size)
        if short:
            exact += short * self.cache_write_5m.at(size)
        if long:
            exact += long * self.cache_write_1h.at(size)
        if output:
            exact += output * self.output.at(size)
        return exact

    def cost_microusd(self, usage: Usage) -> int:
        """The exact cost, rounded up once to a micro-dollar."""
        return round_up(self.exact_microusd(usage))

    def most_microusd(self, input_usage: Usage, output_tokens: int) -> tuple[int, int]:
        """What this input costs, and what it costs with this much output; each rounded up once."""
        exact = self.exact_microusd(input_usage)
        return round_up(exact), round_up(exact + output_tokens * self.output.at(input_usage.total_tokens))


def round_up(exact: Decimal) -> int:
    """The next whole micro-dollar."""
    return math.ceil(exact)
