"""`begin` and `advance`: the next state.

Pure: no I/O.
"""

from instrument.schema.state import Attempt, Counters, Stop, TaskState
from instrument.schema.vocabulary import EffectKind, Outcome, Role, Stage
from loop.machine.absorb import absorb
from loop.machine.climb import climb, settle
from loop.machine.details import retry_time, stop_choices, stop_details
from loop.machine.effects import FOLDER_LABELS, ROLES, Effect
from loop.machine.facts import CancelledFacts, EngineFacts, Facts
from loop.machine.judge import StaleFactsError
from loop.machine.spend import add_spend
from loop.machine.table import step

COUNTED = {
    Outcome.JOB_INTERRUPTED: "interruptions",
    Outcome.CHECK_FAILED: "check_failures",
    Outcome.GATE_FAILED: "gate_failures",
    Outcome.MAIN_MOVED: "main_moves",
    Outcome.VERDICT_MISSING: "verdict_misses",
    Outcome.FIRST_CALL_MISSING: "first_call_misses",
}
"""The counter that each outcome with a cap raises."""


def begin(state: TaskState, effect: Effect) -> TaskState:
    """The state with the effect written down as intended; unchanged where it already is."""
    if state.attempt is not None and state.attempt.key == effect.key:
        return state
    counters = state.counters
    effects = dict(counters.effects)
    effects[effect.kind] = effects.get(effect.kind, 0) + 1
    folder = None
    jobs = counters.jobs
    if effect.kind.is_job and (effect.kind is not EffectKind.SET_UP or state.terms.has_setup):
        jobs += 1
        folder = f"jobs/{jobs:04d}-{FOLDER_LABELS[effect.kind]}-{_folder_round(effect, effects)}"
    return state.model_copy(
        update={
            "seq": state.seq + 1,
            "counters": counters.model_copy(update={"effects": effects, "jobs": jobs}),
            "attempt": Attempt(key=effect.key, kind=effect.kind, folder=folder),
        }
    )


def _folder_round(effect: Effect, effects: dict[EffectKind, int]) -> int:
    return getattr(effect, "round", effects[effect.kind])


def advance(state: TaskState, outcome: Outcome, facts: Facts | None) -> TaskState:
    """The state after an outcome: what the facts bring, the counters, the table's step, the ladder's.

    Args:
        state: The task, with the attempt that the facts answer.
        outcome: As `judge` named it; as `forestall` did where nothing was begun.
        facts: None only where nothing was begun.

    Raises:
        StaleFactsError: The facts carry another key than the attempt under way.
        KeyError: The table has no row for this stage and outcome: a bug of ours.
    """
    begun = state.attempt.key if state.attempt else None
    if begun != (facts.key if facts else None):
        raise StaleFactsError(f"facts for {facts.key if facts else 'nothing'}, but {begun} is under way")
    target = step(state.stage, outcome)
    stop = None
    if target.stop is not None:
        stop = Stop(
            reason=target.stop,
            stage=state.stage,
            outcome=outcome,
            details=stop_details(state, outcome, facts),
            folder=state.attempt.folder if state.attempt else None,
            choices=stop_choices(outcome, facts),
            retry_at_utc=retry_time(outcome, facts),
        )
    is_answer = target.stage is Stage.STOPPED and target.stop is None
    if is_answer and state.climb is not None:
        stop = state.climb.stop
    absorbed = absorb(state, outcome, facts) if facts else state
    moved = absorbed.model_copy(
        update={
            "seq": state.seq + 1,
            "stage": target.stage,
            "stop": stop,
            "done": target.done,
            "attempt": _kept_attempt(state, facts),
            "counters": _count(absorbed.counters, outcome),
        }
    )
    if is_answer:
        return settle(moved, outcome, facts)
    return climb(moved) if moved.stage is Stage.STOPPED else moved


def _kept_attempt(state: TaskState, facts: Facts | None) -> Attempt | None:
    """A job that the engine's end left open: the same key finds it again, with what it cost."""
    is_open = isinstance(facts, EngineFacts) and state.attempt is not None and state.attempt.kind.is_job
    return state.attempt if is_open else None


def _count(counters: Counters, outcome: Outcome) -> Counters:
    name = COUNTED.get(outcome)
    return counters if name is None else counters.model_copy(update={name: getattr(counters, name) + 1})


def cancel(state: TaskState, facts: CancelledFacts) -> TaskState:
    """The state after a person's signal: the attempt is gone, only its cost stays."""
    if state.attempt is None or state.attempt.key != facts.key:
        raise StaleFactsError(f"facts for {facts.key}, but the attempt under way is another")
    billed = add_spend(state, facts.end) if facts.end is not None else _unbilled(state, state.attempt)
    return billed.model_copy(update={"seq": state.seq + 1, "attempt": None})


def _unbilled(state: TaskState, attempt: Attempt) -> TaskState:
    """The state after an end that nobody could look at: what an agent's job had cost stays unknown."""
    if not ROLES.get(attempt.kind, Role.CHECK).is_agent:
        return state
    return state.model_copy(update={"spend": state.spend.model_copy(update={"lower_bound": True})})
