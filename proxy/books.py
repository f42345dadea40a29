"""Makes the ledger's rows: of each thing that happened, what is written about it.

Limits: writes through what it is given; decides nothing.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Protocol

from instrument.schema.ledger import Denied, LedgerOpened, Notice
from proxy.call import Admission, Call
from proxy.ledger import Row
from proxy.notices import Found
from proxy.refusals import Reason
from proxy.settlement import Settlement

_SHOWN = 200
"""Characters kept of a path, a model's name or a User-Agent: a job chooses them."""
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

    def sync_soon(self) -> None:
        """Have the disk take every row without waiting for it."""
        ...


@dataclass(frozen=True, slots=True)
class Clock:
    """Both times, injected: the calendar's for rows, the monotonic one for durations and the deadline."""

    utc: Callable[[], datetime]
    monotonic: Callable[[], float]


class Times:
    """What is told of a call's time; monotonic, but for the wait that a provider asks for."""

    def __init__(
        self,
        first_byte_s: float | None,
        ended_s: float,
        retry_after_s: int | None,
    ) -> None:
        self.first_byte_s: Final = first_byte_s
        """None where no byte came."""
        self.ended_s: Final = ended_s
        self.retry_after_s: Final = retry_after_s


class Books:
    """Every method writes one row, and raises `OSError` where the ledger cannot be written.

    No call waits for the disk (see `proxy.ledger.Ledger`).
    """

    def __init__(
        self, records: Records, clock: Clock, budget_microusd: int, mask: Callable[[str], str]
    ) -> None:
        """`mask` stars out secrets in whatever text a job or a provider chose."""
        self._records = records
        self._clock = clock
        self._budget_microusd = budget_microusd
        self._mask = mask
        self._denied = 0

    def open(self, price_package: str) -> None:
        """The first row, on disk."""
        self._records.append(
            LedgerOpened(
                at_utc=self._clock.utc(),
                budget_microusd=self._budget_microusd,
                price_package=price_package,
            )
        )
        self._records.sync()

    def start(self, call: Call, admission: Admission, host: str) -> None:
        """A call's start, written before its request leaves."""
        self._records.append(
            {
                "kind": "call_started",
                "n": call.n,
                "at_utc": self._clock.utc(),
                # Both are known words by now: one of the listed paths, a model with a price.
                "path": admission.path,
                "model": call.ask.model[:_SHOWN],
                "reserved_microusd": call.reserved_microusd,
                "user_agent": self._shown(admission.user_agent),
                "host": host,
            }
        )
        self._records.sync_soon()

    def end(self, call: Call, status: int | None, result: Settlement, times: Times) -> None:
        """A call's end."""
        first_byte_s, asked, answered = times.first_byte_s, call.ask.model, result.model
        self._records.append(
            {
                "kind": "call_ended",
                "n": call.n,
                "at_utc": self._clock.utc(),
                "status": status,
                "model": answered if answered in (asked, None) else self._shown(answered),
                "usage": result.usage.row(),
                "cost_microusd": result.cost_microusd,
                "estimated": result.is_estimated,
                "unknown_price": result.has_unknown_price,
                "price_hash": result.price_hash,
                "mode": result.mode and self._shown(result.mode),
                "error_type": None if result.error_type is None else self._shown(result.error_type),
                "retry_after_s": times.retry_after_s,
                "duration_ms": _ms(times.ended_s - call.started_s),
                "first_byte_ms": None if first_byte_s is None else _ms(first_byte_s - call.started_s),
            }
        )
        self._records.sync_soon()

    def notice(self, call: Call, found: Found, spent_microusd: int) -> None:
        """What a call's end showed."""
        self._records.append(
            Notice(
                at_utc=self._clock.utc(),
                what=found.what,
                n=call.n,
                spent_microusd=spent_microusd,
                budget_microusd=self._budget_microusd,
                calls=found.calls,
                input_tokens=found.input_tokens,
            )
        )

    def deny(self, reason: Reason, method: str, path: str) -> None:
        """A request that was not forwarded; after a thousand of them nothing."""
        if self._denied < MAX_DENIED_ROWS:
            self._denied += 1
            self._records.append(
                Denied(
                    at_utc=self._clock.utc(), reason=reason, method=method[:_SHOWN], path=self._shown(path)
                )
            )

    def _shown(self, text: str) -> str:
        """A text as a row has it; masked before it is cut, for half a secret would not be known again."""
        return self._mask(text)[:_SHOWN]


def _ms(duration_s: float) -> int:
    """A duration for a row; never negative."""
    return max(0, int(duration_s * 1000 + 0.5))
