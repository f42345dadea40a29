"""Lets calls out and books them: the one place where a request becomes a call and a call becomes a cost.

Limits: writes the ledger and the marker through what it is given; touches no socket.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from instrument.schema.ledger import CallEnded, CallStarted, Denied, LedgerOpened
from proxy import refusals
from proxy.account import Account
from proxy.ask import Ask, BadAskError
from proxy.headers import RequestHead
from proxy.ledger import Row
from proxy.prices import PRICE_PACKAGE, Price, UnknownPriceError, find_price
from proxy.protocols.wire import Wire
from proxy.refusals import Reason, Refusal
from proxy.settlement import End, settle

_SHOWN = 200
"""Characters kept of a path or a User-Agent: a job chooses them."""


MAX_DENIED_ROWS = 1000
"""A job may knock as often as it likes; the disk of the ledger is not its to fill."""


class Records(Protocol):
    """Where rows go; see `proxy.ledger.Ledger`."""

    def append(self, row: Row) -> None:
        """Write one row."""
        ...

    def sync(self) -> None:
        """Wait until the disk has every row."""
        ...

    def sync_later(self) -> None:
        """Have the disk take every row without waiting for it."""
        ...


@dataclass(frozen=True, slots=True)
class Clock:
    """Both times, injected: the calendar's for rows, the monotonic one for durations and the deadline."""

    utc: Callable[[], datetime]
    monotonic: Callable[[], float]


@dataclass(frozen=True, slots=True)
class Terms:
    """What the job may spend, and until when."""

    budget_microusd: int
    deadline_s: float


@dataclass(frozen=True, slots=True)
class Call:
    """An admitted request: its start is in the ledger, its end is owed."""

    n: int
    ask: Ask
    price: Price
    reserved_microusd: int
    started_s: float


class Desk:
    """Order of calls: `open`, then for each request `admit`, and for each call admitted `book` once."""

    def __init__(
        self, wire: Wire, terms: Terms, records: Records, clock: Clock, mark: Callable[[], None]
    ) -> None:
        """`mark` is called once, when the first call is admitted."""
        self._wire = wire
        self._terms = terms
        self._account = Account(terms.budget_microusd)
        self._records = records
        self._clock = clock
        self._mark = mark
        self._start_s = clock.monotonic()
        self._count = 0
        self._denied = 0
        self._unpriced: str | None = None

    def open(self) -> None:
        """Write the ledger's first row.

        Raises:
            OSError: The ledger cannot be written.
        """
        self._records.append(
            LedgerOpened(
                at_utc=self._clock.utc(),
                budget_microusd=self._terms.budget_microusd,
                price_package=PRICE_PACKAGE,
            )
        )
        self._records.sync()

    def admit(self, head: RequestHead, body: bytes) -> Call | Refusal:
        """Start a call, its reservation on disk, or refuse it with a row that says why.

        Raises:
            OSError: The ledger cannot be written: nothing may leave.
        """
        judged = self._judge(head, body)
        if isinstance(judged, Refusal):
            self.deny(judged.reason, head.method, head.path)
            return judged
        ask, price = judged
        self._count += 1
        call = Call(
            n=self._count,
            ask=ask,
            price=price,
            reserved_microusd=price.cost_microusd(ask.most_usage),
            started_s=self._clock.monotonic(),
        )
        self._records.append(
            CallStarted(
                n=call.n,
                at_utc=self._clock.utc(),
                path=head.path,
                model=ask.model[:_SHOWN],
                reserved_microusd=call.reserved_microusd,
                user_agent=(head.get(b"user-agent") or b"").decode("latin-1")[:_SHOWN],
            )
        )
        self._records.sync()
        self._account.hold(call.n, price.cost_microusd(ask.input_usage))
        if call.n == 1:
            self._mark()
        return call

    def _judge(self, head: RequestHead, body: bytes) -> tuple[Ask, Price] | Refusal:
        """Whether this request may leave now."""
        if self._clock.monotonic() - self._start_s > self._terms.deadline_s:
            return refusals.past_deadline()
        if self._unpriced is not None:
            return refusals.without_price(self._unpriced)
        try:
            ask = self._wire.read_ask(head.path, body)
            price = self._price_of(ask.model)
        except BadAskError as error:
            return refusals.malformed(str(error))
        except UnknownPriceError as error:
            return refusals.without_price(str(error))
        if not self._account.has_room():
            return refusals.out_of_budget()
        return ask, price

    def _price_of(self, model: str) -> Price:
        """The price of one of this provider's models."""
        return find_price(model, self._wire.PROVIDER)

    def book(self, call: Call, end: End, *, first_byte_s: float | None, retry_after_s: int | None) -> None:
        """Settle a call: charge it and write its end.

        Raises:
            KeyError: It was settled before.
            OSError: The ledger cannot be written.
        """
        result = settle(call.ask, call.price, call.reserved_microusd, end, self._price_of)
        self._account.settle(call.n, result.cost_microusd)
        if result.has_unknown_price and result.model is not None:
            self._unpriced = str(UnknownPriceError(result.model))
        now_s = self._clock.monotonic()
        self._records.append(
            CallEnded(
                n=call.n,
                at_utc=self._clock.utc(),
                status=end.status,
                model=result.model,
                usage=result.usage,
                cost_microusd=result.cost_microusd,
                estimated=result.is_estimated,
                unknown_price=result.has_unknown_price,
                price_hash=result.price_hash,
                error_type=result.error_type,
                retry_after_s=retry_after_s,
                duration_ms=_ms(now_s - call.started_s),
                first_byte_ms=None if first_byte_s is None else _ms(first_byte_s - call.started_s),
            )
        )
        self._records.sync_later()

    def deny(self, reason: Reason | None, method: str, path: str) -> None:
        """Write that a request was not forwarded.

        Raises:
            OSError: The ledger cannot be written.
        """
        if reason is not None and self._denied < MAX_DENIED_ROWS:
            self._denied += 1
            self._records.append(
                Denied(at_utc=self._clock.utc(), reason=reason, method=method[:_SHOWN], path=path[:_SHOWN])
            )

    def now_s(self) -> float:
        """The monotonic clock, for times that `book` is given."""
        return self._clock.monotonic()


def _ms(duration_s: float) -> int:
    """A duration for a row; never negative."""
    return max(0, round(duration_s * 1000))
