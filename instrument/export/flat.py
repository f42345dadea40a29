"""Rows as CSV, for a spreadsheet: one task a line, the same columns always.

Pure: no I/O.
"""

import csv
import io
from collections.abc import Iterable, Iterator

from instrument.asked import coder_of, model_of
from instrument.figures import Row
from instrument.parts import Part
from instrument.schema.usage import Usage

_PLAIN = (
    "task_id",
    "repo",
    "purpose",
    "at_utc",
    "stage",
    "stop",
    "done",
    "kept",
    "runs",
    "lead_ms",
    "job_ms",
)
_COUNTS = ("coder_rounds", "review_rounds", "gates", "interventions")
_MONEY = ("cost_microusd", "lower_bound", "unmetered_parts")
COLUMNS = (
    *_PLAIN,
    *_COUNTS,
    *_MONEY,
    *("runtime", "model", "stops", "missing"),
    *(f"{part}_ms" for part in Part),
    *Usage.model_fields,
    *("rulings_by_person", "rulings_by_model"),
)


def csv_lines(rows: Iterable[Row]) -> Iterator[str]:
    """The head, then a line a row; an unknown figure is an empty cell."""
    yield _line(COLUMNS)
    for row in rows:
        yield _line([_cell(value) for value in _cells(row)])


def _cells(row: Row) -> Iterator[object]:
    yield from (getattr(row, name) for name in (*_PLAIN, *_COUNTS, *_MONEY))
    coder = coder_of(row)
    yield coder.runtime if coder else None
    yield model_of(coder) if coder else None
    yield " ".join(row.stops)
    yield "; ".join(row.missing)
    yield from (row.times.get(part, 0) for part in Part)
    yield from (getattr(row.usage, name) for name in Usage.model_fields)
    yield row.interventions_by_kind.get("ruling", 0)
    yield " ".join(f"{model}={count}" for model, count in row.rulings_by_model.items())


def _cell(value: object) -> str:
    """A cell's text; one that a spreadsheet would take for a formula is quoted for it."""
    text = "" if value is None else str(value)
    return f"'{text}" if text.startswith(("=", "+", "-", "@")) else text


def _line(cells: Iterable[str]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerow(cells)
    return out.getvalue()
