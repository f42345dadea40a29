"""Every task's row, from an index where its files have not changed since.

The index is one file, `<home>/index/rows.jsonl`, that may be deleted at any moment: it only saves
the reading. Limits: a task whose files changed within the last two seconds is not put into it, since a
clock's tick could hide a change.
"""

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import cache, partial
from hashlib import sha256
from itertools import chain
from pathlib import Path

from instrument.decoding import DecodeError, Decoder
from instrument.figures import Row
from instrument.found import FoundTask, list_tasks
from instrument.reverts import stamp_of
from instrument.schema.base import Frozen
from instrument.writing import replace_private

_FRESH_NS = 2 * 10**9


class _Entry(Frozen):
    """One line of the index."""

    stamp: str
    row: Row


_DECODER: Decoder[_Entry] = Decoder(_Entry)
_ROWS: Decoder[Row] = Decoder(Row)


def read_rows(home: Path) -> Iterator[Row]:
    """Every task's row, in order of its id.

    Raises:
        OSError: `home` cannot be listed, or is no folder.
    """
    file = home / "index" / "rows.jsonl"
    known = _load(file)
    kept: list[_Entry] = []
    has_news = False
    fresh_ns = time.time_ns() - _FRESH_NS
    reverts_of = cache(partial(stamp_of, home))
    for found in list_tasks(home):
        stamp, newest_ns = _stamp(found)
        entry = known.pop(found.task_id, None)
        if entry is not None and entry.stamp == f"{stamp} {reverts_of(entry.row.repo)}":
            kept.append(entry)
            yield entry.row
            continue
        task = found.begun()
        if task is None:
            continue
        has_news = True
        row = _build(task)
        if newest_ns < fresh_ns:
            kept.append(_Entry(stamp=f"{stamp} {reverts_of(row.repo)}", row=row))
        yield row
    if has_news or known:
        # Only a saving of time: where it cannot be written the figures are the same.
        with suppress(OSError):
            _save(file, kept)


def _build(task: FoundTask) -> Row:
    # Imported here: where nothing has changed, loading all of this takes as long as the report.
    from instrument.row import build_row  # noqa: PLC0415

    return build_row(task)


def whole_row(row: Row) -> Row:
    """A row as a model, which can be printed as JSON: one out of the index has its attributes only."""
    return _ROWS.model_of(row)


def _load(file: Path) -> dict[str, _Entry]:
    """The entries by task id; none where the file is another version's, damaged or not there."""
    try:
        head, _, lines = file.read_bytes().partition(b"\n")
        entries = _DECODER.decode_lines(lines) if head == _head() else []
    except (OSError, DecodeError):
        return {}
    return {entry.row.task_id: entry for entry in entries}


def _save(file: Path, entries: list[_Entry]) -> None:
    """Replace the index whole."""
    lines = (_DECODER.encode(entry) + b"\n" for entry in entries)
    replace_private(file, chain((_head() + b"\n",), lines), is_synced=False)


@cache
def _head() -> bytes:
    """The first line: SHA-256 over this package's modules, so that no other version's figures are taken."""
    digest = sha256()
    for path in sorted(Path(__file__).parent.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest().encode()


def _stamp(task: FoundTask) -> tuple[str, int]:
    """What changes with a task's files, and the time of the last change.

    A state is renamed into its place and a damaged record out of it, which changes the folder; lines are
    only ever added to a record.
    """
    parts, newest_ns = [], 0
    for name in task.names:
        folder = f"{task.root}/{name}"
        changed_ns = os.stat(folder).st_mtime_ns  # noqa: PTH116 - see find_tasks
        try:
            record = os.stat(f"{folder}/events.jsonl")  # noqa: PTH116 - as above
        except OSError:
            parts.append(f"{changed_ns}")
            newest_ns = max(newest_ns, changed_ns)
        else:
            parts.append(f"{changed_ns}.{record.st_mtime_ns}.{record.st_size}")
            newest_ns = max(newest_ns, changed_ns, record.st_mtime_ns)
    return " ".join(parts), newest_ns
