"""A person's own price of one model, as `factory.toml` holds it and the sidecar is told it.

Pure: no I/O.
"""

from typing import Annotated, Self

from pydantic import Field, PositiveInt, model_validator

from instrument.schema.base import Frozen

Dollars = Annotated[float, Field(ge=0, le=1_000_000, allow_inf_nan=False)]


class OwnRates(Frozen):
    """Dollars a million tokens, bucket by bucket; what is not set follows `input`, never below it."""

    input: Dollars
    """Tokens that no cache holds."""
    output: Dollars
    """Reasoning included."""
    cache_read: Dollars | None = None
    """None: as input."""
    cache_write_5m: Dollars | None = None
    """None: the provider's published multiple of input."""
    cache_write_1h: Dollars | None = None
    """None: the same."""


class OwnCliff(OwnRates):
    """The rates of a call whose input, caches included, is above `tokens`."""

    tokens: PositiveInt
    """Where these rates begin."""


class OwnPrice(OwnRates):
    """One model's price; it stands instead of the price data's."""

    web_searches: Dollars | None = None
    """Dollars a thousand searches; none: a search has no known price."""
    above: tuple[OwnCliff, ...] = ()
    """Other rates for large calls, rising in `tokens`."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        starts = [cliff.tokens for cliff in self.above]
        if starts != sorted(set(starts)):
            raise ValueError("must have the tables of above rising in tokens")
        if any(_named(cliff) != _named(self) for cliff in self.above):
            raise ValueError("must set the same rates in above as beside it")
        return self


def _named(rates: OwnRates) -> frozenset[str]:
    """Which rates are set."""
    return frozenset(name for name in OwnRates.model_fields if getattr(rates, name) is not None)
