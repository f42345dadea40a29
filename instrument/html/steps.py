"""A task's steps with their jobs and model calls: times from its spans, figures from its bill.

Reads the task's folders; writes nothing.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from instrument.export.spans import Span, spans_of
from instrument.figures import JobLine
from instrument.found import FoundTask
from instrument.row import build_bill
from instrument.schema.vocabulary import EffectKind

_WORDS = {"attempt_interrupted": "interrupted", "attempt_cancelled": "ended by a person"}


@dataclass(slots=True)
class Step:
    """One effect; times are nanoseconds since 1970, the end never before the start."""

    effect: EffectKind
    round: int
    start_ns: int
    end_ns: int
    outcome: str | None
    """None: the record has no end of it."""
    trouble: str | None
    """What it stopped or was cut short by."""
    job: JobLine | None = None
    job_span: Span | None = None
    calls: list[Span] = field(default_factory=list)
    """As far as the job's ledger is there."""


@dataclass(frozen=True, slots=True)
class Steps:
    """The steps of all runs in order of start, and jobs of which no step is on record."""

    steps: tuple[Step, ...]
    strays: tuple[JobLine, ...]


def read_steps(task: FoundTask) -> Steps:
    """Read them; what is not on record is none, never made up."""
    jobs = {(job.run, job.key): job for job in build_bill(task).jobs}
    steps = [step for name in task.names for step in _of_run(task, name, jobs)]
    return Steps(tuple(steps), tuple(jobs.values()))


def _of_run(task: FoundTask, name: str, jobs: dict[tuple[str, str], JobLine]) -> Iterator[Step]:
    """One run's steps, whose jobs are taken out of `jobs`."""
    step: Step | None = None
    for span in spans_of(FoundTask(task.task_id, task.root, (name,))):
        if span.is_call:
            assert step is not None, "a call comes after its step"
            step.calls.append(span)
        elif "factory.effect" in span.attributes:
            if step is not None:
                yield step
            step = _step(span)
            step.job = jobs.pop((name, str(span.attributes["factory.key"])), None)
        elif step is not None:
            step.job_span = span
    if step is not None:
        yield step


def _step(span: Span) -> Step:
    outcome = span.attributes.get("factory.outcome")
    trouble = _WORDS.get(span.error, span.error) if span.error else None
    return Step(
        effect=EffectKind(str(span.attributes["factory.effect"])),
        round=int(span.attributes["factory.round"]),
        start_ns=span.start_ns,
        end_ns=max(span.start_ns, span.end_ns),
        outcome=str(outcome) if outcome is not None else None,
        trouble=trouble,
    )
