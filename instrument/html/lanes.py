"""A task's timeline: a lane for each kind of step, its jobs and model calls within.

Pure: no I/O.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from instrument.export.spans import Span
from instrument.figures import Row
from instrument.html.bars import Bar
from instrument.html.scale import Fold, Scale
from instrument.html.steps import Step, Steps
from instrument.html.words import Line, clock, ended, heading, job_words, line_of, name_of, stray_of, took
from instrument.show import UNKNOWN, show_amount, show_ms

MOST = 200
"""Steps of a task that are shown, the last ones."""
_NEAR = 0.002
"""Calls nearer than this share of the line are one mark: there may be thousands."""
_MS_NS = 1_000_000


@dataclass(frozen=True, slots=True)
class Lane:
    """Steps of one kind, with what went on in them."""

    name: str
    steps: tuple[Bar, ...]
    jobs: tuple[Bar, ...]
    calls: tuple[Bar, ...]
    alarms: tuple[str, ...]
    """Where a step stopped or was cut short."""


@dataclass(frozen=True, slots=True)
class History:
    """One task's timeline; without any step there is no lane."""

    row: Row
    lanes: tuple[Lane, ...]
    folds: tuple[Fold, ...]
    began: str
    ended: str
    lines: tuple[Line, ...]
    left_out: int
    """Earlier steps that are not shown."""
    undrawn_calls: int
    """Model calls on record of which no ledger says when they were."""


def history_of(row: Row, found: Steps) -> History:
    """Draw one task."""
    steps = found.steps[-MOST:]
    strays = found.strays[-MOST:]
    lines = (*map(line_of, steps), *map(stray_of, strays))
    left_out = len(found.steps) - len(steps) + len(found.strays) - len(strays)
    calls = sum(step.job.calls for step in steps if step.job) + sum(job.calls for job in strays)
    undrawn = max(0, calls - sum(len(step.calls) for step in steps))
    if not steps:
        return History(row, (), (), UNKNOWN, UNKNOWN, lines, left_out, undrawn)
    scale = Scale(_busy(steps))
    names = dict.fromkeys(_lane_of(step) for step in steps)
    lanes = tuple(_lane(name, [step for step in steps if _lane_of(step) == name], scale) for name in names)
    first, last = min(step.start_ns for step in steps), max(end for _, end in _busy(steps))
    return History(row, lanes, scale.folds, clock(first), clock(last), lines, left_out, undrawn)


def _busy(steps: Iterable[Step]) -> list[tuple[int, int]]:
    """When something went on: a call may outlast the lines of its step where that is still open."""
    return [(step.start_ns, max(step.end_ns, *(call.end_ns for call in step.calls), 0)) for step in steps]


def _lane_of(step: Step) -> str:
    return name_of(step.effect) if step.effect.is_job else "git"


def _lane(name: str, steps: Sequence[Step], scale: Scale) -> Lane:
    jobs = (_job_bar(step, step.job_span, scale) for step in steps if step.job_span)
    calls = [call for step in steps for call in step.calls]
    return Lane(
        name,
        tuple(_step_bar(step, scale) for step in steps),
        tuple(jobs),
        tuple(_call_bars(calls, scale)),
        tuple(scale.at(step.end_ns) for step in steps if step.trouble),
    )


def _step_bar(step: Step, scale: Scale) -> Bar:
    kind = "step open" if step.outcome is None else "step"
    title = f"{heading(step)}: {ended(step)}, {took(step)} from {clock(step.start_ns)}"
    return Bar(kind, scale.at(step.start_ns), scale.between(step.start_ns, step.end_ns), title)


def _job_bar(step: Step, span: Span, scale: Scale) -> Bar:
    program = " ".join(
        str(span.attributes[name])
        for name in ("factory.runtime", "factory.runtime_version")
        if name in span.attributes
    )
    title = f"{span.name}{f' ({program})' if program else ''}: {job_words(step.job)}"
    kind = "job bad" if span.error else "job"
    return Bar(kind, scale.at(span.start_ns), scale.between(span.start_ns, span.end_ns), title)


def _call_bars(calls: Sequence[Span], scale: Scale) -> Iterable[Bar]:
    near: list[Span] = []
    end = 0.0
    for call in sorted(calls, key=lambda call: call.start_ns):
        start = scale.place(call.start_ns)
        if near and scale.share(start - end) > _NEAR:
            yield _call_bar(near, scale)
            near = []
        end = max(end, scale.place(call.end_ns)) if near else scale.place(call.end_ns)
        near.append(call)
    if near:
        yield _call_bar(near, scale)


def _call_bar(calls: Sequence[Span], scale: Scale) -> Bar:
    start_ns, end_ns = calls[0].start_ns, max(call.end_ns for call in calls)
    cost = sum(int(call.attributes["factory.cost_microusd"]) for call in calls)
    length = sum(call.end_ns - call.start_ns for call in calls)
    name = calls[0].name if len(calls) == 1 else f"{len(calls)} model calls"
    errors = dict.fromkeys(call.error for call in calls if call.error)
    is_open = any(call.error == "no end on record" for call in calls)
    amount = show_amount(cost, lower_bound=is_open)
    title = ", ".join([f"{name}: {show_ms(length // _MS_NS)}", amount, *errors])
    return Bar("call bad" if errors else "call", scale.at(start_ns), scale.between(start_ns, end_ns), title)
