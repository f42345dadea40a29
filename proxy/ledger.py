"""The writer of `ledger.jsonl`: whole lines, appended and synced.

Limits: the only module that writes the ledger; one writer a file. `synced` and `sync_later` need a running
event loop.
"""

import asyncio
import os
import time
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import orjson

from instrument.schema.base import Frozen
from instrument.schema.ledger import CallEnded, CallStarted, Denied, LedgerOpened, Notice

Row = LedgerOpened | CallStarted | CallEnded | Denied | Notice
LAZY_SYNC_S = 0.2
"""How long an end may wait for the disk. Most need no sync of their own: the next start's takes them along,
and two in a row would have that start wait for both."""
QUICK_SYNC_S = 0.0001
"""A sync shorter than this ends before a thread could have begun it."""
_LINE = orjson.OPT_APPEND_NEWLINE | orjson.OPT_UTC_Z


class Ledger:
    """Order of calls: `append`, `sync`, `synced` and `sync_later` any number of times, `close` last.

    `append` returns when the row would survive the death of this process; `sync` and `synced`, when
    it would survive that of the machine. A start is synced before its request leaves; an end is synced
    in the background, since running streams must not wait for the disk.
    """

    def __init__(self, path: Path) -> None:
        """Open for appending.

        Raises:
            OSError: The file cannot be made or written.
        """
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self._thread = ThreadPoolExecutor(1, "ledger-sync")
        self._failure: BaseException | None = None
        self._is_unsynced = False
        self._is_quick: bool | None = None
        """Whether this disk syncs at once, as its first sync shows."""
        self._is_syncing = False
        """Whether a shared sync runs in the thread."""
        self._timer: asyncio.TimerHandle | None = None
        self._waiting: list[asyncio.Future[None]] = []
        """All who have asked for a shared sync that has not begun."""

    def append(self, row: Row) -> None:
        """Write one row as one line.

        Raises:
            OSError: The disk refuses, now or at an earlier `sync_later`.
        """
        if self._failure is not None:
            raise OSError(f"the ledger could not be synced: {self._failure}")
        line = orjson.dumps(row.__dict__, default=_fields, option=_LINE)
        while line:
            line = line[os.write(self._file, line) :]

    def sync(self) -> None:
        """Wait until the disk has every row.

        Raises:
            OSError: The disk refuses.
        """
        self._is_unsynced = False
        began_s = time.monotonic()
        os.fdatasync(self._file)
        if self._is_quick is None:
            self._is_quick = time.monotonic() - began_s < QUICK_SYNC_S

    async def synced(self) -> None:
        """The same; those that ask in one turn of the loop, or while a sync runs, share one.

        Raises:
            OSError: The disk refuses.
        """
        loop = asyncio.get_running_loop()
        if not self._waiting and not self._is_syncing:
            loop.call_soon(self._sync_shared)
        mine: asyncio.Future[None] = loop.create_future()
        self._waiting.append(mine)
        await mine

    def _sync_shared(self) -> None:
        """Sync for all that have asked so far, in the thread: streams go on while a slow disk works."""
        waiting, self._waiting = self._waiting, []
        if self._is_quick:
            self._tell(waiting, self._try_sync())
            return
        self._is_syncing = True
        work = asyncio.get_running_loop().run_in_executor(self._thread, self._try_sync)
        work.add_done_callback(lambda done: self._tell(waiting, done.result()))

    def _try_sync(self) -> OSError | None:
        """Sync; what the disk says against it."""
        try:
            self.sync()
        except OSError as error:
            return error
        return None

    def _tell(self, waiting: list[asyncio.Future[None]], failure: OSError | None) -> None:
        """A shared sync is over; one that has left in the meantime is done."""
        self._is_syncing = False
        if self._waiting:
            self._sync_shared()
        for each in waiting:
            if not each.done():
                each.set_result(None) if failure is None else each.set_exception(failure)

    def sync_later(self) -> None:
        """Have the disk take every row without waiting; a failure shows at the next `append`."""
        self._is_unsynced = True
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(LAZY_SYNC_S, self._sync_lazily)

    def _sync_lazily(self) -> None:
        """The time of the ends is over: sync in a thread, unless a start has done it."""
        self._timer = None
        if self._is_unsynced:
            self._thread.submit(self.sync).add_done_callback(self._note)

    def _note(self, done: Future[None]) -> None:
        """Keep the failure of a sync that nobody waits for."""
        self._failure = self._failure or done.exception()

    def close(self) -> None:
        """Sync once more, and close."""
        if self._timer is not None:
            self._timer.cancel()
        self._thread.shutdown()
        try:
            self.sync()
        finally:
            os.close(self._file)


def _fields(part: object) -> dict[str, object]:
    """A model within a row, for the writer of JSON: it is four times as fast as the model's own."""
    if not isinstance(part, Frozen):
        raise TypeError(f"no row holds a {type(part).__name__}")
    return part.__dict__
