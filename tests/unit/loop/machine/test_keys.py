import pytest

from instrument.schema.job import Decision
from instrument.schema.state import Candidate, CheckFailure, Climb, Landing, Resolver, Ruling, Stop, Tried
from instrument.schema.vocabulary import EffectKind, LadderStep, Outcome, Stage, StopReason
from loop.machine.advance import begin
from loop.machine.keys import effect_key, effect_number, prompt_inputs, review_token
from loop.machine.plan import plan
from loop.machine.resume import ruling_digest
from support.ends import command, finding
from support.lives import ladder, new_state, terms

CANDIDATE = Candidate(commit="c" * 40, tree="d" * 40, base="a" * 40, n=1)
LANDING = Landing(commit="e" * 40, tree="f" * 40, onto="a" * 40)
ASKED = Stop(reason=StopReason.BLOCKED, stage=Stage.IMPLEMENT, outcome=Outcome.CODER_BLOCKED)
AT = {
    "base": "a" * 40,
    "image": "sha256:1",
    "candidate": CANDIDATE,
    "landing": LANDING,
    "gated": "e" * 40,
    "climb": Climb(stop=ASKED, step=LadderStep.SMALL),
    "terms": terms(ladder=ladder()),
}
QUESTION = ASKED.model_copy(update={"details": ("which?",)})
BY = Resolver(step=LadderStep.SMALL, model="claude-haiku-4-5")
STAGES = [stage for stage in Stage if not stage.is_terminal]


def state_at(stage, **changes):
    return new_state(stage=stage, **(AT | changes))


def ruling(text):
    return Ruling(stop=StopReason.NO_CHANGE, digest=ruling_digest(text), text=text)


@pytest.mark.parametrize("stage", STAGES)
def test_the_same_state_gives_the_same_key_and_it_says_what_it_is(stage):
    effect = plan(state_at(stage))
    assert plan(state_at(stage)) == effect
    assert effect.key.startswith(f"demo-001-{effect.kind.slug}-1-")
    assert len(effect.key.rpartition("-")[2]) == 8


@pytest.mark.parametrize("stage", STAGES)
def test_the_key_stays_after_begin_and_the_next_one_has_another_number(stage):
    state = state_at(stage)
    effect = plan(state)
    begun = begin(state, effect)
    assert plan(begun) == effect
    assert begin(begun, plan(begun)) is begun
    after = begun.model_copy(update={"attempt": None})
    assert plan(after).key.startswith(f"demo-001-{effect.kind.slug}-2-")


