"""The rows of `ledger.jsonl`, the proxy's record of one job's model calls.

One JSON object a line, discriminated by `kind`. Pure: no I/O.
"""

from typing import Annotated, Literal

from pydantic import AwareDatetime, ConfigDict, Field, NonNegativeInt, TypeAdapter

from instrument.schema.base import Frozen
from instrument.schema.usage import Usage
from instrument.schema.vocabulary import NoticeKind


class LedgerOpened(Frozen):
    """The first row: what this sidecar was given and what it prices with."""

    kind: Literal["ledger_opened"] = "ledger_opened"
    at_utc: AwareDatetime
    budget_microusd: NonNegativeInt
    price_package: str
    """Name and version of the price data, such as `genai-prices 0.2.3`."""


class CallStarted(Frozen):
    """Written before the request leaves; the disk has it a moment later."""

    kind: Literal["call_started"] = "call_started"
    n: int
    at_utc: AwareDatetime
    path: str
    model: str | None
    """The model id asked for; none where the body names none."""
    reserved_microusd: NonNegativeInt
    """What the call is charged if its end is never written."""
    user_agent: str
    host: str | None = None
    """The provider that was asked; none in ledgers from before there could be several."""


class CallEnded(Frozen):
    """Written when the answer is over, however it ended; the disk has it a moment later."""

    kind: Literal["call_ended"] = "call_ended"
    n: int
    at_utc: AwareDatetime
    status: int | None
    """The HTTP status of the upstream; none where it never answered."""
    model: str | None
    """The model id that the answer names."""
    usage: Usage
    cost_microusd: NonNegativeInt
    estimated: bool
    """Whether a part of usage is an estimate upwards, or a charge without a known price is missing."""
    unknown_price: bool = False
    """The answer named a model without a price: the cost is the reservation."""
    price_hash: str | None = None
    """First 16 hex digits of SHA-256 of the price entry used."""
    mode: str = ""
    """How it was served where that may have a price of its own, such as `speed fast`; empty: plainly."""
    error_type: str | None = None
    """The provider's own error type, such as `rate_limit_error`."""
    retry_after_s: int | None = None
    duration_ms: NonNegativeInt = 0
    first_byte_ms: NonNegativeInt | None = None


class Denied(Frozen):
    """A request that was not forwarded: wrong path, method, host, price or no budget left."""

    kind: Literal["denied"] = "denied"
    at_utc: AwareDatetime
    reason: Literal["path", "upgrade", "encoding", "budget", "price", "deadline", "malformed", "egress"]
    method: str
    path: str


class Notice(Frozen):
    """What a person should hear of while the job still runs; each kind once a job."""

    kind: Literal["notice"] = "notice"
    at_utc: AwareDatetime
    what: NoticeKind
    n: int
    """The call after whose end it showed."""
    spent_microusd: NonNegativeInt
    budget_microusd: NonNegativeInt
    calls: NonNegativeInt = 0
    """Calls in a row that it is about; 0 where it is about the sum spent."""
    input_tokens: NonNegativeInt = 0
    """Input of those calls that no cache was read for."""


LedgerRow = Annotated[LedgerOpened | CallStarted | CallEnded | Denied | Notice, Field(discriminator="kind")]
LEDGER_ROW: TypeAdapter[LedgerRow] = TypeAdapter(LedgerRow, config=ConfigDict(defer_build=True))


class ModelCall(Frozen):
    """One call of a ledger, its start and its end joined; `settled` is false where no end was written."""

    n: int
    path: str
    model_asked: str | None
    model_answered: str | None
    status: int | None
    error_type: str | None
    retry_after_s: int | None
    usage: Usage
    cost_microusd: NonNegativeInt
    settled: bool
    estimated: bool
    unknown_price: bool
    user_agent: str
    started_utc: AwareDatetime
    duration_ms: NonNegativeInt
    host: str | None = None
    """See `CallStarted.host`."""

    @property
    def has_succeeded(self) -> bool:
        """Whether the provider answered with a model's output; counting tokens is no such answer."""
        if not self.settled or self.status is None or self.error_type is not None:
            return False
        is_output = not self.path.partition("?")[0].endswith("/count_tokens")
        return is_output and self.status < 300  # noqa: PLR2004 - HTTP's own classes


class LedgerSummary(Frozen):
    """What one job's ledger says; the calls are in order of start, may be empty."""

    calls: tuple[ModelCall, ...] = ()
    denied: tuple[Denied, ...] = ()
    notices: tuple[Notice, ...] = ()
    """In order of time."""
    bad_lines: NonNegativeInt = 0
    """Lines that could not be read: the totals are then a lower bound."""

    @property
    def cost_microusd(self) -> int:
        """What the job's calls cost; a call without an end at its reservation."""
        return sum(call.cost_microusd for call in self.calls)

    @property
    def settled_microusd(self) -> int:
        """What the calls cost that have an end."""
        return sum(call.cost_microusd for call in self.calls if call.settled)

    @property
    def is_lower_bound(self) -> bool:
        """Whether a part of the cost is not known exactly."""
        return bool(self.bad_lines) or any(
            not c.settled or c.estimated or c.unknown_price for c in self.calls
        )
