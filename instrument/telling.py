"""Events as lines for a person.

Pure: no I/O.
"""

from instrument.money import show_usd
from instrument.schema.events import (
    AnyEvent,
    AttemptStarted,
    CheckEnded,
    Event,
    JobEnded,
    ModelCallEnded,
    RunEnded,
    RunStarted,
    Transition,
    Waited,
)
from instrument.show import plain, show_count, show_ms, show_whose

_STAMP = set(Event.model_fields) | {"kind"}


def tell(event: AnyEvent) -> str:
    """One line: the time in UTC, what happened, its figures."""
    return f"{event.at_utc:%H:%M:%S}  {plain(_what(event))}"


def _what(event: AnyEvent) -> str:
    match event:
        case RunStarted():
            return f"run started: process {event.pid} on {event.host}, factory {event.version}"
        case RunEnded():
            return f"run ended with exit code {event.exit_code}"
        case AttemptStarted():
            return f"{event.effect} begins{f', round {event.round}' if event.round else ''}"
        case Waited():
            return f"waited {show_ms(event.duration_ms)} for {event.what}{_whose(event)}"
        case CheckEnded():
            how = "timed out" if event.timed_out else f"exit code {event.exit_code}"
            return f"  check {event.name}: {how} ({show_ms(event.duration_ms)})"
        case ModelCallEnded():
            tokens = event.usage.total_tokens
            end = event.error_type or event.status or "no answer"
            cost = show_usd(event.cost_microusd, lower_bound=not event.settled)
            return f"  call {event.call}: {end}, {tokens:,} tokens, {cost} ({show_ms(event.duration_ms)})"
        case JobEnded():
            end = "lost" if event.lost else event.ended or "gone"
            cost = show_usd(event.cost_microusd, lower_bound=event.lower_bound)
            calls = show_count(event.calls, "call")
            return f"  {event.role} job {end} after {show_ms(event.duration_ms)}, {calls}, {cost}"
        case Transition():
            where = event.stop or event.done or event.to_stage
            kind = "stopped: " if event.stop else "done: " if event.done else ""
            spent = show_usd(event.spent_microusd, lower_bound=event.lower_bound)
            return f"{event.from_stage}: {event.outcome} → {kind}{where}, {spent} so far"
        case _:
            fields = (f"{name}={value}" for name, value in event if name not in _STAMP and value is not None)
            return f"  {event.kind.replace('_', ' ')}: {' '.join(fields)}"


def _whose(event: Waited) -> str:
    said = show_whose(event)
    return f" ({said})" if said else ""
