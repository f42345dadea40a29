"""Who may leave, and what is written about it."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime

import orjson
import pytest

from instrument.schema.ledger import (
    LEDGER_ROW,
    CallEnded,
    CallStarted,
    Denied,
    LedgerOpened,
    LedgerRow,
    Notice,
)
from instrument.schema.vocabulary import NoticeKind
from proxy.books import MAX_DENIED_ROWS, Clock
from proxy.buckets import Buckets
from proxy.call import Admission, Call
from proxy.desk import Desk, Terms
from proxy.headers import RequestHead
from proxy.ledger import Row
from proxy.masking import Masker
from proxy.meter import Reading
from proxy.protocols import anthropic
from proxy.refusals import Refusal
from proxy.settlement import End


def head_with(*headers: tuple[bytes, bytes]) -> RequestHead:
    return RequestHead(
        "POST",
        "/v1/messages?beta=true",
        headers,
        is_keep_alive=True,
        is_http_10=False,
        is_upgrade=False,
    )


HEAD = head_with((b"user-agent", b"agent/1"))


class FakeRecords:
    def __init__(self) -> None:
        self.rows: list[LedgerRow | Row | str] = []

    def append(self, row: Row) -> None:
        is_plain = isinstance(row, dict)
        self.rows.append(LEDGER_ROW.validate_json(orjson.dumps(row)) if is_plain else row)

    def sync(self) -> None:
        self.rows.append("synced")

    def sync_soon(self) -> None:
        self.rows.append("will be synced")


class Office:
    """A desk with a clock to set."""

    def __init__(
        self, budget_microusd: int = 1000, deadline_s: float = 60, secrets: tuple[str, ...] = ()
    ) -> None:
        self.records = FakeRecords()
        self.now_s = 0.0
        self.marks = 0
        clock = Clock(utc=lambda: datetime(2026, 11, 30, tzinfo=UTC), monotonic=lambda: self.now_s)
        terms, mask = Terms(budget_microusd, deadline_s), Masker(secrets)
        self.desk = Desk(anthropic, terms, self.records, clock, self._mark, mask)

    def _mark(self) -> None:
        self.marks += 1

    def admit(self, model: str = "claude-sonnet-4-5", max_tokens: int = 0) -> Admission | Refusal:
        body = orjson.dumps({"model": model, "max_tokens": max_tokens, "stream": True})
        return self.desk.admit(HEAD, body)

    def admission(self, max_tokens: int = 0) -> Admission:
        admitted = self.admit(max_tokens=max_tokens)
        assert isinstance(admitted, Admission)
        return admitted

    def call(self, max_tokens: int = 0) -> Call:
        """A call that holds its place for good."""
        return self.desk.start(self.admission(max_tokens), "api.example.org")

    def end(self, output_tokens: int, model: str = "claude-sonnet-4-5") -> None:
        """A whole request, from its admission to its end."""
        admission = self.admission()
        self.book(self.desk.start(admission, "api.example.org"), output_tokens, model)
        self.desk.release(admission)

    def refusal(self, model: str = "claude-sonnet-4-5") -> Refusal:
        refused = self.admit(model)
        assert isinstance(refused, Refusal)
        return refused

    def book(self, call: Call, output_tokens: int, model: str = "claude-sonnet-4-5") -> None:
        usage = Buckets(output_tokens=output_tokens)
        reading = Reading(model, usage, has_usage=True, is_whole=True, error_type=None)
        end = End(has_left=True, status=200, reading=reading)
        self.desk.book(call, end, first_byte_s=None, retry_after_s=None)


def answer_of(refusal: Refusal) -> tuple[bytes, dict[str, str]]:
    head, _, body = refusal.to_bytes(anthropic, is_last=False).partition(b"\r\n\r\n")
    return head, orjson.loads(body)["error"]


def test_a_start_is_written_before_its_request_leaves_and_synced_soon() -> None:
    office = Office()
    office.desk.open()
    office.call(max_tokens=100)
    opened, kept, started, soon = office.records.rows
    assert isinstance(opened, LedgerOpened)
    assert (opened.budget_microusd, opened.price_package[:13]) == (1000, "genai-prices ")
    assert isinstance(started, CallStarted)
    assert (started.path, started.user_agent) == ("/v1/messages", "agent/1")
    assert started.host == "api.example.org"
    # 30 tokens for 60 bytes at the 5-minute write price, and 100 of output at 15.
    body_bytes = len(orjson.dumps({"model": "claude-sonnet-4-5", "max_tokens": 100, "stream": True}))
    assert started.reserved_microusd == -(-(-(-body_bytes // 2) * 375) // 100) + 1500
    assert (kept, soon) == ("synced", "will be synced")


def test_the_mark_is_made_once() -> None:
    office = Office()
    office.refusal("unknown")
    assert office.marks == 0
    office.call()
    office.call()
    assert office.marks == 1


def test_a_spent_budget_refuses_with_the_one_answer_that_ends_an_agent() -> None:
    office = Office(budget_microusd=300)
    office.end(20)
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


def test_a_call_that_fits_but_not_beside_others_waits_and_starts_when_one_of_them_has_ended() -> None:
    async def story() -> None:
        office = Office(budget_microusd=200)
        first, second = office.admission(), office.admission()
        assert await office.desk.wait(first) is None
        waiting = asyncio.create_task(office.desk.wait(second))
        await asyncio.sleep(0)
        assert not waiting.done()
        assert office.records.rows == []
        office.desk.release(first)
        assert await waiting is None

    asyncio.run(story())


def test_a_call_that_waits_is_refused_when_the_money_is_spent() -> None:
    async def story() -> None:
        office = Office(budget_microusd=200)
        first, second = office.admission(), office.admission()
        office.book(office.desk.start(first, "api.example.org"), 100)
        office.desk.release(first)
        refused = await office.desk.wait(second)
        assert refused is not None
        assert refused.reason == "budget"
        last = office.records.rows[-1]
        assert isinstance(last, Denied)
        assert (last.reason, last.method, last.path) == ("budget", "POST", "/v1/messages")

    asyncio.run(story())


def test_a_call_that_waits_is_refused_when_the_time_is_over() -> None:
    async def story() -> None:
        office = Office(budget_microusd=200, deadline_s=0.01)
        office.admission()
        refused = await office.desk.wait(office.admission())
        assert refused is not None
        assert refused.reason == "deadline"

    asyncio.run(story())


def test_a_call_that_waits_is_refused_when_an_answer_named_a_model_without_a_price() -> None:
    async def story() -> None:
        office = Office(budget_microusd=200)
        first, second = office.admission(), office.admission()
        office.book(office.desk.start(first, "api.example.org"), 0, model="claude-next")
        office.desk.release(first)
        refused = await office.desk.wait(second)
        assert refused is not None
        assert refused.reason == "price"

    asyncio.run(story())


def test_whoever_leaves_just_as_its_turn_comes_lets_the_next_one_in() -> None:
    async def story() -> None:
        office = Office(budget_microusd=200)
        first, second, third = office.admission(), office.admission(), office.admission()
        waits = [asyncio.create_task(office.desk.wait(each)) for each in (second, third)]
        await asyncio.sleep(0)
        office.desk.release(first)
        waits[0].cancel()
        office.desk.release(second)
        assert await waits[1] is None
        assert office.records.rows == []

    asyncio.run(story())


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
        office.call()
    assert office.marks == 0


def test_known_secrets_are_starred_out_of_every_text_that_a_job_or_a_provider_chose() -> None:
    key, other, env = "sk-first/key", "sk-second-key", "pässword"
    office = Office(budget_microusd=10**6, secrets=(key, other, "", env))
    agent = f"agent {key} {other} {env}".encode()
    head = head_with((b"user-agent", agent))
    body = orjson.dumps({"model": "claude-sonnet-4-5", "stream": True})
    admission = office.desk.admit(head, body)
    assert isinstance(admission, Admission)
    call = office.desk.start(admission, "api.example.org")
    reading = Reading(f"m {other}", Buckets(), has_usage=False, is_whole=True, error_type=f"no {key} here")
    end = End(has_left=True, status=401, reading=reading)
    office.desk.book(call, end, first_byte_s=None, retry_after_s=None)
    office.desk.deny("path", "GET", f"/{other}/sk-first%2Fkey")
    office.desk.admit(head, orjson.dumps({"model": key}))
    started, _, ended, _, denied, unpriced = office.records.rows
    assert isinstance(started, CallStarted)
    assert started.user_agent == "agent *** *** ***"
    assert isinstance(ended, CallEnded)
    assert (ended.model, ended.error_type) == ("m ***", "no *** here")
    assert isinstance(denied, Denied)
    assert denied.path == "/***/***"
    assert key not in repr(unpriced)


def test_a_variables_value_that_is_the_models_name_hides_neither_model_nor_path() -> None:
    office = Office(secrets=("claude-sonnet-4-5", "messages"))
    office.end(1)
    started, _, ended, _ = office.records.rows
    assert isinstance(started, CallStarted)
    assert isinstance(ended, CallEnded)
    assert (started.path, started.model, ended.model) == ("/v1/messages", *["claude-sonnet-4-5"] * 2)


def test_a_secret_across_the_cut_of_a_long_text_leaves_no_half_behind() -> None:
    office = Office(secrets=("sk-secret",))
    office.desk.deny("path", "GET", "/" + "x" * 195 + "sk-secret")
    (row,) = office.records.rows
    assert isinstance(row, Denied)
    assert row.path == "/" + "x" * 195 + "***"


def test_what_calls_show_is_written_behind_the_end_that_showed_it() -> None:
    office = Office(budget_microusd=1000)
    office.end(30)
    office.end(30)
    kinds = [row for row in office.records.rows if isinstance(row, Notice)]
    (spent,) = kinds
    assert (spent.what, spent.n, spent.spent_microusd) == (NoticeKind.BUDGET_80, 2, 900)
    assert spent.budget_microusd == 1000
    assert isinstance(office.records.rows[-3], CallEnded)
