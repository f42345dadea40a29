import pytest

from instrument.schema.state import AgentChoice, Candidate, Landing, PendingDiff, Spend
from instrument.schema.vocabulary import EffectKind, RuntimeName, Stage
from loop.machine.plan import PlanError, plan
from support.lives import new_state, terms

CANDIDATE = Candidate(commit="c" * 40, tree="d" * 40, base="a" * 40, n=1)
TESTS = CANDIDATE.model_copy(update={"changes_tests": True})
LANDING = Landing(commit="e" * 40, tree="f" * 40, onto="9" * 40)
PENDING = PendingDiff(
    folder="jobs/0001-coder-1", start_commit="a" * 40, tree="b" * 40, diff_bytes=1, diff_sha256="d" * 64
)
BASE = {"base": "a" * 40, "image": "sha256:1"}


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({}, EffectKind.FIND_BASE),
        ({"base": "a" * 40}, EffectKind.SET_UP),
        (BASE, EffectKind.BASELINE),
        (BASE | {"stage": Stage.IMPLEMENT}, EffectKind.IMPLEMENT),
        (BASE | {"stage": Stage.IMPLEMENT, "pending": PENDING}, EffectKind.COMMIT_CANDIDATE),
        (BASE | {"stage": Stage.CHECK, "candidate": CANDIDATE}, EffectKind.CHECK),
        (BASE | {"stage": Stage.REVIEW, "candidate": CANDIDATE}, EffectKind.REVIEW),
        ({"stage": Stage.REVIEW, "candidate": CANDIDATE}, EffectKind.SET_UP),
        (BASE | {"stage": Stage.REVIEW, "declared": "x"}, EffectKind.REVIEW),
        (BASE | {"stage": Stage.REVIEW, "candidate": TESTS}, EffectKind.COMPARE_TESTS),
        (BASE | {"stage": Stage.REVIEW, "candidate": TESTS, "compared_commit": "c" * 40}, EffectKind.REVIEW),
        (
            BASE | {"stage": Stage.REVIEW, "candidate": TESTS, "compared_commit": "d" * 40},
            EffectKind.COMPARE_TESTS,
        ),
        ({"stage": Stage.REVIEW, "candidate": TESTS}, EffectKind.SET_UP),
        ({"stage": Stage.REBASE, "candidate": CANDIDATE}, EffectKind.REBASE),
        (BASE | {"stage": Stage.GATE, "landing": LANDING}, EffectKind.GATE),
        ({"stage": Stage.GATE, "landing": LANDING}, EffectKind.SET_UP),
        ({"stage": Stage.MERGE, "landing": LANDING, "gated": LANDING.commit}, EffectKind.MERGE),
    ],
)
def test_the_one_next_thing(changes, kind):
    assert plan(new_state(**changes)).kind is kind


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"stage": Stage.DONE}, "nothing follows done"),
        ({"stage": Stage.STOPPED}, "nothing follows stopped"),
        ({"stage": Stage.IMPLEMENT}, "no base"),
        ({"stage": Stage.IMPLEMENT, "base": "a" * 40}, "no image"),
        (BASE | {"stage": Stage.CHECK}, "no candidate"),
        (BASE | {"stage": Stage.REVIEW}, "no candidate"),
        ({"stage": Stage.REBASE}, "no candidate"),
        ({"stage": Stage.GATE}, "no landing"),
        ({"stage": Stage.MERGE}, "no landing"),
    ],
)
def test_a_state_that_contradicts_itself_is_not_guessed_about(changes, says):
    with pytest.raises(PlanError, match=says):
        plan(new_state(**changes))


@pytest.mark.parametrize("gated", [None, "0" * 40])
def test_only_the_very_commit_that_the_gate_passed_is_merged(gated):
    with pytest.raises(PlanError, match="has not passed the gate"):
        plan(new_state(stage=Stage.MERGE, landing=LANDING, gated=gated))


def test_a_coder_starts_from_the_candidate_where_there_is_one():
    state = new_state(stage=Stage.IMPLEMENT, **BASE)
    assert plan(state).start == "a" * 40
    assert plan(state.model_copy(update={"candidate": CANDIDATE})).start == CANDIDATE.commit


def test_each_role_has_its_own_agent_and_what_is_left_of_the_money():
    other = AgentChoice(runtime=RuntimeName.COMMAND)
    state = new_state(
        terms=terms(reviewer=other, budget_microusd=500),
        spend=Spend(microusd=200),
        stage=Stage.REVIEW,
        candidate=CANDIDATE,
        **BASE,
    )
    review = plan(state)
    assert review.agent == other
    assert review.budget_microusd == 300
    assert review.base == CANDIDATE.base
    coder = plan(state.model_copy(update={"stage": Stage.IMPLEMENT}))
    assert coder.agent == state.terms.coder


def test_the_image_of_a_gate_is_that_of_the_base_it_lands_on():
    assert plan(new_state(stage=Stage.GATE, landing=LANDING)).base == LANDING.onto
