"""A task's steps in words, for the table below its picture.

Pure: no I/O.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from instrument.figures import JobLine
from instrument.html.steps import Step
from instrument.schema.vocabulary import EffectKind
from instrument.show import UNKNOWN, show_amount, show_ms

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MS_NS = 1_000_000
_NOT_COLLECTED = "not collected"
_NAMES = {EffectKind.COMPARE_TESTS: "compare", EffectKind.SET_UP: "set up"}


@dataclass(frozen=True, slots=True)
class Line:
    """One step in words."""

    name: str
    round: str
    began: str
    took: str
    ended: str
    job: str
    calls: str
    cost: str


def clock(time_ns: int) -> str:
    """A time to the second, UTC."""
    return f"{_EPOCH + timedelta(microseconds=time_ns // 1000):%Y-%m-%d %H:%M:%S}"


def name_of(effect: EffectKind) -> str:
    """As a person calls it."""
    return _NAMES.get(effect, effect.slug.replace("-", " "))


def line_of(step: Step) -> Line:
    """A step with what its job was."""
    job = step.job
    return Line(
        name=name_of(step.effect),
        round=str(step.round) if step.round else "",
        began=clock(step.start_ns),
        took=took(step),
        ended=ended(step),
        job=_job_time(job) if job else _without_job(step),
        calls=_calls(job),
        cost=_cost(job),
    )


def stray_of(job: JobLine) -> Line:
    """A job of which the record has no step."""
    name = name_of(job.effect) if job.effect else job.role.value
    return Line(
        name=name,
        round=str(job.round) if job.round else "",
        began=UNKNOWN,
        took=UNKNOWN,
        ended="its beginning is not on record",
        job=_job_time(job),
        calls=_calls(job),
        cost=_cost(job),
    )


def heading(step: Step) -> str:
    """Its name and round."""
    return f"{name_of(step.effect)}, round {step.round}" if step.round else name_of(step.effect)


def took(step: Step) -> str:
    """Its length; of one that is still open, or whose end was lost, it is not known."""
    return (
        UNKNOWN
        if step.outcome is None and not step.trouble
        else show_ms((step.end_ns - step.start_ns) // _MS_NS)
    )


def ended(step: Step) -> str:
    """Its outcome."""
    if step.outcome is None:
        return step.trouble or "no end on record"
    return f"{step.outcome} (stop: {step.trouble})" if step.trouble else step.outcome


def _without_job(step: Step) -> str:
    """Why a step has no job; an image that is there needs none."""
    if not step.effect.is_job or (step.effect is EffectKind.SET_UP and step.outcome is not None):
        return ""
    return _NOT_COLLECTED if step.outcome is None else "not on record"


def _job_time(job: JobLine) -> str:
    if not job.collected:
        return _NOT_COLLECTED
    return f"{show_ms(job.duration_ms)}{' (lost)' if job.lost else ''}"


def _calls(job: JobLine | None) -> str:
    return str(job.calls) if job and (job.calls or job.cost_microusd) else ""


def _cost(job: JobLine | None) -> str:
    if job is None or not (job.calls or job.cost_microusd or job.lower_bound):
        return ""
    return show_amount(job.cost_microusd, lower_bound=job.lower_bound)


def job_words(job: JobLine | None) -> str:
    """A job in words."""
    if job is None:
        return UNKNOWN
    calls = "1 call" if job.calls == 1 else f"{job.calls} calls"
    return ", ".join(part for part in (_job_time(job), calls if _calls(job) else "", _cost(job)) if part)
