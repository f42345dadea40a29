"""The writer of `ledger.jsonl`: whole lines, appended and synced.

Limits: the only module that writes the ledger; one writer a file. `sync_soon` needs a running event loop.
"""

import asyncio
import os
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import orjson

from instrument.schema.ledger import Denied, LedgerOpened, Notice

Row = LedgerOpened | Denied | Notice | dict[str, object]
"""What every call writes is a dict with the fields of `CallStarted` or `CallEnded`: no model is made."""
SYNC_S = 0.1
"""How long after a row the disk is asked to keep it; rows that come meanwhile share its sync."""
_LINE = orjson.OPT_APPEND_NEWLINE | orjson.OPT_UTC_Z


class Ledger:
    """Order of calls: `append`, `sync` and `sync_soon` any number of times, `close` last.

    `append` returns when the row would survive the death of this process, whatever killed it. The death of
    the machine it survives after the next `sync`, which no call waits for: a ledger that was not closed can
    lack its last rows then, and whoever reads it takes its total for a lower bound.
    """

    def __init__(self, path: Path) -> None:
        """Open for appending.

        Raises:
            OSError: The file cannot be made or written.
        """
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self._syncer = ThreadPoolExecutor(1, "ledger-sync")
        self._failure: BaseException | None = None
        self._timer: asyncio.TimerHandle | None = None

    def append(self, row: Row) -> None:
        """Write one row as one line.

        Raises:
            OSError: The disk refuses, now or at an earlier `sync_soon`.
        """
        if self._failure is not None:
            raise OSError(f"the ledger could not be synced: {self._failure}")
        line = orjson.dumps(row if isinstance(row, dict) else row.__dict__, option=_LINE)
        while line:
            line = line[os.write(self._file, line) :]

    def sync(self) -> None:
        """Wait until the disk has every row.

        Raises:
            OSError: The disk refuses.
        """
        os.fdatasync(self._file)

    def sync_soon(self) -> None:
        """Have the disk take every row without waiting for it; a failure shows at the next `append`."""
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(SYNC_S, self._sync_aside)

    def _sync_aside(self) -> None:
        """Sync in the thread; behind a slow disk's sync the next one waits, with all rows up to then."""
        self._syncer.submit(self._sync_waiting).add_done_callback(self._note)

    def _sync_waiting(self) -> None:
        self._timer = None
        self.sync()

    def _note(self, done: Future[None]) -> None:
        """Keep the failure of a sync that nobody waits for."""
        self._failure = self._failure or done.exception()

    def close(self) -> None:
        """Sync once more, and close."""
        if self._timer is not None:
            self._timer.cancel()
        self._syncer.shutdown()
        try:
            self.sync()
        finally:
            os.close(self._file)
