"""The lease files of a host's job slots, each with what its holder's job needs.

Limits: files below `<home>/slots`; whoever looks or takes stands behind the door, giving back does not.
"""

import re
from collections.abc import Iterator
from contextlib import AbstractContextManager
from itertools import count
from pathlib import Path
from typing import Literal

from pydantic import NonNegativeInt, ValidationError

from instrument.schema.base import Frozen
from loop.atomic import write_atomic
from loop.leases import Held, Lease, hold_briefly, try_lease

FOLDER = "slots"
DOOR_S = 5.0


class Need(Frozen):
    """What a job takes of a host: `<home>/slots/job-N.json`, true while the lock beside it is held."""

    schema_version: Literal[1] = 1
    key: str
    """The label `factory.key` of its container, which a lease of this need stands for."""
    memory_bytes: NonNegativeInt = 0
    """What it may take; 0: memory is not asked."""


class JobLease(Held):
    """A job slot that this process holds."""

    def __init__(self, lease: Lease, file: Path) -> None:
        self._lease: Lease | None = lease
        self._file = file

    def release(self) -> None:
        """Give it back; may be called twice."""
        if self._lease is not None:
            # While it is held still: afterwards the file may be another's.
            self._file.unlink(missing_ok=True)
            self._lease.release()
            self._lease = None


def door(home: Path) -> AbstractContextManager[None]:
    """One process at a time looks at the slots of a home.

    Raises:
        BusyError: Others did for five seconds: their engine may hang.
    """
    return hold_briefly(home / FOLDER / "door.lock", DOOR_S, "other loops look at the job slots")


def held_needs(home: Path, label: str) -> tuple[Need | None, ...]:
    """One for each lease of this label whose holder lives; none where it cannot be read."""
    return tuple(_read(lock.with_suffix(".json")) for lock in _locks(home, label) if _is_held(lock))


def take_lease(home: Path, label: str, need: Need) -> JobLease:
    """The first lease that is free: how many there may be is not asked here.

    Raises:
        OSError: Its file cannot be written; nothing is held.
    """
    for n in count(1):
        lock = home / FOLDER / f"{_stem(label)}{n}.lock"
        lease = try_lease(lock)
        if lease is None:
            continue
        taken = JobLease(lease, lock.with_suffix(".json"))
        try:
            write_atomic(lock.with_suffix(".json"), need.model_dump_json().encode())
        except OSError:
            taken.release()
            raise
        return taken
    raise AssertionError("the numbers have no end")


def _locks(home: Path, label: str) -> Iterator[Path]:
    name = re.compile(rf"{re.escape(_stem(label))}\d+\.lock")
    return (path for path in sorted((home / FOLDER).glob("job-*.lock")) if name.fullmatch(path.name))


def _stem(label: str) -> str:
    return f"job-{label}-" if label else "job-"


def _is_held(lock: Path) -> bool:
    lease = try_lease(lock)
    if lease is not None:
        lease.release()
    return lease is None


def _read(file: Path) -> Need | None:
    try:
        return Need.model_validate_json(file.read_bytes())
    except (OSError, ValidationError):
        return None
