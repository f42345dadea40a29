"""What one call is charged, from how it ended.

Pure: no I/O.
"""

from collections.abc import Callable
from typing import Final

from proxy.ask import Ask
from proxy.buckets import Buckets
from proxy.meter import Reading
from proxy.mode import PLAIN, Mode
from proxy.prices import UnknownModeError, UnknownPriceError
from proxy.rates import Price, round_up

_REDIRECTS = 300
NOTHING = Buckets()
PriceOf = Callable[[str, Mode], Price]
"""The price of a model in a mode; raises as `proxy.prices.find_price` does."""


class End:
    """How a call ended, in facts."""

    def __init__(
        self,
        *,
        has_left: bool,
        status: int | None,
        reading: Reading | None,
    ) -> None:
        self.has_left: Final = has_left
        """Whether the request went out to the upstream."""
        self.status: Final = status
        """Of the answer; none where none came."""
        self.reading: Final = reading
        """Of the answer's body; none where no head came."""


class Settlement:
    """What the ledger's end row says about money."""

    def __init__(
        self,
        model: str | None,
        error_type: str | None,
        usage: Buckets = NOTHING,
        cost_microusd: int = 0,
        *,
        is_estimated: bool = False,
        unpriced_model: str | None = None,
        price_hash: str | None = None,
        mode: str = "",
    ) -> None:
        self.model: Final = model
        self.error_type: Final = error_type
        self.usage: Final = usage
        self.cost_microusd: Final = cost_microusd
        self.is_estimated: Final = is_estimated
        """Whether a part of the usage is an estimate, or a charge has no known price and is missing."""
        self.unpriced_model: Final = unpriced_model
        """A model that did the work, or a part of it, and has no price."""
        self.price_hash: Final = price_hash
        self.mode: Final = mode
        """How it was served; empty: plainly."""

    @property
    def has_unknown_price(self) -> bool:
        """Whether the cost is the reservation."""
        return self.unpriced_model is not None


def settle(ask: Ask, asked_price: Price, reserved_microusd: int, end: End, price_of: PriceOf) -> Settlement:
    """Charge a call once.

    Free: what never left, what the provider refused, a token count. The answer's own model is
    priced, not the one asked for, in the mode that it names; without a price it costs its reservation.
    """
    reading = end.reading
    model = reading.model if reading else None
    error_type = reading.error_type if reading else None
    is_refused = end.status is not None and end.status >= _REDIRECTS
    if is_refused or not end.has_left or ask.is_counting:
        return Settlement(model, error_type)
    usage, is_estimated = _usage(ask, reading)
    extras = [(extra, extra.usage or ask.input_usage) for extra in reading.extras] if reading else []
    total = sum([beside for _, beside in extras], usage)
    mode = (reading.mode if reading else PLAIN).over(ask.mode).plain
    bill = _Bill(price_of)
    cost_microusd, price_hash, unpriced = reserved_microusd, None, None
    try:
        if not model or (model == ask.model and mode == ask.mode.plain):
            price = bill.charge(asked_price, usage)
        else:
            price = bill.add(model, mode, usage)
        for extra, beside in extras:
            bill.add_beside(extra.model, price, mode, beside)
        cost_microusd, price_hash = round_up(bill.exact_femtousd), price.price_hash
    except UnknownPriceError as error:
        unpriced = error.model
    return Settlement(
        model,
        error_type,
        usage=total,
        cost_microusd=cost_microusd,
        is_estimated=is_estimated or bill.is_short,
        unpriced_model=unpriced,
        price_hash=price_hash,
        mode=str(mode),
    )


class _Bill:
    """What the parts of a call come to, exactly."""

    def __init__(self, price_of: PriceOf) -> None:
        self._price_of = price_of
        self.exact_femtousd = 0
        self.is_short = False
        """Whether a charge has no known price and is missing."""

    def add(self, model: str, mode: Mode, usage: Buckets) -> Price:
        """Charge a model's work; where its mode has no price, at the plain one."""
        try:
            price = self._price_of(model, mode)
        except UnknownModeError:
            self.is_short = True
            price = self._price_of(model, PLAIN)
        return self.charge(price, usage)

    def add_beside(self, model: str | None, price: Price, mode: Mode, usage: Buckets) -> None:
        """Charge work beside the counts: at the call's price, or at that of another model's plain speed."""
        if model is None:
            self.charge(price, usage)
        else:
            self.add(model, Mode(inference_geo=mode.inference_geo), usage)

    def charge(self, price: Price, usage: Buckets) -> Price:
        """Charge at this price."""
        self.exact_femtousd += price.exact_femtousd(usage)
        self.is_short = self.is_short or not price.has_price_of(usage)
        return price


def _usage(ask: Ask, reading: Reading | None) -> tuple[Buckets, bool]:
    """What to charge, and whether a part of it is estimated.

    Without any report the input is what its bytes allow at most. A stream reports before it
    writes, so only what was seen was written; a whole answer may have been written to its ceiling.
    """
    if reading is not None and reading.has_usage:
        return reading.usage, reading.has_gap or not reading.is_whole
    seen = reading.usage if reading else NOTHING
    output_tokens = seen.output_tokens if ask.is_stream else ask.max_tokens
    return ask.input_usage + Buckets(output_tokens=output_tokens, web_searches=seen.web_searches), True
