"""Folds a task folder's `events.jsonl` into figures.

Reads line by line and keeps sums only; a line that cannot be read is counted and
named, never skipped in silence.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from pydantic import ValidationError

from instrument.schema.events import (
    EVENT,
    AgentDiffered,
    Allowed,
    AnyEvent,
    AttemptCancelled,
    AttemptInterrupted,
    AttemptStarted,
    CheckEnded,
    CheckFlaky,
    Continued,
    Granted,
    JobEnded,
    ModelCallEnded,
    NoticeRaised,
    RecordSetAside,
    RequestDenied,
    ReviewEnded,
    RulingRecorded,
    RunEnded,
    RunStarted,
    TaskEdited,
    TornTail,
    Transition,
)
from instrument.schema.usage import Usage
from instrument.schema.vocabulary import NoticeKind, Purpose, Role, StopReason

_DAMAGED = "events.damaged-*.jsonl"
"""What the writer calls a file that it set aside for a bad line in its middle."""
_LINE_BYTES = 1024 * 1024
"""No event comes near it; a longer line is damage and must not fill the memory."""


@dataclass(slots=True)
class Job:
    """What the record says of one job, by its key; `end` is none where it was never collected."""

    key: str
    role: Role
    round: int
    end: JobEnded | None = None
    calls: int = 0
    usage: Usage = field(default_factory=Usage)
    calls_microusd: int = 0
    has_unsettled: bool = False
    models: dict[tuple[str | None, str | None], None] = field(default_factory=dict)
    """Pairs of model asked and answered, in order of first call."""
    other_models: dict[str, str] = field(default_factory=dict)
    """Models that answered in place of the one asked for: theirs to its id."""
    version_pinned: str | None = None
    """Of the program, where another one ran."""


@dataclass(slots=True)
class Record:
    """The figures of one task folder's events; every sum is over what could be read."""

    purpose: Purpose | None = None
    jobs: dict[str, Job] = field(default_factory=dict)
    """By key, in order of first appearance."""
    stops: dict[int, StopReason] = field(default_factory=dict)
    """By the state's sequence number, so that a transition written twice counts once."""
    notices: dict[tuple[str, NoticeKind], None] = field(default_factory=dict)
    """Job's key and kind, in order of first appearance."""
    missing: list[str] = field(default_factory=list)
    """Clauses that say what the files lack; empty: they are whole."""
    seen: set[tuple[str, int]] = field(default_factory=set)

    @property
    def calls_microusd(self) -> int:
        """The cost of all model calls read, each counted once."""
        return sum(job.calls_microusd for job in self.jobs.values())

    @property
    def calls(self) -> int:
        """How many model calls were read."""
        return sum(job.calls for job in self.jobs.values())

    @property
    def usage(self) -> Usage:
        """Tokens of all model calls read, by bucket."""
        return sum((job.usage for job in self.jobs.values()), Usage())

    @property
    def has_unsettled(self) -> bool:
        """Whether a call was started whose end was never written: its tokens are unknown."""
        return any(job.has_unsettled for job in self.jobs.values())


def read_record(folder: Path) -> Record:
    """Read a task folder's events, those of files that were set aside as damaged first.

    An absent or unreadable file adds nothing to the figures and a clause to `missing`.
    """
    record = Record()
    for path in (*sorted(folder.glob(_DAMAGED)), folder / "events.jsonl"):
        try:
            with path.open("rb") as file:
                _fold(record, file, path.name)
        except FileNotFoundError:
            record.missing.append(f"{path.name} is missing")
        except OSError as error:
            record.missing.append(f"{path.name} cannot be opened ({error.strerror})")
    return record


def _fold(record: Record, file: BinaryIO, name: str) -> None:
    bad: list[int] = []
    is_cut = False
    number = 0
    for number, line in enumerate(_lines(file), start=1):
        is_cut = not line.endswith(b"\n")
        try:
            event = EVENT.validate_json(line)
        except ValidationError:
            bad.append(number)
        else:
            _add(record, event)
    if is_cut and bad and bad[-1] == number:
        bad.pop()
        record.missing.append(f"the last line of {name} is cut")
    if bad:
        which = f"line {bad[0]}" if len(bad) == 1 else f"{len(bad)} lines (the first: {bad[0]})"
        record.missing.append(f"{which} of {name} cannot be read")


def _lines(file: BinaryIO) -> Iterator[bytes]:
    while line := file.readline(_LINE_BYTES):
        yield line


def _add(record: Record, event: AnyEvent) -> None:
    record.purpose = event.purpose
    match event:
        case ModelCallEnded():
            _add_call(record, event)
        case JobEnded():
            # The last one counts: after a crash a job may be collected twice under its key.
            job = record.jobs.setdefault(event.key, Job(event.key, event.role, event.round))
            job.end = event
        case AgentDiffered():
            _add_difference(record, event)
        case NoticeRaised():
            record.notices[event.key, event.what] = None
        case Transition():
            if event.stop is not None:
                record.stops[event.state_seq] = event.stop
        case TornTail():
            record.missing.append("a cut line of events.jsonl was set aside")
        case RecordSetAside():
            record.missing.append(f"events.jsonl was set aside as {event.path} for its line {event.bad_line}")
        case (
            RunStarted()
            | RunEnded()
            | AttemptStarted()
            | AttemptInterrupted()
            | AttemptCancelled()
            | CheckEnded()
            | RequestDenied()
            | ReviewEnded()
            | Continued()
            | RulingRecorded()
            | Granted()
            | Allowed()
            | CheckFlaky()
            | TaskEdited()
        ):
            pass  # they carry no figure of the report


def _add_call(record: Record, event: ModelCallEnded) -> None:
    # A crash between these lines and the state makes the loop write them again.
    if (event.key, event.call) in record.seen:
        return
    record.seen.add((event.key, event.call))
    job = record.jobs.setdefault(event.key, Job(event.key, event.role, event.round))
    job.calls += 1
    job.usage = job.usage + event.usage
    job.calls_microusd += event.cost_microusd
    job.has_unsettled = job.has_unsettled or not event.settled
    job.models[(event.model_asked, event.model_answered)] = None


def _add_difference(record: Record, event: AgentDiffered) -> None:
    job = record.jobs.setdefault(event.key, Job(event.key, event.role, event.round))
    match event.what:
        case "model":
            job.other_models[event.found] = event.asked
        case "version":
            job.version_pinned = event.asked
