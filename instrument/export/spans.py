"""A task as spans: the task, its steps, their jobs, the model calls of each.

Reads events and ledgers of one task at a time. The ids are made of the task's run and the step's key, so that
a span that is exported again has the id that it had. Limits: a job's own beginning is not on record; it is
the time of its collection less its run time, or its first call where that was earlier, and not before its
step.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path

from instrument.found import FoundTask
from instrument.ledger import read_ledger
from instrument.lines import EVENT_LINES, readable
from instrument.schema.events import (
    AnyEvent,
    AttemptCancelled,
    AttemptInterrupted,
    AttemptStarted,
    JobEnded,
    Transition,
)
from instrument.schema.ledger import ModelCall
from instrument.schema.vocabulary import ProviderName

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_US = timedelta(microseconds=1)

Value = str | int | bool


@dataclass(frozen=True, slots=True)
class Span:
    """One span; times are nanoseconds since 1970."""

    name: str
    trace_id: bytes
    span_id: bytes
    parent_id: bytes | None
    start_ns: int
    end_ns: int
    attributes: dict[str, Value]
    is_call: bool = False
    """It asked another service."""
    error: str | None = None
    """What went wrong; none: nothing did."""


def spans_of(task: FoundTask) -> Iterator[Span]:
    """Every span of a task, each run a trace of its own; parents come before their children."""
    for folder in task.folders:
        events = list(_events(folder / "events.jsonl"))
        if events:
            yield from _Run(folder, events).spans()


def _events(file: Path) -> Iterator[AnyEvent]:
    """What can be read of a record."""
    try:
        lines = file.read_bytes().splitlines()
    except OSError:
        return
    yield from map(EVENT_LINES.model_of, readable(lines))


@dataclass(slots=True)
class _Step:
    """One effect, as far as it is known."""

    key: str
    start: datetime
    end: datetime
    attributes: dict[str, Value]
    error: str | None = None
    job: JobEnded | None = None


@dataclass(slots=True)
class _Run:
    folder: Path
    events: list[AnyEvent]
    steps: dict[str, _Step] = field(default_factory=dict)

    def spans(self) -> Iterator[Span]:
        first, last = self.events[0], self.events[-1]
        trace = _digest(first.run_id, self.folder.name)[:16]
        root = _digest(first.run_id, self.folder.name, "task")[:8]
        attributes: dict[str, Value] = {
            "factory.task_id": first.task_id,
            "factory.purpose": str(first.purpose),
        }
        end = next((event for event in reversed(self.events) if isinstance(event, Transition)), None)
        if end is not None:
            attributes |= {"factory.cost_microusd": end.spent_microusd, "factory.stage": str(end.to_stage)}
            attributes |= {"factory.lower_bound": end.lower_bound}
        error = str(end.stop) if end is not None and end.stop else None
        yield Span(
            f"task {first.task_id}",
            trace,
            root,
            None,
            _ns(first.at_utc),
            _ns(last.at_utc),
            attributes,
            error=error,
        )
        for event in self.events:
            self._take(event)
        for step in self.steps.values():
            yield from self._step(step, trace, root)

    def _take(self, event: AnyEvent) -> None:
        match event:
            case AttemptStarted():
                name: dict[str, Value] = {"factory.effect": str(event.effect), "factory.round": event.round}
                self.steps.setdefault(event.key, _Step(event.key, event.at_utc, event.at_utc, name))
            case JobEnded() if event.key in self.steps:
                self.steps[event.key].job = event
                self.steps[event.key].end = event.at_utc
            case Transition() if event.key in self.steps:
                self.steps[event.key].end = event.at_utc
                self.steps[event.key].attributes["factory.outcome"] = str(event.outcome)
                self.steps[event.key].error = str(event.stop) if event.stop else None
            case AttemptInterrupted() | AttemptCancelled() if event.key in self.steps:
                self.steps[event.key].end = event.at_utc
                self.steps[event.key].error = str(event.kind)
            case _:
                pass

    def _step(self, step: _Step, trace: bytes, root: bytes) -> Iterator[Span]:
        span_id = _digest(trace.hex(), step.key)[:8]
        start_ns = _ns(step.start)
        name = str(step.attributes["factory.effect"])
        attributes = step.attributes | {"factory.key": step.key}
        yield Span(name, trace, span_id, root, start_ns, _ns(step.end), attributes, error=step.error)
        if step.job is None:
            return
        job, job_id = step.job, _digest(trace.hex(), step.key, "job")[:8]
        calls = [_call(call, trace, job_id, step.key) for call in self._calls(job)]
        length_ns = job.duration_ms * 1_000_000
        began_ns = max(start_ns, min([_ns(job.at_utc) - length_ns, *(call.start_ns for call in calls)]))
        yield Span(
            f"{job.role} job",
            trace,
            job_id,
            span_id,
            began_ns,
            began_ns + length_ns,
            _job_attributes(job),
            error="lost" if job.lost else None,
        )
        yield from calls

    def _calls(self, job: JobEnded) -> tuple[ModelCall, ...]:
        try:
            return read_ledger((self.folder / job.folder / "ledger.jsonl").read_bytes()).calls
        except OSError:
            return ()


def _job_attributes(job: JobEnded) -> dict[str, Value]:
    found = {
        "factory.runtime": job.runtime,
        "factory.runtime_version": job.version,
        "factory.ended": job.ended,
        "process.exit.code": job.exit_code,
        "factory.peak_memory_bytes": job.peak_memory_bytes,
        "factory.cpu_ms": job.cpu_ms,
        "factory.cost_microusd": job.cost_microusd,
        "factory.lower_bound": job.lower_bound,
    }
    return {
        name: value if isinstance(value, int) else str(value)
        for name, value in found.items()
        if value is not None
    }


def _call(call: ModelCall, trace: bytes, job_id: bytes, key: str) -> Span:
    """A model call under OpenTelemetry's conventions for generative AI, whose input counts caches too.

    https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-spans/, read 2026-11-30.
    """
    usage = call.usage
    is_messages = call.path.startswith("/v1/messages")
    found: dict[str, Value | None] = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": str(ProviderName.ANTHROPIC if is_messages else ProviderName.OPENAI),
        "gen_ai.request.model": call.model_asked,
        "gen_ai.response.model": call.model_answered,
        "gen_ai.usage.input_tokens": usage.total_tokens - usage.output_tokens,
        "gen_ai.usage.cache_read.input_tokens": usage.cache_read_tokens,
        "gen_ai.usage.cache_creation.input_tokens": usage.cache_write_5m_tokens + usage.cache_write_1h_tokens,
        "gen_ai.usage.output_tokens": usage.output_tokens,
        "http.response.status_code": call.status,
        "error.type": call.error_type,
        "factory.cost_microusd": call.cost_microusd,
        "factory.estimated": call.estimated,
    }
    start_ns = _ns(call.started_utc)
    return Span(
        f"chat {call.model_asked or 'unknown'}",
        trace,
        _digest(trace.hex(), key, str(call.n))[:8],
        job_id,
        start_ns,
        start_ns + call.duration_ms * 1_000_000,
        {name: value for name, value in found.items() if value is not None},
        is_call=True,
        error=call.error_type or (None if call.settled else "no end on record"),
    )


def _ns(time: datetime) -> int:
    return (time - _EPOCH) // _US * 1000


def _digest(*words: str) -> bytes:
    return sha256("\n".join(words).encode()).digest()
