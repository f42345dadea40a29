"""What one call is charged, from how it ended.

Pure: no I/O.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from instrument.schema.usage import Usage
from proxy.ask import Ask
from proxy.meter import Reading
from proxy.prices import Price, UnknownPriceError

_REDIRECTS = 300
NOTHING = Usage()


@dataclass(frozen=True, slots=True)
class End:
    """How a call ended, in facts."""

    has_left: bool
    """Whether the request went out to the upstream."""
    status: int | None
    """Of the answer; none where none came."""
    reading: Reading | None
    """Of the answer's body; none where no head came."""


@dataclass(frozen=True, slots=True)
class Settlement:
    """What the ledger's end row says about money."""

    model: str | None
    error_type: str | None
    usage: Usage = NOTHING
    cost_microusd: int = 0
    is_estimated: bool = False
    has_unknown_price: bool = False
    price_hash: str | None = None


def settle(
    ask: Ask, asked_price: Price, reserved_microusd: int, end: End, price_of: Callable[[str], Price]
) -> Settlement:
    """Charge a call once.

    Free: what never left, what the provider refused, a token count. The answer's own model is
    priced, not the one asked for; without a price it costs its reservation.
    """
    reading = end.reading
    free = Settlement(
        model=reading.model if reading else None, error_type=reading.error_type if reading else None
    )
    is_refused = end.status is not None and end.status >= _REDIRECTS
    if is_refused or not end.has_left or ask.is_counting:
        return free
    usage, is_estimated = _usage(ask, reading)
    used = replace(free, usage=usage, is_estimated=is_estimated)
    try:
        price = price_of(free.model) if free.model else asked_price
    except UnknownPriceError:
        return replace(used, cost_microusd=reserved_microusd, has_unknown_price=True)
    return replace(used, cost_microusd=price.cost_microusd(usage), price_hash=price.price_hash)


def _usage(ask: Ask, reading: Reading | None) -> tuple[Usage, bool]:
    """The tokens to charge, and whether a part of them is estimated.

    Without any report the input is what its bytes allow at most. A stream reports before it
    writes, so only what was seen was written; a whole answer may have been written to its ceiling.
    """
    if reading is not None and reading.has_usage:
        return reading.usage, not reading.is_whole
    if not ask.is_stream:
        return ask.most_usage, True
    return ask.input_usage + Usage(output_tokens=reading.usage.output_tokens if reading else 0), True
