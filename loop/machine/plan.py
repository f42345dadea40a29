"""`plan`: the one next thing to do.

Pure: no I/O.
"""

from instrument.schema.state import Candidate, Landing, TaskState
from instrument.schema.vocabulary import EffectKind, Stage
from loop.machine.budget import agent_deadline_ms, commands_deadline_ms, money_left
from loop.machine.checks import names_again
from loop.machine.effects import (
    Baseline,
    Check,
    CommitCandidate,
    CompareTests,
    Effect,
    FindBase,
    Gate,
    Implement,
    Merge,
    Rebase,
    Resolve,
    Review,
    SetUp,
)
from loop.machine.keys import effect_key, effect_number, prompt_inputs, review_token, stop_inputs
from loop.machine.ladder import helper_of


class PlanError(Exception):
    """The state lacks what its stage needs: a bug of ours, or an edited `state.json`."""


def plan(state: TaskState) -> Effect:
    """Choose the next effect; the same state gives the same effect with the same key.

    Raises:
        PlanError: The stage is terminal, or the state contradicts itself.
    """
    match state.stage:
        case Stage.READY:
            return _plan_ready(state)
        case Stage.IMPLEMENT:
            return _plan_implement(state)
        case Stage.CHECK:
            return _plan_check(state)
        case Stage.REVIEW:
            return _plan_review(state)
        case Stage.REBASE:
            candidate = _candidate(state)
            kind = EffectKind.REBASE
            key = effect_key(state, kind, candidate.commit)
            return Rebase(key=key, n=effect_number(state, kind), candidate=candidate)
        case Stage.GATE:
            return _plan_gate(state)
        case Stage.MERGE:
            landing = _landing(state)
            if state.gated != landing.commit:
                raise PlanError("the landing commit has not passed the gate")
            return Merge(key=effect_key(state, EffectKind.MERGE, landing.commit), landing=landing)
        case Stage.RESOLVE:
            return _plan_resolve(state)
        case Stage.DONE | Stage.STOPPED:
            raise PlanError(f"nothing follows {state.stage}")


def _plan_ready(state: TaskState) -> Effect:
    if state.base is None:
        return FindBase(key=effect_key(state, EffectKind.FIND_BASE, state.task_blob))
    if state.image is None:
        return SetUp(key=effect_key(state, EffectKind.SET_UP, state.base), base=state.base)
    kind = EffectKind.BASELINE
    return Baseline(
        key=effect_key(state, kind, state.base, state.image),
        round=effect_number(state, kind),
        commit=state.base,
        image=state.image,
        deadline_ms=commands_deadline_ms(state),
        only=names_again(state.first_run, but=state.terms.turns_green),
    )


def _plan_implement(state: TaskState) -> Effect:
    base, image = _base(state), _image(state)
    if state.pending is not None:
        kind = EffectKind.COMMIT_CANDIDATE
        return CommitCandidate(
            key=effect_key(state, kind, base, state.pending.tree, state.task_blob),
            base=base,
            n=effect_number(state, kind),
            pending=state.pending,
        )
    start = state.candidate.commit if state.candidate else base
    return Implement(
        key=effect_key(state, EffectKind.IMPLEMENT, start, image, prompt_inputs(state)),
        round=state.counters.coder_rounds + 1,
        start=start,
        image=image,
        agent=state.terms.coder,
        deadline_ms=agent_deadline_ms(state),
        budget_microusd=money_left(state, for_coder=True),
    )


def _plan_check(state: TaskState) -> Effect:
    candidate, image = _candidate(state), _image(state)
    return Check(
        key=effect_key(state, EffectKind.CHECK, candidate.commit, image),
        round=state.counters.coder_rounds,
        commit=candidate.commit,
        image=image,
        deadline_ms=commands_deadline_ms(state),
        only=names_again(state.first_run),
    )


def _plan_review(state: TaskState) -> Effect:
    if state.declared:
        return _plan_claim_review(state)
    candidate = _candidate(state)
    if state.image is None:  # an edit came before the image of a moved base was there
        return SetUp(key=effect_key(state, EffectKind.SET_UP, candidate.base), base=candidate.base)
    image = state.image
    if candidate.changes_tests and state.compared_commit != candidate.commit:
        return CompareTests(
            key=effect_key(state, EffectKind.COMPARE_TESTS, candidate.commit, image),
            round=state.counters.coder_rounds,
            commit=candidate.commit,
            image=image,
            deadline_ms=commands_deadline_ms(state),
            base=candidate.base,
        )
    return _review_of(state, start=candidate.commit, base=candidate.base, image=image)


def _plan_claim_review(state: TaskState) -> Effect:
    """A review of the base itself, which the coder says needs no change."""
    base = _base(state)
    return _review_of(state, start=base, base=base, image=_image(state))


def _review_of(state: TaskState, *, start: str, base: str, image: str) -> Review:
    key = effect_key(state, EffectKind.REVIEW, start, image, prompt_inputs(state))
    return Review(
        key=key,
        round=state.counters.review_rounds + 1,
        start=start,
        image=image,
        agent=state.terms.reviewer,
        deadline_ms=commands_deadline_ms(state),
        budget_microusd=money_left(state),
        base=base,
        token=review_token(state, key),
    )


def _plan_gate(state: TaskState) -> Effect:
    landing = _landing(state)
    if state.image is None:
        return SetUp(key=effect_key(state, EffectKind.SET_UP, landing.onto), base=landing.onto)
    return Gate(
        key=effect_key(state, EffectKind.GATE, landing.commit, landing.tree, state.image),
        round=effect_number(state, EffectKind.GATE),
        commit=landing.commit,
        image=state.image,
        deadline_ms=commands_deadline_ms(state),
        only=names_again(state.first_run),
    )


def _plan_resolve(state: TaskState) -> Effect:
    climb, base, image = state.climb, _base(state), _image(state)
    if climb is None or state.terms.ladder is None:
        raise PlanError("there is no stop to look into, or nobody to ask")
    kind = EffectKind.RESOLVE
    start = state.candidate.commit if state.candidate else base
    return Resolve(
        key=effect_key(state, kind, start, image, climb.step, prompt_inputs(state), stop_inputs(state)),
        round=1 + sum(tried.step.is_model for tried in state.tried),
        start=start,
        image=image,
        agent=helper_of(state, climb.step),
        deadline_ms=agent_deadline_ms(state),
        budget_microusd=money_left(state, for_coder=True),
        base=base,
        step=climb.step,
    )


def _base(state: TaskState) -> str:
    if state.base is None:
        raise PlanError("the task has no base yet")
    return state.base


def _image(state: TaskState) -> str:
    if state.image is None:
        raise PlanError("the task has no image yet")
    return state.image


def _candidate(state: TaskState) -> Candidate:
    if state.candidate is None:
        raise PlanError("the task has no candidate yet")
    return state.candidate


def _landing(state: TaskState) -> Landing:
    if state.landing is None:
        raise PlanError("the task has no landing commit yet")
    return state.landing
