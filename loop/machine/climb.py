"""What the ladder makes of a stop: the machine looks again, a model is asked, or a person waits.

Pure: no I/O.
"""

from instrument.schema.state import Climb, Resolver, TaskState, Tried
from instrument.schema.vocabulary import LadderStep, Outcome, Stage
from loop.machine.facts import Facts, ResolveFacts
from loop.machine.ladder import helper_of, next_step
from loop.machine.resume import record_ruling, resume

NOTHING_LEFT = "no money or time was left to ask it"
NOT_USED = "its ruling repeats an earlier one, or its job did not end well"


def climb(state: TaskState) -> TaskState:
    """A stopped task as the ladder takes it up; without a step that may act it waits for a person."""
    step, stop = next_step(state), state.stop
    if step is None or stop is None:
        return state if stop is not None and stop.stage is Stage.RESOLVE else _put_down(state)
    if step.is_model:
        return state.model_copy(
            update={"stage": Stage.RESOLVE, "stop": None, "climb": Climb(stop=stop, step=step)}
        )
    noted = _note(state, Tried(step=LadderStep.MACHINE, stop=stop.reason))
    after = resume(noted, "rerun")
    assert after is not None, "a machine's step is one whose stop a rerun looks into"
    return after.model_copy(update={"seq": state.seq})


def settle(state: TaskState, outcome: Outcome, facts: Facts | None) -> TaskState:
    """The task after a model's step: on by its ruling, or back at its stop and up the ladder.

    Args:
        state: With the stop that was looked into as its own, and the climb that led here.
        outcome: `stop_ruled` or `stop_handed_up`.
        facts: None where it was not asked.
    """
    looked = state.climb
    assert looked is not None
    assert facts is None or isinstance(facts, ResolveFacts)
    note = Tried(step=looked.step, stop=looked.stop.reason)
    if outcome is Outcome.STOP_HANDED_UP or facts is None:
        why = (facts.handed_up or NOT_USED) if facts else NOTHING_LEFT
        return climb(_note(state, note.model_copy(update={"said": why})))
    noted = _note(_put_down(state), note.model_copy(update={"said": facts.ruling, "ruled": True}))
    by = Resolver(step=looked.step, model=helper_of(state, looked.step).model)
    after = resume(record_ruling(noted, facts.ruling, by=by), "ruling")
    assert after is not None, "a model's step is one whose stop a ruling leads on from"
    return after.model_copy(update={"seq": state.seq})


def _note(state: TaskState, note: Tried) -> TaskState:
    return state.model_copy(update={"tried": (*state.tried, note)})


def _put_down(state: TaskState) -> TaskState:
    return state.model_copy(update={"climb": None})
