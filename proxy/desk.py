"""Lets calls out and books them: the one place where a request becomes a call and a call becomes a cost.

Limits: writes the ledger and the marker through what it is given; touches no socket.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from proxy import refusals
from proxy.account import Account, Standing
from proxy.ask import Ask, BadAskError
from proxy.books import Books, Clock, Records, Times
from proxy.call import Admission, Call
from proxy.headers import RequestHead
from proxy.mode import PLAIN, Mode
from proxy.notices import EndedCall, Watch
from proxy.prices import UnknownPriceError, find_price, price_package
from proxy.protocols.wire import Wire
from proxy.rates import Price
from proxy.refusals import Reason, Refusal
from proxy.settlement import End, Settlement, settle


@dataclass(frozen=True, slots=True)
class Terms:
    """What the job may spend, and until when."""

    budget_microusd: int
    deadline_s: float
    own_prices: Mapping[str, Price] = field(default_factory=dict)
    """The person's, which go before the price data."""


class Desk:
    """Order of calls: `open`; for each request `admit`, `wait` and, at its end, `release`.

    Between `wait` and `release`, for each provider that it is sent to, `start` and `book`.
    """

    def __init__(
        self,
        wire: Wire,
        terms: Terms,
        records: Records,
        clock: Clock,
        mark: Callable[[], None],
        mask: Callable[[str], str] = str,
    ) -> None:
        """`mark` is called once, at the first call; `mask` stars out secrets in a row's texts."""
        self._wire = wire
        self._terms = terms
        self._account = Account(terms.budget_microusd)
        self._watch = Watch(terms.budget_microusd)
        self._books = Books(records, clock, terms.budget_microusd, mask)
        self._clock = clock
        self._mark = mark
        self._start_s = clock.monotonic()
        self._admitted = 0
        self._started = 0
        self._running: set[int] = set()
        self._turns: dict[int, asyncio.Future[Standing]] = {}
        self._unpriced: str | None = None

    def open(self) -> None:
        """Write the ledger's first row.

        Raises:
            OSError: The ledger cannot be written.
        """
        self._books.open(price_package(self._terms.own_prices))

    def admit(self, head: RequestHead, body: bytes) -> Admission | Refusal:
        """Give a request its place, or refuse it with a row that says why.

        Raises:
            OSError: The ledger cannot be written.
        """
        path = head.path
        judged = self._judge(path, body)
        if isinstance(judged, Refusal):
            return self._refuse(judged, path)
        ask, price = judged
        self._admitted += 1
        n, turn = self._admitted, None
        input_microusd, most_microusd = price.most_microusd(ask.input_usage, ask.most_output_tokens)
        standing = self._account.enter(n, input_microusd)
        if standing is Standing.REFUSED:
            return self._refuse(refusals.out_of_budget(), path)
        if standing is Standing.WAITING:
            turn = self._turns[n] = asyncio.get_running_loop().create_future()
        user_agent = (head.get(b"user-agent") or b"").decode("latin-1")
        return Admission(n, ask, price, most_microusd, path, user_agent, turn)

    def _judge(self, path: str, body: bytes) -> tuple[Ask, Price] | Refusal:
        """Whether this request may leave at all; whether there is money for it is another matter."""
        if self._left_s() < 0:
            return refusals.past_deadline()
        if self._unpriced is not None:
            return refusals.without_price(self._unpriced)
        try:
            ask = self._wire.read_ask(path, body)
            return ask, self._price_of(ask.model, ask.mode)
        except BadAskError as error:
            return refusals.malformed(str(error))
        # Another name: compiled, one name has one type.
        except UnknownPriceError as unpriced:
            return refusals.without_price(str(unpriced))

    def _price_of(self, model: str, mode: Mode = PLAIN) -> Price:
        """The price of one of this provider's models."""
        return find_price(model, self._wire.PROVIDER, mode=mode, own=self._terms.own_prices)

    async def wait(self, admission: Admission) -> Refusal | None:
        """Wait until a request may start; a refusal where money, price or time is gone by then.

        Raises:
            OSError: The ledger cannot be written.
        """
        if admission.turn is None:
            return None
        try:
            async with asyncio.timeout(self._left_s()):
                standing = await admission.turn
        except TimeoutError:
            return self._refuse(refusals.past_deadline(), admission.path)
        if standing is Standing.REFUSED:
            return self._refuse(refusals.out_of_budget(), admission.path)
        if self._unpriced is not None:
            return self._refuse(refusals.without_price(self._unpriced), admission.path)
        return None

    def start(self, admission: Admission, host: str) -> Call:
        """Begin a call to one provider: its reservation is written.

        Raises:
            OSError: The ledger cannot be written: nothing may leave.
        """
        self._started += 1
        call = Call(
            self._started,
            admission.ask,
            admission.price,
            admission.reserved_microusd,
            self._clock.monotonic(),
        )
        self._books.start(call, admission, host)
        self._running.add(call.n)
        if call.n == 1:
            self._mark()
        return call

    @property
    def is_open(self) -> bool:
        """Whether a request on its way may still be sent to another provider."""
        return self._left_s() >= 0 and self._unpriced is None

    def book(self, call: Call, end: End, *, first_byte_s: float | None, retry_after_s: int | None) -> None:
        """Settle a call: charge it and write its end.

        Raises:
            KeyError: It was settled before: a second settlement would charge it twice.
            OSError: The ledger cannot be written.
        """
        self._running.remove(call.n)
        result = settle(call.ask, call.price, call.reserved_microusd, end, self._price_of)
        self._account.charge(result.cost_microusd)
        if result.unpriced_model is not None:
            self._unpriced = str(UnknownPriceError(result.unpriced_model))
        times = Times(first_byte_s, self.now_s(), retry_after_s)
        self._books.end(call, end.status, result, times)
        ended = _ended(call, end.status, result, times.ended_s)
        for found in self._watch.see(ended, self._account.spent_microusd):
            self._books.notice(call, found, self._account.spent_microusd)

    def release(self, admission: Admission) -> None:
        """Give a request's place back, whether it ever started or not; those that wait are judged again."""
        self._turns.pop(admission.n, None)
        for n, standing in self._account.leave(admission.n).items():
            turn = self._turns.pop(n)
            # One whose client has just left gives its place back by itself.
            if not turn.done():
                turn.set_result(standing)

    def _refuse(self, refusal: Refusal, path: str) -> Refusal:
        """Write why a request to a model is not sent on."""
        self.deny(refusal.reason, "POST", path)
        return refusal

    def deny(self, reason: Reason | None, method: str, path: str) -> None:
        """Write that a request was not forwarded; nothing where the fault is the upstream's.

        Raises:
            OSError: The ledger cannot be written.
        """
        if reason is not None:
            self._books.deny(reason, method, path)

    def now_s(self) -> float:
        """The monotonic clock, for times that `book` is given."""
        return self._clock.monotonic()

    def _left_s(self) -> float:
        """Until the deadline; negative after it."""
        return self._terms.deadline_s - (self._clock.monotonic() - self._start_s)


def _ended(call: Call, status: int | None, result: Settlement, ended_s: float) -> EndedCall:
    """What is looked at of a settled call; an estimate says nothing about a cache."""
    usage, price = result.usage, call.price
    return EndedCall(
        status=status,
        model=call.ask.model,
        input_tokens=0 if result.is_estimated else usage.input_total_tokens,
        cache_read_tokens=usage.cache_read_tokens,
        is_cacheable=price.cache_read.base < price.input.base,
        started_s=call.started_s,
        ended_s=ended_s,
    )
