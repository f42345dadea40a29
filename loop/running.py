"""The tasks that are under way on a repo, each with what it may touch.

Limits: files below `<home>/running/<repo>`. One is valid while the process that wrote it holds the
lock beside it; one of a driver that outlives its processes is, until it is withdrawn.
"""

import os
import socket
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal

from pydantic import AwareDatetime, PositiveInt, ValidationError

from instrument.schema.base import Frozen
from instrument.schema.vocabulary import WaitedFor
from loop.atomic import write_atomic
from loop.errors import BusyError
from loop.leases import Held, Lease, try_lease
from loop.overlap import find_overlap
from loop.runningfiles import door, driver_of, file_of, forget, lock_of, under_way
from loop.waiting import Waiting


class Running(Frozen):
    """`<home>/running/<repo>/<task-id>.json`."""

    schema_version: Literal[1] = 1
    task_id: str
    pid: PositiveInt
    host: str
    files: tuple[str, ...]
    """Gitignore patterns of every path that the task may touch, allowed protected ones too."""
    generated: tuple[str, ...] = ()
    since_utc: AwareDatetime
    driver: str = ""
    """Who carries the task on over many processes, such as `engine`; empty: the one process does."""


def this_process(
    task_id: str, files: Sequence[str], generated: Sequence[str], now: datetime, *, driver: str = ""
) -> Running:
    """What this process publishes of the task that it, or its driver, is about to carry on."""
    return Running(
        driver=driver,
        task_id=task_id,
        pid=os.getpid(),
        host=socket.gethostname(),
        files=tuple(dict.fromkeys(files)),
        generated=tuple(generated),
        since_utc=now,
    )


@dataclass(frozen=True, slots=True)
class Blocker:
    """A task under way that may touch the same path."""

    task_id: str
    where: str
    """A path or two patterns, in words; of a file that cannot be read: that it is not known."""
    who: str = ""
    """The process or the driver that carries it on; empty: not known."""

    def line(self, task_id: str) -> str:
        """Why `task_id` has to wait."""
        who = f" ({self.who})" if self.who else ""
        return f"{task_id} waits for {self.task_id}{who}: both may touch {self.where}"


class Claim(Held):
    """A task's place among those under way."""

    def __init__(self, home: Path, repo: str, file: Path, lease: Lease) -> None:
        self._home = home
        self._repo = repo
        self._file = file
        self._lease: Lease | None = lease

    def release(self) -> None:
        """Stand in nobody's way any more; may be called twice."""
        if self._lease is None:
            return
        with suppress(BusyError), door(self._home, self._repo):
            forget(self._file)
        # Without the door the file stays: its lock is free below, so that the next look removes it.
        self._lease.release()
        self._lease = None


def claim(home: Path, repo: str, mine: Running, tracked: Iterable[str], *, count: int) -> Claim | Waiting:
    """Publish the task, unless one under way may touch the same or all of the repo's slots are taken.

    Looking and publishing are one step under the repo's own lock: of two loops that start at once
    and overlap, one gets `Waiting`.

    Args:
        home: The home that all loops share.
        repo: `[repo] name`.
        mine: From `this_process`.
        tracked: Paths of the branch's tip.
        count: How many tasks the repo may have under way.

    Raises:
        BusyError: The lock was not free for half a minute, or another process carries this task on.
        OSError: The file cannot be written; nothing is held.
    """
    file = file_of(home, repo, mine.task_id)
    with door(home, repo):
        valid = under_way(file.parent)
        waiting = None if file in valid else _refusal(valid, repo, mine, tracked, count)
        if waiting is not None:
            return waiting
        lease = None if file in valid else try_lease(lock_of(file))
        if lease is None:
            who = f"the {driver}" if (driver := driver_of(file)) else "another loop"
            raise BusyError(f"{mine.task_id}: {who} carries this task on; wait for it")
        try:
            write_atomic(file, mine.model_dump_json().encode())
        except OSError:
            lease.release()
            raise
        return Claim(home, repo, file, lease)


def claim_durable(
    home: Path, repo: str, mine: Running, tracked: Iterable[str], *, count: int
) -> Waiting | None:
    """Publish the task until `withdraw`, whatever becomes of this process; for the rest as `claim`.

    Doing it again is no error: the same paths stay as they are, others are looked at anew, and where
    those are refused the first claim stands.

    Args:
        home: The home that all loops share.
        repo: `[repo] name`.
        mine: With its driver.
        tracked: Paths of the branch's tip.
        count: How many tasks the repo may have under way.

    Raises:
        BusyError: The lock was not free for half a minute.
        OSError: The file cannot be written; what was there stands.
    """
    if not mine.driver:
        raise ValueError("a claim that outlives its process needs a driver")
    file = file_of(home, repo, mine.task_id)
    with door(home, repo):
        valid = under_way(file.parent)
        if file in valid and not driver_of(file):
            return Waiting(f"{mine.task_id} waits for the loop that carries it on", WaitedFor.TASK)
        old = _read(file) if file in valid else None
        if old is not None and _means(old) == _means(mine):
            return None
        others = [each for each in valid if each != file]
        waiting = _refusal(others, repo, mine, tracked, count)
        if waiting is None:
            write_atomic(file, mine.model_dump_json().encode())
        return waiting


def withdraw(home: Path, repo: str, task_id: str) -> None:
    """Take a durable claim away; absent is no error, and one of a process is left alone.

    Raises:
        BusyError: The lock was not free for half a minute.
    """
    file = file_of(home, repo, task_id)
    with door(home, repo):
        if driver_of(file):
            forget(file)


def _refusal(
    others: Sequence[Path], repo: str, mine: Running, tracked: Iterable[str], count: int
) -> Waiting | None:
    """Why the task cannot be under way beside these; none: it can."""
    blocker = _find_blocker(others, mine, tuple(tracked))
    if blocker is not None:
        return Waiting(blocker.line(mine.task_id), WaitedFor.TASK)
    if len(others) < count:
        return None
    ids = ", ".join(other.stem for other in others)
    line = f"{mine.task_id} waits for a task slot of {repo} (there are {count}): {ids}"
    return Waiting(line, WaitedFor.SLOT)


def _find_blocker(others: Iterable[Path], mine: Running, paths: tuple[str, ...]) -> Blocker | None:
    for file in others:
        other = _read(file)
        if other is None:
            return Blocker(file.stem, "paths that cannot be told: its file is unreadable")
        # Two bases may call different paths generated: then none is taken for it.
        both = mine.generated if mine.generated == other.generated else ()
        if where := find_overlap(mine.files, other.files, paths, generated=both):
            return Blocker(other.task_id, where, _who(other))
    return None


def _read(file: Path) -> Running | None:
    try:
        return Running.model_validate_json(file.read_bytes())
    except (OSError, ValidationError):
        return None


def _who(running: Running) -> str:
    if running.driver:
        return f"driven by the {running.driver}"
    return f"process {running.pid} on {running.host}"


def _means(running: Running) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """What a claim says, whoever wrote it and when."""
    return running.driver, running.files, running.generated
