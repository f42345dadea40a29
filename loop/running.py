"""The tasks that are under way on a repo, each with what it may touch.

Limits: files below `<home>/running/<repo>`, valid only while the process that wrote one holds the
lock beside it.
"""

import os
import socket
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Literal, Self

from pydantic import AwareDatetime, PositiveInt, ValidationError

from instrument.schema.base import Frozen
from instrument.schema.vocabulary import WaitedFor
from loop.atomic import write_atomic
from loop.errors import BusyError
from loop.home import make_private
from loop.leases import Lease, hold_briefly, try_lease
from loop.overlap import find_overlap
from loop.slots import try_task_slot
from loop.waiting import Waiting

TIMEOUT_S = 30


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


def this_process(task_id: str, files: Sequence[str], generated: Sequence[str], now: datetime) -> Running:
    """What this process publishes of the task that it is about to carry on."""
    return Running(
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
    pid: int | None = None
    host: str | None = None

    def line(self, task_id: str) -> str:
        """Why `task_id` has to wait."""
        who = f" (process {self.pid} on {self.host})" if self.pid else ""
        return f"{task_id} waits for {self.task_id}{who}: both may touch {self.where}"


class Claim:
    """A task's place among those under way, with its slot; the end of a `with` block gives both back."""

    def __init__(self, home: Path, repo: str, file: Path, leases: tuple[Lease, ...]) -> None:
        self._home = home
        self._repo = repo
        self._file = file
        self._leases = leases

    def release(self) -> None:
        """Stand in nobody's way any more; may be called twice."""
        if not self._leases:
            return
        with suppress(BusyError), _door(self._home, self._repo):
            _forget(self._file)
        # Without the door the file stays: its lock is free below, so that the next look removes it.
        for lease in self._leases:
            lease.release()
        self._leases = ()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


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
    folder = make_private(home / "running" / repo)
    with _door(home, repo):
        blocker = _find_blocker(folder, mine.task_id, mine.files, tracked, mine.generated)
        if blocker is not None:
            return Waiting(blocker.line(mine.task_id), WaitedFor.TASK)
        slot = try_task_slot(home, repo, count)
        if slot is None:
            ids = ", ".join(file.stem for file in _under_way(folder)) or repo
            line = f"{mine.task_id} waits for a task slot of {repo} (there are {count}): {ids}"
            return Waiting(line, WaitedFor.SLOT)
        file = folder / f"{mine.task_id}.json"
        lease = try_lease(_lock_of(file))
        if lease is None:
            slot.release()
            raise BusyError(f"{mine.task_id}: another loop carries this task on; wait for it")
        try:
            write_atomic(file, mine.model_dump_json().encode())
        except OSError:
            lease.release()
            slot.release()
            raise
        return Claim(home, repo, file, (lease, slot))


def _find_blocker(
    folder: Path, task: str, files: Sequence[str], tracked: Iterable[str], generated: Sequence[str]
) -> Blocker | None:
    paths = tuple(tracked)
    for file in _under_way(folder):
        if file.stem == task:
            continue
        try:
            other = Running.model_validate_json(file.read_bytes())
        except (OSError, ValidationError):
            return Blocker(file.stem, "paths that cannot be told: its file is unreadable")
        # Two bases may call different paths generated: then none is taken for it.
        both = generated if tuple(generated) == other.generated else ()
        if where := find_overlap(files, other.files, paths, generated=both):
            return Blocker(other.task_id, where, other.pid, other.host)
    return None


def _under_way(folder: Path) -> Iterator[Path]:
    """The files whose process lives, in order; those of dead ones are removed. Only behind the door."""
    for file in sorted(folder.glob("[!.]*.json")):
        lease = try_lease(_lock_of(file))
        if lease is None:
            yield file
            continue
        with lease:
            _forget(file)


def _forget(file: Path) -> None:
    # The lock file too: everybody opens it behind the door, so that nobody holds the removed one.
    file.unlink(missing_ok=True)
    _lock_of(file).unlink(missing_ok=True)


def _lock_of(file: Path) -> Path:
    """Not the task's own lock: a look takes a free one for a moment, and a loop that starts would see it."""
    return file.with_suffix(".lock")


def _door(home: Path, repo: str) -> AbstractContextManager[None]:
    what = f"other loops look at the running tasks of {repo}"
    return hold_briefly(home / "running" / f"{repo}.lock", TIMEOUT_S, what)
