"""Folds a task folder's `events.jsonl` into figures.

Reads line by line and keeps sums only; a line that cannot be read is counted and
named, never skipped in silence.
"""

import fnmatch
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from operator import add, attrgetter
from pathlib import Path
from typing import Any, BinaryIO

from instrument.decoding import DecodeError
from instrument.figures import Held, Intervention
from instrument.lines import EVENT_LINES
from instrument.schema.events import (
    AgentDiffered,
    Allowed,
    AnyEvent,
    AttemptStarted,
    Continued,
    Granted,
    JobEnded,
    ModelCallEnded,
    NoticeRaised,
    RecordSetAside,
    RulingRecorded,
    RunEnded,
    RunStarted,
    TaskEdited,
    TornTail,
    Transition,
    Waited,
)
from instrument.schema.usage import Usage
from instrument.schema.vocabulary import NoticeKind, Purpose, Role, StopReason
from instrument.timeline import Timeline

_DAMAGED = "events.damaged-*.jsonl"
"""What the writer calls a file that it set aside for a bad line in its middle."""
_SMALL_BYTES = 8 * 1024 * 1024
_LINE_BYTES = 1024 * 1024
"""No event comes near it; a longer line is damage and must not fill the memory."""
_BUCKETS = tuple(Usage.model_fields)
_TOKENS = attrgetter(*_BUCKETS)


@dataclass(slots=True)
class Job:
    """What the record says of one job, by its key; `end` is none where it was never collected."""

    key: str
    role: Role
    round: int
    end: JobEnded | None = None
    seen: set[int] = field(default_factory=set)
    """Numbers of its calls."""
    tokens: tuple[int, ...] = (0,) * len(_BUCKETS)
    """By bucket, in the order of `Usage`."""
    calls_microusd: int = 0
    has_unsettled: bool = False
    models: dict[tuple[str | None, str | None], None] = field(default_factory=dict)
    """Pairs of model asked and answered, in order of first call."""
    other_models: dict[str, str] = field(default_factory=dict)
    """Models that answered in place of the one asked for: theirs to its id."""
    version_pinned: str | None = None
    """Of the program, where another one ran."""

    @property
    def calls(self) -> int:
        """How many of its calls were read."""
        return len(self.seen)

    @property
    def usage(self) -> Usage:
        """Tokens of its calls, by bucket."""
        return Usage(**dict(zip(_BUCKETS, self.tokens, strict=True)))


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
    interventions: Counter[Intervention] = field(default_factory=Counter)
    rulings_by_model: Counter[str] = field(default_factory=Counter)
    """In a person's stead; one that no model was named for counts under its step."""
    held: list[Held] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    """Clauses that say what the files lack; empty: they are whole."""

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
        columns = zip(*(job.tokens for job in self.jobs.values()), strict=True)
        return Usage(**dict(zip(_BUCKETS, map(sum, columns), strict=False)))

    @property
    def has_unsettled(self) -> bool:
        """Whether a call was started whose end was never written: its tokens are unknown."""
        return any(job.has_unsettled for job in self.jobs.values())


def read_record(folder: Path, timeline: Timeline) -> Record:
    """Read a task folder's events, those of files that were set aside as damaged first.

    An absent or unreadable file adds nothing to the figures and a clause to `missing`. The times go
    to the timeline, which may be that of earlier runs too.
    """
    fold = _Fold(timeline)
    # Texts and not paths: this runs ten thousand times.
    names = os.listdir(folder)  # noqa: PTH208 - see above
    for name in (*fnmatch.filter(sorted(names), _DAMAGED), "events.jsonl"):
        try:
            with open(f"{folder}/{name}", "rb") as file:  # noqa: PTH123 - see above
                fold.file(file, name)
        except FileNotFoundError:
            fold.record.missing.append(f"{name} is missing")
        except OSError as error:
            fold.record.missing.append(f"{name} cannot be opened ({error.strerror})")
    return fold.record


