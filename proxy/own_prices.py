"""Prices that a person set in `factory.toml`, as prices of ours.

Pure: no I/O.
"""

from collections.abc import Mapping
from decimal import Decimal

from instrument.schema.prices import OwnCliff, OwnPrice, OwnRates
from proxy.price_data import WRITE_FACTORS
from proxy.rates import Price, Rate

_PER_THOUSAND = Decimal(1000)


def read_own_prices(table: Mapping[str, OwnPrice], provider: str) -> dict[str, Price]:
    """The prices by exact model id; what a price does not set follows its input, see `OwnRates`."""
    return {model: _price(model, own, provider) for model, own in table.items()}


def _price(model: str, own: OwnPrice, provider: str) -> Price:
    steps = {name: _rate(own, name, provider) for name in OwnRates.model_fields}
    search = None if own.web_searches is None else _exact(own.web_searches) * _PER_THOUSAND
    return Price(model=model, search_microusd=search, **steps)


def _rate(own: OwnPrice, name: str, provider: str) -> Rate:
    """One bucket with its cliffs."""
    tiers = tuple((cliff.tokens, _figure(cliff, name, provider)) for cliff in own.above)
    return Rate(_figure(own, name, provider), tiers)


def _figure(rates: OwnPrice | OwnCliff, name: str, provider: str) -> Decimal:
    figure: float | None = getattr(rates, name)
    if figure is not None:
        return _exact(figure)
    factors = dict(zip(("cache_write_5m", "cache_write_1h"), WRITE_FACTORS[provider], strict=True))
    return _exact(rates.input) * factors.get(name, Decimal(1))


def _exact(figure: float) -> Decimal:
    """The figure as it was written: its shortest form, not the nearest binary one."""
    return Decimal(repr(figure))
