"""The ladder: which steps may meet a stop before a person does, one hand-written row a reason.

The machine looks again where that costs no model call. A model is asked where a ruling settles a
question of judgement. Money, time, keys, secrets, protected paths and the merge itself are a person's.
Pure: no I/O.
"""

from instrument.schema.state import AgentChoice, LadderTerms, Stop, TaskState
from instrument.schema.vocabulary import LadderStep, StopReason
from loop.machine.budget import is_money_gone, is_time_gone
from loop.machine.escalation import is_for_a_person
from loop.machine.stops import STOPS

_R, _L = StopReason, LadderStep
_MODELS = (_L.SMALL, _L.STRONG)

STEPS: dict[StopReason, tuple[LadderStep, ...]] = {
    _R.READY_TO_MERGE: (),
    _R.BASELINE_RED: (_L.MACHINE,),
    _R.BASELINE_GREEN: (),
    _R.NO_CHANGE: _MODELS,
    _R.OUT_OF_SCOPE: _MODELS,
    _R.PROTECTED_PATH: (),
    _R.NESTED_REPO: _MODELS,
    _R.PATCH_TOO_LARGE: _MODELS,
    _R.UNCAPTURABLE: _MODELS,
    _R.PATCH_INTEGRITY: (),
    _R.BAD_JOB_OUTPUT: (),
    _R.CHECKS_EXHAUSTED: _MODELS,
    _R.REVIEW_EXHAUSTED: (_L.STRONG,),  # a ruling there closes must-fixes
    _R.REVIEW_UNREADABLE: (),
    _R.GATE_EXHAUSTED: _MODELS,
    _R.MERGE_CONFLICT: _MODELS,
    _R.MAIN_MOVING: (_L.MACHINE,),
    _R.PUSH_REJECTED: (),
    _R.SPEND_BUDGET: (),
    _R.TIME_BUDGET: (),
    _R.UNKNOWN_PRICE: (),
    _R.PROVIDER_RATE_LIMITED: (),  # before its limit resets nothing is gained
    _R.PROVIDER_AUTH: (),
    _R.PROVIDER_UNAVAILABLE: (_L.MACHINE,),
    _R.AGENT_FAILED: _MODELS,
    _R.AGENT_NO_FIRST_CALL: (_L.MACHINE,),
    _R.JOB_TIMEOUT: (),
    _R.MEMORY_LIMIT: (),
    _R.INTERRUPTED_TOO_OFTEN: (_L.MACHINE,),
    _R.RUNNER_UNAVAILABLE: (_L.MACHINE,),
    _R.IMAGE_UNFIT: (_L.MACHINE,),
    _R.STATE_CORRUPT: (),
    _R.BLOCKED: _MODELS,
    _R.TESTS_WEAKENED: _MODELS,
    _R.SECRET_FOUND: (),
    _R.NO_PROGRESS: _MODELS,
    _R.PIDS_LIMIT: (),
    _R.DISK_FULL: (),
    _R.SUBMODULE_CHANGED: _MODELS,
    _R.UNSUPPORTED_FILTER: _MODELS,
    _R.PARKED: (),
}
"""The steps of each reason where `[ladder.reasons]` does not name others."""

A_PERSONS = (_R.READY_TO_MERGE, _R.PROTECTED_PATH, _R.SECRET_FOUND, _R.UNKNOWN_PRICE, _R.PROVIDER_AUTH)
"""Stops that a rerun or a ruling leads on from, and that no configuration gives to a step all the same."""


def can_help(step: LadderStep, reason: StopReason) -> bool:
    """Whether a step of this kind leads anywhere at a stop."""
    row = STOPS[reason]
    way = row.ruling if step.is_model else row.rerun
    return reason not in A_PERSONS and way is not None


def next_step(state: TaskState) -> LadderStep | None:
    """The cheapest step that may look into a task's stop now; none: a person is asked."""
    ladder, stop = state.terms.ladder, state.stop
    if ladder is None or stop is None or is_for_a_person(state):
        return None
    left = ladder.reasons.get(stop.reason, STEPS[stop.reason])
    if state.climb is not None and state.climb.stop == stop:
        order = list(LadderStep)
        left = tuple(step for step in left if order.index(step) > order.index(state.climb.step))
    return next((step for step in left if _may_act(state, ladder, stop, step)), None)


def _may_act(state: TaskState, ladder: LadderTerms, stop: Stop, step: LadderStep) -> bool:
    used = sum(tried.step is step for tried in state.tried)
    if step not in ladder.steps or used >= ladder.caps.get(step, 0) or not can_help(step, stop.reason):
        return False
    # Where main moved on and no image of it could be made, there is nothing that a model could work in.
    return not step.is_model or (state.image is not None and can_afford(state))


def can_afford(state: TaskState) -> bool:
    """Whether a model can be asked: like a coder it leaves the reserve alone."""
    return not is_money_gone(state, for_coder=True) and not is_time_gone(state, for_coder=True)


def helper_of(state: TaskState, step: LadderStep) -> AgentChoice:
    """Who answers at a model's step of the task's terms."""
    ladder = state.terms.ladder
    assert ladder is not None
    helper = {_L.SMALL: ladder.small, _L.STRONG: ladder.strong}[step]
    assert helper is not None, "a step of the terms has somebody to ask"
    return helper