@pytest.mark.parametrize(
    ("stage", "change"),
    [
        (Stage.READY, {"base": "9" * 40}),
        (Stage.READY, {"image": "sha256:2"}),
        (Stage.IMPLEMENT, {"candidate": CANDIDATE.model_copy(update={"commit": "9" * 40})}),
        (Stage.IMPLEMENT, {"image": "sha256:2"}),
        (Stage.IMPLEMENT, {"rulings": (ruling("no"),)}),
        (Stage.IMPLEMENT, {"findings": (finding(1, 0),)}),
        (Stage.IMPLEMENT, {"failures": (CheckFailure(gate=False, folder="jobs/3", command=command()),)}),
        (Stage.IMPLEMENT, {"task_blob": "2" * 40}),
        (Stage.CHECK, {"candidate": CANDIDATE.model_copy(update={"commit": "9" * 40})}),
        (Stage.CHECK, {"image": "sha256:2"}),
        (Stage.REVIEW, {"candidate": CANDIDATE.model_copy(update={"commit": "9" * 40})}),
        (Stage.REVIEW, {"image": "sha256:2"}),
        (Stage.REVIEW, {"rulings": (ruling("no"),)}),
        (Stage.REVIEW, {"findings": (finding(1, 0).model_copy(update={"closed": True}),)}),
        (Stage.REVIEW, {"checked": (command("lint"),)}),
        (Stage.REVIEW, {"decisions": (Decision(choice="a", why="b", undo="c"),)}),
        (Stage.REVIEW, {"summary": "done"}),
        (Stage.REVIEW, {"could_not_verify": ("the docs",)}),
        (Stage.REVIEW, {"compared": ("unit fails",)}),
        (Stage.REVIEW, {"flaky": ("unit",)}),
        (Stage.REVIEW, {"declared": "it is there"}),
        (Stage.IMPLEMENT, {"allowed": ("CLAUDE.md",)}),
        (Stage.IMPLEMENT, {"rulings": (ruling("no").model_copy(update={"by": BY}),)}),
        (Stage.RESOLVE, {"climb": Climb(stop=ASKED, step=LadderStep.STRONG)}),
        (Stage.RESOLVE, {"climb": Climb(stop=QUESTION, step=LadderStep.SMALL)}),
        (Stage.RESOLVE, {"tried": (Tried(step=LadderStep.SMALL, stop=StopReason.BLOCKED, said="no idea"),)}),
        (Stage.RESOLVE, {"rulings": (ruling("no"),)}),
        (Stage.RESOLVE, {"candidate": CANDIDATE.model_copy(update={"commit": "9" * 40})}),
        (Stage.IMPLEMENT, {"conflict_commit": "9" * 40}),
        (Stage.REBASE, {"candidate": CANDIDATE.model_copy(update={"commit": "9" * 40})}),
        (Stage.GATE, {"landing": LANDING.model_copy(update={"commit": "9" * 40})}),
        (Stage.GATE, {"landing": LANDING.model_copy(update={"tree": "9" * 40})}),
        (Stage.GATE, {"image": "sha256:2"}),
        (Stage.GATE, {"image": None}),
        (Stage.MERGE, {"landing": LANDING.model_copy(update={"commit": "9" * 40}), "gated": "9" * 40}),
    ],
)
def test_other_work_has_another_key(stage, change):
    assert plan(state_at(stage, **change)).key != plan(state_at(stage)).key


def test_a_digest_does_not_run_its_parts_together():
    state = new_state()
    assert effect_key(state, EffectKind.GATE, "ab", "c") != effect_key(state, EffectKind.GATE, "a", "bc")
    assert effect_key(state, EffectKind.GATE, None, "a") != effect_key(state, EffectKind.GATE, "a", None)


def test_effects_are_counted_by_kind():
    state = state_at(Stage.CHECK)
    after = begin(state, plan(state)).model_copy(update={"attempt": None})
    assert effect_number(after, EffectKind.CHECK) == 2
    assert effect_number(after, EffectKind.GATE) == 1


def test_a_review_token_cannot_be_known_without_the_nonce():
    ours, other = new_state(), new_state(nonce="1" * 32)
    assert review_token(ours, "k") == review_token(ours, "k")
    assert review_token(ours, "k") != review_token(other, "k"), "the same key says nothing about the token"
    assert review_token(ours, "k") != review_token(ours, "l"), "an old token does not open the next review"
    assert len(review_token(ours, "k")) == 16
    assert "0" * 32 not in review_token(ours, "k")


def test_each_review_asks_for_a_token_of_its_own():
    state = state_at(Stage.REVIEW)
    first = plan(state)
    again = plan(begin(state, first).model_copy(update={"attempt": None}))
    assert first.token != again.token


def test_a_lone_surrogate_in_what_a_model_wrote_is_no_failure():
    odd = finding(1, 0).model_copy(update={"text": "\ud800"})
    assert prompt_inputs(new_state(findings=(odd,), summary="\udfff")) != prompt_inputs(new_state())


def test_a_persons_ruling_gives_the_key_that_it_gave_before_models_could_rule():
    texts = [(ruling("no"),), (ruling("no").model_copy(update={"by": BY}),)]
    persons, models = (prompt_inputs(new_state(rulings=each)) for each in texts)
    assert persons == "98a79dbb339b0bf3b037cdbbd6d12b93b78353d7bc5e7f0b9f65b736ae01a72e"
    assert models != persons
