"""The ledger's rows joined into calls."""

from datetime import UTC, datetime

import pytest

from instrument.ledger import read_ledger
from instrument.schema.ledger import CallEnded, CallStarted, Denied, LedgerOpened, Notice
from instrument.schema.usage import Usage
from instrument.schema.vocabulary import NoticeKind

AT = datetime(2026, 11, 30, 12, tzinfo=UTC)
Row = LedgerOpened | CallStarted | CallEnded | Denied | Notice
OPENED = LedgerOpened(at_utc=AT, budget_microusd=9, price_package="genai-prices 0")


def started(n: int, reserved: int = 500) -> CallStarted:
    return CallStarted(
        n=n, at_utc=AT, path="/v1/messages", model="m", reserved_microusd=reserved, user_agent="agent/1"
    )


def ended(n: int, cost: int = 30, status: int | None = 200, error_type: str | None = None) -> CallEnded:
    return CallEnded(
        n=n,
        at_utc=AT,
        status=status,
        model="m-1",
        usage=Usage(input_tokens=4),
        cost_microusd=cost,
        estimated=False,
        error_type=error_type,
        retry_after_s=7,
    )


def lines(*rows: Row) -> bytes:
    return b"".join(row.model_dump_json().encode() + b"\n" for row in rows)


def test_starts_and_ends_are_joined_in_order_of_start() -> None:
    summary = read_ledger(lines(OPENED, started(1), started(2), ended(2, 5), ended(1, 30)))
    assert [(call.n, call.cost_microusd, call.settled) for call in summary.calls] == [
        (1, 30, True),
        (2, 5, True),
    ]
    assert (summary.cost_microusd, summary.bad_lines, summary.is_lower_bound) == (35, 0, False)
    assert summary.calls[0].user_agent == "agent/1"
    assert (summary.calls[0].model_asked, summary.calls[0].model_answered) == ("m", "m-1")


def test_a_start_without_an_end_costs_its_reservation_and_makes_a_lower_bound() -> None:
    summary = read_ledger(lines(OPENED, started(1, 640), started(2), ended(2, 5)))
    assert summary.cost_microusd == 645
    assert not summary.calls[0].settled
    assert not summary.calls[0].has_succeeded
    assert summary.is_lower_bound


@pytest.mark.parametrize(
    "damage",
    [b'{"kind":"call_started","n":2,"at', b"\x00\xff\n", b"[]\n", b'{"kind":"new_thing"}\n', b"5\n", b"{}\n"],
)
def test_a_line_that_cannot_be_read_is_counted(damage: bytes) -> None:
    summary = read_ledger(lines(OPENED, started(1), ended(1)) + damage)
    assert summary.bad_lines == 1
    assert summary.cost_microusd == 30
    assert summary.is_lower_bound


def test_damage_in_the_middle_loses_one_row_only() -> None:
    data = lines(OPENED, started(1)) + b"torn\n" + lines(started(2), ended(2, 5))
    summary = read_ledger(data)
    assert (summary.bad_lines, summary.cost_microusd) == (1, 505)


def test_a_call_is_charged_once_whatever_is_repeated() -> None:
    summary = read_ledger(lines(started(1), started(1), ended(1, 30), ended(1, 99), ended(8, 99)))
    assert (summary.cost_microusd, summary.bad_lines) == (30, 3)


def test_case_04_a_ledger_of_refusals_only_has_no_success() -> None:
    rows = [row for n in (1, 2) for row in (started(n), ended(n, 0, 429, "rate_limit_error"))]
    summary = read_ledger(lines(OPENED, *rows))
    assert not any(call.has_succeeded for call in summary.calls)
    assert {call.error_type for call in summary.calls} == {"rate_limit_error"}
    assert (summary.cost_microusd, summary.is_lower_bound) == (0, False)
    assert summary.calls[0].retry_after_s == 7


def test_denied_rows_are_kept() -> None:
    denied = Denied(at_utc=AT, reason="budget", method="POST", path="/v1/messages")
    assert read_ledger(lines(OPENED, denied)).denied == (denied,)


def test_notices_are_kept_in_order_and_are_no_damage() -> None:
    common = {"at_utc": AT, "n": 1, "spent_microusd": 8, "budget_microusd": 9}
    notices = tuple(Notice(what=what, **common) for what in (NoticeKind.BUDGET_80, NoticeKind.AUTH_REFUSED))
    summary = read_ledger(lines(OPENED, started(1), ended(1), *notices))
    assert (summary.notices, summary.bad_lines) == (notices, 0)
    assert not summary.is_lower_bound


def test_each_attempt_names_the_host_that_was_asked_and_an_old_ledger_names_none() -> None:
    asked = started(1).model_copy(update={"host": "a.example.org"})
    old = b'{"kind":"call_started","n":2,"at_utc":"2026-11-30T12:00:00Z","path":"/v1/messages","model":"m",'
    old += b'"reserved_microusd":5,"user_agent":""}\n'
    summary = read_ledger(lines(OPENED, asked, ended(1)) + old)
    assert [call.host for call in summary.calls] == ["a.example.org", None]
    assert summary.bad_lines == 0


def test_an_empty_ledger_is_no_damage() -> None:
    assert read_ledger(b"").bad_lines == 0
