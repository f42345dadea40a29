"""A price written by hand, for figures worked out by hand."""

from decimal import Decimal

from proxy.rates import Price, Rate

SONNET = Price(
    model="by-hand",
    input=Rate(Decimal(3)),
    cache_read=Rate(Decimal("0.30")),
    cache_write_5m=Rate(Decimal("3.75")),
    cache_write_1h=Rate(Decimal(6)),
    output=Rate(Decimal(15)),
)
"""Claude Sonnet's."""
