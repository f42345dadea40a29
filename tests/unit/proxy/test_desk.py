"""Who may leave, and what is written about it."""

from collections.abc import Callable
from datetime import UTC, datetime

import orjson
import pytest

from instrument.schema.ledger import CallEnded, CallStarted, Denied, LedgerOpened
from instrument.schema.usage import Usage
from proxy.desk import MAX_DENIED_ROWS, Call, Clock, Desk, Terms
from proxy.headers import RequestHead
from proxy.ledger import Row
from proxy.meter import Reading
from proxy.protocols import anthropic
from proxy.refusals import Refusal
from proxy.settlement import End

HEAD = RequestHead(
    "POST",
    "/v1/messages?beta=true",
    ((b"user-agent", b"agent/1"),),
    is_keep_alive=True,
    is_http_10=False,
    is_upgrade=False,
)


class FakeRecords:
    def __init__(self) -> None:
        self.rows: list[Row | str] = []

    def append(self, row: Row) -> None:
        self.rows.append(row)

    def sync(self) -> None:
        self.rows.append("synced")

    def sync_later(self) -> None:
        self.rows.append("will be synced")


class Office:
    """A desk with a clock to set."""

    def __init__(self, budget_microusd: int = 1000, deadline_s: float = 60) -> None:
        self.records = FakeRecords()
        self.now_s = 0.0
        self.marks = 0
        clock = Clock(utc=lambda: datetime(2026, 11, 30, tzinfo=UTC), monotonic=lambda: self.now_s)
        self.desk = Desk(anthropic, Terms(budget_microusd, deadline_s), self.records, clock, self._mark)

    def _mark(self) -> None:
        self.marks += 1

    def admit(self, model: str = "claude-sonnet-4-5", max_tokens: int = 0) -> Call | Refusal:
        body = orjson.dumps({"model": model, "max_tokens": max_tokens, "stream": True})
        return self.desk.admit(HEAD, body)

    def call(self) -> Call:
        admitted = self.admit()
        assert isinstance(admitted, Call)
        return admitted

    def refusal(self, model: str = "claude-sonnet-4-5") -> Refusal:
        refused = self.admit(model)
        assert isinstance(refused, Refusal)
        return refused

    def book(self, call: Call, output_tokens: int, model: str = "claude-sonnet-4-5") -> None:
        usage = Usage(output_tokens=output_tokens)
        reading = Reading(model, usage, has_usage=True, is_whole=True, error_type=None)
        end = End(has_left=True, status=200, reading=reading)
        self.desk.book(call, end, first_byte_s=None, retry_after_s=None)


def answer_of(refusal: Refusal) -> tuple[bytes, dict[str, str]]:
    head, _, body = refusal.to_bytes(anthropic, is_last=False).partition(b"\r\n\r\n")
    return head, orjson.loads(body)["error"]


def test_a_start_is_on_disk_before_the_call_is_admitted() -> None:
    office = Office()
    office.desk.open()
    office.admit(max_tokens=100)
    opened, _, started, synced = office.records.rows
    assert isinstance(opened, LedgerOpened)
    assert (opened.budget_microusd, opened.price_package[:13]) == (1000, "genai-prices ")
    assert isinstance(started, CallStarted)
    assert (started.path, started.user_agent) == ("/v1/messages", "agent/1")
    # 30 tokens for 60 bytes at the 5-minute write price, and 100 of output at 15.
    body_bytes = len(orjson.dumps({"model": "claude-sonnet-4-5", "max_tokens": 100, "stream": True}))
    assert started.reserved_microusd == -(-(-(-body_bytes // 2) * 375) // 100) + 1500
    assert synced == "synced"


def test_the_mark_is_made_once() -> None:
    office = Office()
    office.refusal("unknown")
    assert office.marks == 0
    office.call()
    office.call()
    assert office.marks == 1


def test_a_spent_budget_refuses_with_the_one_answer_that_ends_an_agent() -> None:
    office = Office(budget_microusd=300)
    office.book(office.call(), 20)
    refused = office.refusal()
    head, error = answer_of(refused)
    assert head.startswith(b"HTTP/1.1 400 ")
    assert b"x-should-retry: false" in head
    assert b"retry-after" not in head
    assert "budget" in error["message"]
    assert error["type"] == "billing_error"
    last = office.records.rows[-1]
    assert isinstance(last, Denied)
    assert last.reason == "budget"


def test_inputs_in_flight_count_before_anything_is_spent() -> None:
    office = Office(budget_microusd=200)
    first = office.call()
    second = office.call()
    assert office.refusal().reason == "budget"
    office.book(first, 0)
    office.book(second, 0)
    office.call()


def test_no_budget_admits_nothing() -> None:
    assert Office(budget_microusd=0).refusal().reason == "budget"


def test_case_13_an_unknown_model_asked_for_never_leaves() -> None:
    office = Office()
    head, error = answer_of(office.refusal("claude-next"))
    assert head.startswith(b"HTTP/1.1 400 ")
    assert b"x-should-retry: false" in head
    assert "'claude-next'" in error["message"]
    assert "proxy/aliases.toml" in error["message"]
    assert [type(row) for row in office.records.rows] == [Denied]


def test_case_13_after_an_answer_of_an_unknown_model_nothing_leaves() -> None:
    office = Office(budget_microusd=10**9)
    call = office.call()
    office.book(call, 5, model="claude-next")
    ended = office.records.rows[-2]
    assert isinstance(ended, CallEnded)
    assert (ended.unknown_price, ended.cost_microusd) == (True, call.reserved_microusd)
    assert ended.usage.output_tokens == 5
    refused = office.refusal()
    assert refused.reason == "price"
    assert "'claude-next'" in refused.message


def test_after_the_deadline_nothing_leaves() -> None:
    office = Office(deadline_s=60)
    office.now_s = 60
    office.call()
    office.now_s = 60.1
    assert office.refusal().reason == "deadline"


def test_times_are_of_the_monotonic_clock() -> None:
    office = Office()
    call = office.call()
    office.now_s = 1.5
    office.desk.book(call, End(has_left=True, status=429, reading=None), first_byte_s=0.25, retry_after_s=9)
    ended = office.records.rows[-2]
    assert isinstance(ended, CallEnded)
    assert (ended.duration_ms, ended.first_byte_ms, ended.retry_after_s) == (1500, 250, 9)


def test_a_call_is_booked_once() -> None:
    office = Office()
    call = office.call()
    office.book(call, 1)
    with pytest.raises(KeyError):
        office.book(call, 1)


def test_a_job_cannot_fill_the_disk_with_refusals() -> None:
    office = Office()
    for _ in range(MAX_DENIED_ROWS + 50):
        office.desk.deny("path", "GET", "/" + "x" * 5000)
    assert len(office.records.rows) == MAX_DENIED_ROWS
    row = office.records.rows[0]
    assert isinstance(row, Denied)
    assert len(row.path) == 200


def test_a_ledger_that_cannot_be_written_lets_nothing_out() -> None:
    office = Office()

    def fail(_: Row) -> None:
        raise OSError("no space left")

    refuse: Callable[[Row], None] = fail
    office.records.append = refuse  # type: ignore[method-assign]
    with pytest.raises(OSError, match="no space"):
        office.admit()
    assert office.marks == 0
