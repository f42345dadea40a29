"""Reads a job's `ledger.jsonl` into calls, each start joined with its end.

Pure: no I/O. Damage is counted, never raised: what a ledger cannot say makes its totals a lower bound.
"""

from pydantic import ValidationError

from instrument.schema.ledger import (
    LEDGER_ROW,
    CallEnded,
    CallStarted,
    Denied,
    LedgerOpened,
    LedgerRow,
    LedgerSummary,
    ModelCall,
    Notice,
)
from instrument.schema.usage import Usage


def read_ledger(data: bytes) -> LedgerSummary:
    """Join the rows; calls are in order of start.

    A start without its end is charged at its reservation and is not settled. A line that is no row,
    a second start or end of one call, and an end without a start count in `bad_lines`.
    """
    starts: dict[int, CallStarted] = {}
    ends: dict[int, CallEnded] = {}
    denied: list[Denied] = []
    notices: list[Notice] = []
    bad_lines = 0
    for line in data.split(b"\n"):
        if not line:
            continue
        match _read_row(line):
            case CallStarted() as row if row.n not in starts:
                starts[row.n] = row
            case CallEnded() as row if row.n in starts and row.n not in ends:
                ends[row.n] = row
            case Denied() as row:
                denied.append(row)
            case Notice() as row:
                notices.append(row)
            case LedgerOpened():
                pass
            case _:
                bad_lines += 1
    calls = tuple(_join(start, ends.get(n)) for n, start in starts.items())
    return LedgerSummary(calls=calls, denied=tuple(denied), notices=tuple(notices), bad_lines=bad_lines)


def _read_row(line: bytes) -> LedgerRow | None:
    """One row; none where the line is torn or not ours."""
    try:
        return LEDGER_ROW.validate_json(line)
    except ValidationError:
        return None


def _join(start: CallStarted, end: CallEnded | None) -> ModelCall:
    """One call from its rows."""
    return ModelCall(
        n=start.n,
        path=start.path,
        model_asked=start.model,
        model_answered=end.model if end else None,
        status=end.status if end else None,
        error_type=end.error_type if end else None,
        retry_after_s=end.retry_after_s if end else None,
        usage=end.usage if end else Usage(),
        cost_microusd=end.cost_microusd if end else start.reserved_microusd,
        settled=end is not None,
        estimated=end.estimated if end else False,
        unknown_price=end.unknown_price if end else False,
        user_agent=start.user_agent,
        started_utc=start.at_utc,
        duration_ms=end.duration_ms if end else 0,
        host=start.host,
    )
