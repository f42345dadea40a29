"""`events.jsonl`: the record, whole lines, appended by this one writer.

Limits: nothing is decided from it; the caller holds the task's lock.
"""

import errno
import os
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import orjson
from pydantic import ValidationError

from instrument.schema.events import (
    EVENT,
    AgentDiffered,
    AnyEvent,
    AttemptCancelled,
    AttemptInterrupted,
    AttemptStarted,
    CheckEnded,
    CheckFlaky,
    Continued,
    Event,
    JobEnded,
    LadderStepped,
    ModelCallEnded,
    NoticeRaised,
    RecordSetAside,
    RequestDenied,
    ReviewEnded,
    RulingRecorded,
    TornTail,
    Transition,
    Waited,
)
from instrument.schema.vocabulary import Purpose
from loop.atomic import PRIVATE_FILE
from loop.store import EVENTS_FILE

MAX_N = 2**53
"""A count that JSON readers hold exactly; a damaged line beyond it could not be counted on from."""


class Journal:
    """Appends events; one that an earlier process wrote before it died is not written twice."""

    def __init__(
        self, folder: Path, *, task_id: str, run_id: str, purpose: Purpose, now: Callable[[], datetime]
    ) -> None:
        """Open the record, set a torn tail or a damaged file aside, and say so in it."""
        self._path = folder / EVENTS_FILE
        self._stamp: dict[str, Any] = {"task_id": task_id, "run_id": run_id, "purpose": purpose}
        self._now = now
        self._n = 0
        self._written: set[str] = set()
        damage = self._mend()
        self._descriptor = os.open(
            self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, PRIVATE_FILE
        )
        for kind, fields in damage:
            self.append(kind, **fields)

    def append(self, kind: type[Event], **fields: object) -> None:
        """Write one whole line; an event with an identity that stands already is dropped.

        Raises:
            OSError: It cannot be written; nothing of it is.
        """
        stamped: dict[str, Any] = {"n": self._n + 1, "at_utc": self._now(), **self._stamp, **fields}
        event = EVENT.validate_python(kind(**stamped))
        name = _identity(event)
        if name is not None and name in self._written:
            return
        self._write(orjson.dumps(event.model_dump(mode="json")) + b"\n")
        self._n += 1
        if name is not None:
            self._written.add(name)

    def _write(self, line: bytes) -> None:
        written = os.write(self._descriptor, line)
        if written < len(line):
            # The disk is full: without this, the next line would be glued to what stands of this one.
            os.truncate(self._descriptor, os.fstat(self._descriptor).st_size - written)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self._path))
        os.fsync(self._descriptor)

    def close(self) -> None:
        """Give the file back; may be called twice."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _mend(self) -> list[tuple[type[Event], dict[str, object]]]:
        """Read what stands; return the events that tell of damage."""
        try:
            data = self._path.read_bytes()
        except FileNotFoundError:
            return []
        *lines, tail = data.split(b"\n")
        for number, line in enumerate(lines, start=1):
            event = _parse(line)
            if event is None:
                return [(RecordSetAside, {"path": self._set_aside("damaged"), "bad_line": number})]
            self._n = max(self._n, event.n)
            name = _identity(event)
            if name is not None:
                self._written.add(name)
        if not tail:
            return []
        aside = self._new_name("torn")
        aside.touch(mode=PRIVATE_FILE)
        aside.write_bytes(tail)
        os.truncate(self._path, len(data) - len(tail))
        return [(TornTail, {"path": aside.name, "size_bytes": len(tail)})]

    def _set_aside(self, why: str) -> str:
        self._n = 0
        self._written.clear()
        aside = self._new_name(why)
        self._path.rename(aside)
        return aside.name

    def _new_name(self, why: str) -> Path:
        n = 1
        while (aside := self._path.with_name(f"events.{why}-{n}.jsonl")).exists():
            n += 1
        return aside


def _parse(line: bytes) -> AnyEvent | None:
    try:
        event = EVENT.validate_json(line)
    except ValidationError:
        return None
    return event if event.n < MAX_N else None


def _identity(event: AnyEvent) -> str | None:
    """What makes an event the same as one that was written before a crash; none: it always counts."""
    match event:
        case AttemptStarted() | AttemptInterrupted() | AttemptCancelled() | JobEnded() | ReviewEnded():
            return f"{event.kind}:{event.key}"
        case ModelCallEnded():
            return f"{event.kind}:{event.key}:{event.call}"
        case CheckEnded() | CheckFlaky():
            return f"{event.kind}:{event.key}:{event.name}"
        case NoticeRaised():
            return f"{event.kind}:{event.key}:{event.what}"
        case AgentDiffered():
            return f"{event.kind}:{event.key}:{event.what}:{event.found}"
        case RequestDenied():
            return f"{event.kind}:{event.key}:{event.reason}"
        case Transition() | Continued() | LadderStepped():
            return f"{event.kind}:{event.state_seq}"
        case RulingRecorded():
            return f"{event.kind}:{event.stop}:{event.finding}:{event.digest}"
        case Waited() if event.ended_utc is not None:
            return f"{event.kind}:{event.what}:{event.ended_utc.isoformat()}"
        case _:
            return None