class _Fold:
    """Takes events one by one; kinds without a figure have no method."""

    def __init__(self, timeline: Timeline) -> None:
        self.record = Record()
        self.timeline = timeline

    def file(self, file: BinaryIO, name: str) -> None:
        """Every line of one file: at once where it is small and whole, else line by line."""
        if os.fstat(file.fileno()).st_size <= _SMALL_BYTES:
            data = file.read()
            if data.endswith(b"\n"):
                with suppress(DecodeError):
                    self._take(EVENT_LINES.decode_lines(data))
                    return
            file.seek(0)
        self._take(self._readable(file, name))

    def _take(self, events: Iterable[AnyEvent]) -> None:
        event: AnyEvent | None = None
        for event in events:
            if handler := _HANDLERS.get(type(event)):
                handler(self, event)
            self.timeline.last = event.at_utc
        if event is not None:
            self.record.purpose = event.purpose

    def _readable(self, file: BinaryIO, name: str) -> Iterator[AnyEvent]:
        """Those lines that can be read; the others are counted and named."""
        bad: list[int] = []
        number, line = 0, b""
        for number, line in enumerate(iter(partial(file.readline, _LINE_BYTES), b""), start=1):
            try:
                yield EVENT_LINES.decode(line)
            except DecodeError:
                bad.append(number)
        if bad and bad[-1] == number and not line.endswith(b"\n"):
            bad.pop()
            self.record.missing.append(f"the last line of {name} is cut")
        if bad:
            which = f"line {bad[0]}" if len(bad) == 1 else f"{len(bad)} lines (the first: {bad[0]})"
            self.record.missing.append(f"{which} of {name} cannot be read")

    def _job_of(self, event: ModelCallEnded | JobEnded | AgentDiffered) -> Job:
        job = self.record.jobs.get(event.key)
        if job is None:
            job = self.record.jobs[event.key] = Job(event.key, event.role, event.round)
        return job

    def call(self, event: ModelCallEnded) -> None:
        # A crash between these lines and the state makes the loop write them again.
        job = self._job_of(event)
        if event.call in job.seen:
            return
        job.seen.add(event.call)
        job.tokens = tuple(map(add, job.tokens, _TOKENS(event.usage)))
        job.calls_microusd += event.cost_microusd
        job.has_unsettled |= not event.settled
        job.models[(event.model_asked, event.model_answered)] = None

    def job(self, event: JobEnded) -> None:
        # The last one counts: after a crash a job may be collected twice under its key.
        self._job_of(event).end = event

    def difference(self, event: AgentDiffered) -> None:
        job = self._job_of(event)
        match event.what:
            case "model":
                job.other_models[event.found] = event.asked
            case "version":
                job.version_pinned = event.asked

    def notice(self, event: NoticeRaised) -> None:
        self.record.notices[event.key, event.what] = None

    def transition(self, event: Transition) -> None:
        if event.stop is not None:
            self.record.stops[event.state_seq] = event.stop
        self.timeline.transition(event)

    def waited(self, event: Waited) -> None:
        if event.who or event.released_by:
            self.record.held.append(Held(**{name: getattr(event, name) for name in Held.model_fields}))
        self.timeline.waited(event)

    def continued(self, event: Continued) -> None:
        if event.how in ("restart", "auto_merge"):
            self.intervene(event.how)
        self.timeline.continued(event)

    def ruling(self, event: RulingRecorded) -> None:
        if event.by is None:
            self.intervene("ruling")
        else:
            self.record.rulings_by_model[event.model or event.by] += 1

    def intervene(self, kind: Intervention) -> None:
        self.record.interventions[kind] += 1

    def torn(self, _: TornTail) -> None:
        self.record.missing.append("a cut line of events.jsonl was set aside")

    def set_aside(self, event: RecordSetAside) -> None:
        clause = f"events.jsonl was set aside as {event.path} for its line {event.bad_line}"
        self.record.missing.append(clause)


def _on_timeline(take: Callable[[Timeline, Any], None]) -> Callable[[_Fold, Any], None]:
    return lambda fold, event: take(fold.timeline, event)


def _person(kind: Intervention) -> Callable[[_Fold, Any], None]:
    return lambda fold, _: fold.intervene(kind)


_HANDLERS = EVENT_LINES.by_type(
    {
        RunStarted: _on_timeline(Timeline.run_started),
        RunEnded: _on_timeline(Timeline.run_ended),
        AttemptStarted: _on_timeline(Timeline.attempt_started),
        Waited: _Fold.waited,
        Transition: _Fold.transition,
        Continued: _Fold.continued,
        ModelCallEnded: _Fold.call,
        JobEnded: _Fold.job,
        AgentDiffered: _Fold.difference,
        NoticeRaised: _Fold.notice,
        RulingRecorded: _Fold.ruling,
        Granted: _person("grant"),
        Allowed: _person("allow"),
        TaskEdited: _person("edit"),
        TornTail: _Fold.torn,
        RecordSetAside: _Fold.set_aside,
    }
)
"""What becomes of each kind of line; the others carry no figure of a report."""
