"""A lock file as a lease: it ends with the process that holds it.

Limits: one machine; makes the lock's folder, writes nothing into the file.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

from filelock import FileLock, Timeout

from loop.atomic import PRIVATE_FILE
from loop.errors import BusyError
from loop.home import make_private


class Held(ABC):
    """What is held until it is given back; the end of a `with` block does that."""

    @abstractmethod
    def release(self) -> None:
        """Give it back; may be called twice."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


class Lease(Held):
    """A lock that this process holds."""

    def __init__(self, lock: FileLock) -> None:
        self._lock = lock

    def release(self) -> None:
        """Give it back; may be called twice."""
        self._lock.release()


def try_lease(path: Path) -> Lease | None:
    """Take the lock at `path` without waiting; none: somebody holds it, in this process or another."""
    return _take(path, 0)


@contextmanager
def hold_briefly(path: Path, timeout_s: float, what: str) -> Iterator[None]:
    """Hold the lock at `path` for a block that is over in a moment.

    Args:
        path: The lock file.
        timeout_s: How long to wait for it.
        what: What others do meanwhile, for the sentence.

    Raises:
        BusyError: Another process held it all the time.
    """
    lease = _take(path, timeout_s)
    if lease is None:
        raise BusyError(f"{what} for more than {timeout_s:g} s ({path}); run the command again")
    with lease:
        yield


def _take(path: Path, timeout_s: float) -> Lease | None:
    make_private(path.parent)
    lock = FileLock(path, timeout=timeout_s, mode=PRIVATE_FILE, thread_local=False)
    try:
        lock.acquire()
    except Timeout:
        return None
    return Lease(lock)
