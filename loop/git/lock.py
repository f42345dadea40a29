"""The lock of one repository on this host: held for fetch, candidate refs and merge.

Limits: one machine; the lock ends with the process that holds it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from loop.git.errors import RepositoryBusyError


@contextmanager
def repo_lock(home: Path, name: str, timeout_s: float) -> Iterator[None]:
    """Hold the lock of the repository `name`, waiting `timeout_s` for it.

    Raises:
        RepositoryBusyError: Another process held it all the time.
    """
    folder = home / "repos"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    lock = FileLock(folder / f"{name}.lock", timeout=timeout_s, mode=0o600)
    try:
        lock.acquire()
    except Timeout as error:
        raise RepositoryBusyError(name, timeout_s) from error
    try:
        yield
    finally:
        lock.release()
