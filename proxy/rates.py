"""The rates of one model, and what a call costs at them.

Pure: no I/O. Sums are exact: whole femto-dollars, rounded up to micro-dollars once.
"""

import hashlib
import math
from dataclasses import dataclass, field, replace
from decimal import Decimal

from proxy.buckets import Buckets

_TOKEN_RATES = ("input", "cache_read", "cache_write_5m", "cache_write_1h", "output")
FEMTO = 10**9
"""Of a micro-dollar: rates have nine digits behind the dollar for a million tokens."""


@dataclass(frozen=True, slots=True)
class Rate:
    """Dollars a million tokens, which is micro-dollars a token."""

    base: Decimal
    tiers: tuple[tuple[int, Decimal], ...] = ()
    """Input tokens above which the whole call has another rate; ascending."""
    _base_femtousd: int = field(init=False, repr=False, compare=False)
    _tiers_femtousd: tuple[tuple[int, int], ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Count in whole numbers from here on: Decimals are slow, and a price is read once."""
        object.__setattr__(self, "_base_femtousd", femtousd(self.base))
        tiers = tuple((start, femtousd(rate)) for start, rate in self.tiers)
        object.__setattr__(self, "_tiers_femtousd", tiers)

    def at(self, input_tokens: int) -> int:
        """Femto-dollars a token in a call with this much input, caches included."""
        rate = self._base_femtousd
        for start, tier in self._tiers_femtousd:
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
    _search_femtousd: int = field(init=False, repr=False, compare=False)
    price_hash: str = field(init=False, repr=False, compare=False)
    """First 16 hex digits of SHA-256 over these rates: two calls with one hash had one price."""

    def __post_init__(self) -> None:
        """Make the hash now, since a price is read once and every call names it."""
        object.__setattr__(self, "_search_femtousd", femtousd(self.search_microusd or Decimal(0)))
        object.__setattr__(self, "price_hash", hashlib.sha256(repr(self).encode()).hexdigest()[:16])

    def times(self, factor: Decimal) -> "Price":
        """The price with all rates of tokens at a multiple."""
        return replace(self, **{name: getattr(self, name).times(factor) for name in _TOKEN_RATES})

    def has_price_of(self, usage: Buckets) -> bool:
        """Whether everything in it has a price here."""
        return self.search_microusd is not None or not usage.web_searches

    def exact_femtousd(self, usage: Buckets) -> int:
        """All buckets together, at the cliff of their input; a search without a price is 0."""
        size = usage.input_total_tokens
        exact = usage.web_searches * self._search_femtousd
        # Most of them are empty.
        if usage.input_tokens:
            exact += usage.input_tokens * self.input.at(size)
        if usage.cache_read_tokens:
            exact += usage.cache_read_tokens * self.cache_read.at(size)
        if usage.cache_write_5m_tokens:
            exact += usage.cache_write_5m_tokens * self.cache_write_5m.at(size)
        if usage.cache_write_1h_tokens:
            exact += usage.cache_write_1h_tokens * self.cache_write_1h.at(size)
        if usage.output_tokens:
            exact += usage.output_tokens * self.output.at(size)
        return exact

    def cost_microusd(self, usage: Buckets) -> int:
        """The exact cost, rounded up once to a micro-dollar."""
        return round_up(self.exact_femtousd(usage))

    def most_microusd(self, input_usage: Buckets, output_tokens: int) -> tuple[int, int]:
        """What this input costs, and what it costs with this much output; each rounded up once."""
        exact = self.exact_femtousd(input_usage)
        output = output_tokens * self.output.at(input_usage.input_total_tokens)
        return round_up(exact), round_up(exact + output)


def femtousd(microusd: Decimal) -> int:
    """A rate in whole femto-dollars; digits beyond them, which no provider's price has, are rounded up."""
    return math.ceil(microusd * FEMTO)


def round_up(exact_femtousd: int) -> int:
    """The next whole micro-dollar."""
    return -(-exact_femtousd // FEMTO)
