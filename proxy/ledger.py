"""The writer of `ledger.jsonl`: whole lines, appended and synced.

Limits: the only module that writes the ledger; one writer a file.
"""

import os
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from instrument.schema.ledger import CallEnded, CallStarted, Denied, LedgerOpened

Row = LedgerOpened | CallStarted | CallEnded | Denied


class Ledger:
    """Order of calls: `append`, `sync` and `sync_later` any number of times, `close` last.

    `append` returns when the row would survive the death of this process; `sync`, when it would
    survive that of the machine. A start is synced before its request leaves; an end is synced
    in the background, since running streams must not wait for the disk.
    """

    def __init__(self, path: Path) -> None:
        """Open for appending.

        Raises:
            OSError: The file cannot be made or written.
        """
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self._background = ThreadPoolExecutor(1, "ledger-sync")
        self._failure: BaseException | None = None

    def append(self, row: Row) -> None:
        """Write one row as one line.

        Raises:
            OSError: The disk refuses, now or at an earlier `sync_later`.
        """
        if self._failure is not None:
            raise OSError(f"the ledger could not be synced: {self._failure}")
        line = row.model_dump_json().encode() + b"\n"
        while line:
            line = line[os.write(self._file, line) :]

    def sync(self) -> None:
        """Wait until the disk has every row.

        Raises:
            OSError: The disk refuses.
        """
        os.fdatasync(self._file)

    def sync_later(self) -> None:
        """Have the disk take every row without waiting; a failure shows at the next `append`."""
        self._background.submit(os.fdatasync, self._file).add_done_callback(self._note)

    def _note(self, done: Future[None]) -> None:
        """Keep a background failure."""
        self._failure = self._failure or done.exception()

    def close(self) -> None:
        """Sync once more, and close."""
        self._background.shutdown()
        try:
            self.sync()
        finally:
            os.close(self._file)
