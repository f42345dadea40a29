"""The ladder: the machine, a small model, a strong one, then the person; each only where it may."""

from pathlib import Path

import pytest

from instrument.schema.job import AgentResult
from instrument.schema.state import Caps, Counters, Finding, Spend, Stop
from instrument.schema.vocabulary import (
    EffectKind,
    Ended,
    Escalation,
    LadderStep,
    Outcome,
    Severity,
    Stage,
    StopReason,
)
from loop.machine.advance import begin
from loop.machine.climb import climb
from loop.machine.facts import BaseFacts, EngineFacts, MergeFacts, RebaseFacts, ReviewFacts, SetupFacts
from loop.machine.plan import plan
from loop.machine.resume import resume
from loop.machine.stops import STOPS
from support.ends import agent_run, call, command, denied, failed_call, resolver_end, review_end, tree
from support.lives import (
    GOOD,
    RED,
    SMALL,
    STRONG,
    Life,
    coder,
    commands,
    hands_up,
    ladder,
    lost,
    must_fix,
    new_state,
    rebase_facts,
    rules,
    terms,
)

L = LadderStep
ASKS = coder(result=AgentResult(outcome="blocked", question="Which name?"))
UNFIT = lambda _, e: SetupFacts(key=e.key, image=None, detail="pip failed")
GONE = lambda _, e: EngineFacts(key=e.key, detail="no engine answers")
MOVED = lambda _, e: MergeFacts(key=e.key, result="moved")
NO_PROVIDER = lambda s, e: BaseFacts(key=e.key, base="a" * 40, terms=s.terms, provider="failed")
LOST = lambda _, e: GOOD[EffectKind.RESOLVE](_, e).model_copy(
    update={"end": resolver_end(e.key, container={"lost": True}, report=None)}
)


def life(folder: Path, *steps: LadderStep, on=None, of=None, **moves) -> Life:
    """A task with these steps; `on` changes the ladder, `of` the other terms."""
    return Life(folder, new_state(terms=terms(ladder=ladder(*steps, **(on or {})), **(of or {}))), **moves)


def tried(a_life: Life) -> list[str]:
    return [f"{t.step} {'ruled' if t.ruled else t.said or 'ran'}" for t in a_life.state.tried]


def test_without_a_ladder_a_stop_waits_for_a_person(tmp_path: Path):
    alone = Life(tmp_path, implement=[ASKS]).run()
    assert alone.ending == "blocked"
    assert not alone.begun(EffectKind.RESOLVE)
    red = Life(tmp_path, set_up=[UNFIT]).run()
    assert (red.ending, len(red.begun(EffectKind.SET_UP))) == ("image_unfit", 1)


def test_a_red_environment_is_built_again_by_the_machine_and_the_task_lands(tmp_path: Path):
    here = life(tmp_path, L.MACHINE, set_up=[UNFIT]).run()
    assert here.ending == "merged"
    assert tried(here) == ["machine ran"]
    assert len({effect.key for effect in here.begun(EffectKind.SET_UP)}) == 2
    assert here.state.counters.interventions == 0


@pytest.mark.parametrize(
    ("moves", "kind"),
    [
        ({"baseline": [RED, RED]}, EffectKind.FIND_BASE),
        ({"find_base": [NO_PROVIDER]}, EffectKind.FIND_BASE),
        ({"implement": [coder(report={"ended": Ended.NO_FIRST_CALL}, calls=())] * 2}, EffectKind.IMPLEMENT),
        ({"merge": [MOVED] * 4}, EffectKind.REBASE),
        ({"implement": [lost] * 4}, EffectKind.IMPLEMENT),
        ({"check": [GONE]}, EffectKind.CHECK),
    ],
    ids=["baseline_red", "provider", "first_call", "main_moving", "interrupted", "runner"],
)
def test_the_machine_looks_again_where_that_costs_no_call(tmp_path: Path, moves, kind):
    left_alone = Life(tmp_path, new_state(), **moves).run()
    assert left_alone.state.stage is Stage.STOPPED
    here = life(tmp_path, L.MACHINE, **moves).run()
    assert here.ending == "merged"
    assert tried(here) == ["machine ran"]
    assert len(here.begun(kind)) > len(left_alone.begun(kind))


def test_the_machine_goes_on_with_the_very_job_that_the_engine_left_open(tmp_path: Path):
    here = life(tmp_path, L.MACHINE, implement=[GONE]).run()
    first, again = here.begun(EffectKind.IMPLEMENT)
    assert first.key == again.key
    assert [resumed for key, resumed in here.shell.asked if key == first.key] == [False, True]
    assert here.ending == "merged"


def test_each_step_acts_as_often_as_its_cap_says_for_one_task_in_all(tmp_path: Path):
    here = life(tmp_path, L.MACHINE, on={"caps": {L.MACHINE: 2}}, set_up=[UNFIT] * 9).run()
    assert here.ending == "image_unfit"
    assert len(here.begun(EffectKind.SET_UP)) == 3
    twice = {"caps": {L.SMALL: 2, L.STRONG: 1}}
    here = life(tmp_path, L.SMALL, L.STRONG, on=twice, implement=[ASKS] * 9).run()
    assert here.ending == "blocked"
    assert tried(here) == ["small ruled", "small ruled", "strong ruled"]


def test_a_small_models_ruling_reaches_the_coder_and_the_task_lands_without_a_person(tmp_path: Path):
    here = life(tmp_path, implement=[ASKS], resolve=[rules("Call it pause.")]).run()
    assert here.ending == "merged"
    (ruling,) = here.state.rulings
    assert (ruling.text, ruling.stop) == ("Call it pause.", "blocked")
    assert ruling.by is not None
    assert (ruling.by.step, ruling.by.model) == ("small", SMALL.model)
    assert here.state.counters.interventions == 0
    assert here.state.counters.coder_rounds == 2
    assert "coder_blocked stop_ruled diff_returned" in here.trail


def test_where_the_small_model_hands_up_the_strong_one_rules(tmp_path: Path):
    here = life(tmp_path, implement=[ASKS], resolve=[hands_up("two names would do"), rules("pause")]).run()
    assert here.ending == "merged"
    assert tried(here) == ["small two names would do", "strong ruled"]
    small, strong = here.begun(EffectKind.RESOLVE)
    assert (small.agent, strong.agent) == (SMALL, STRONG)
    assert (small.step, strong.step) == ("small", "strong")
    assert small.key != strong.key


def test_where_both_hand_up_the_person_is_asked_at_the_very_stop(tmp_path: Path):
    here = life(tmp_path, implement=[ASKS], resolve=[hands_up("a"), hands_up("b")]).run()
    alone = Life(tmp_path, implement=[ASKS]).run()
    assert here.state.stop == alone.state.stop
    assert tried(here) == ["small a", "strong b"]
    assert here.state.climb is None
    assert here.rule("pause")
    assert here.ending == "merged"
    (ruling,) = here.state.rulings
    assert ruling.by is None
    assert here.state.counters.interventions == 1


def test_a_stop_that_is_looked_into_does_not_pass_for_one_that_waits(tmp_path: Path):
    """Its state has no stop, and it is not over: a crash there goes on with the model's job."""
    here = life(tmp_path, implement=[ASKS], resolve=[rules("pause")]).run()
    before = [state for state in map(new_state().model_validate_json, here.saved) if state.stage == "resolve"]
    assert before
    assert all(state.stop is None and state.ended_utc is None for state in before)
    under_way = before[-1]
    assert under_way.attempt is not None
    assert begin(under_way, plan(under_way)) is under_way, "the same key: the job is found again"


def test_a_model_works_in_the_candidates_tree_or_in_the_bases_where_there_is_none(tmp_path: Path):
    early = life(tmp_path, implement=[ASKS]).run()
    (asked,) = early.begun(EffectKind.RESOLVE)
    assert (asked.start, asked.base) == ("a" * 40, "a" * 40)
    late = life(tmp_path, check=[RED] * 8).run()
    (asked,) = late.begun(EffectKind.RESOLVE)
    assert (asked.start, asked.base) == ("4c".rjust(40, "0"), "a" * 40)


def test_a_review_that_is_exhausted_goes_to_the_strong_model_alone_and_its_ruling_closes_the_points(
    tmp_path: Path,
):
    here = life(tmp_path, of={"caps": Caps(review=1)}, review=[must_fix]).run()
    assert here.ending == "merged"
    assert [effect.step for effect in here.begun(EffectKind.RESOLVE)] == ["strong"]
    assert here.state.findings[0].closed


@pytest.mark.parametrize(
    "moves",
    [
        {"check": [RED] * 8},
        {"gate": [RED] * 6},
        {"implement": [coder(report={"ended": Ended.NO_PROGRESS})]},
        {"implement": [coder(agent=agent_run(finished=False), report={"tree": tree("b")})]},
    ],
    ids=["checks", "gate", "no_progress", "agent"],
)
def test_a_question_of_judgement_is_asked_of_a_model_first(tmp_path: Path, moves):
    alone = Life(tmp_path, new_state(), **{kind: list(each) for kind, each in moves.items()}).run()
    here = life(tmp_path, L.SMALL, **moves).run()
    assert here.begun(EffectKind.RESOLVE), alone.ending
    assert here.state.tried[0].stop == alone.ending


@pytest.mark.parametrize(
    ("moves", "ending"),
    [
        ({"implement": [coder(denials=(denied("budget"),))]}, "spend_budget"),
        ({"implement": [coder(denials=(denied("price"),))]}, "unknown_price"),
        ({"implement": [coder(calls=(failed_call(401),))]}, "provider_auth"),
        ({"implement": [coder(calls=(failed_call(429),))]}, "provider_rate_limited"),
        ({"implement": [coder(report={"ended": Ended.DEADLINE})]}, "job_timeout"),
    ],
)
def test_money_time_and_keys_are_a_persons(tmp_path: Path, moves, ending):
    here = life(tmp_path, **moves).run()
    assert here.ending == ending
    assert here.state.tried == ()


def test_a_merge_that_nobody_authorised_is_a_persons(tmp_path: Path):
    here = life(tmp_path)
    here.state = here.state.model_copy(update={"authorised": False})
    assert here.run().ending == "ready_to_merge"
    assert here.state.tried == ()


def test_the_steps_of_a_reason_are_what_the_configuration_says(tmp_path: Path):
    strong = life(tmp_path, on={"reasons": {StopReason.BLOCKED: (L.STRONG,)}}, implement=[ASKS]).run()
    assert [effect.step for effect in strong.begun(EffectKind.RESOLVE)] == ["strong"]
    nobody = life(tmp_path, on={"reasons": {StopReason.BLOCKED: ()}}, implement=[ASKS]).run()
    assert (nobody.ending, nobody.state.tried) == ("blocked", ())
    more = {"reasons": {StopReason.BAD_JOB_OUTPUT: (L.SMALL,)}}
    torn = coder(report={"error": "torn"})
    assert life(tmp_path, implement=[torn]).run().ending == "bad_job_output"
    assert life(tmp_path, on=more, implement=[torn]).run().ending == "merged"


FIRST = {
    L.MACHINE: (
        *("baseline_red", "main_moving", "provider_unavailable", "agent_no_first_call"),
        *("interrupted_too_often", "runner_unavailable", "image_unfit"),
    ),
    L.SMALL: (
        *("no_change", "out_of_scope", "nested_repo", "patch_too_large", "uncapturable", "checks_exhausted"),
        *("gate_exhausted", "merge_conflict", "agent_failed", "blocked", "tests_weakened", "no_progress"),
        *("submodule_changed", "unsupported_filter"),
    ),
    L.STRONG: ("review_exhausted",),
}
"""Who meets each stop first; the others are a person's at once."""


def at_stop(folder: Path, reason: StopReason, **on) -> Life:
    """A task that has just come to a stop of this reason, in a coder's round with an image."""
    here = life(folder, on=on)
    stop = Stop(reason=reason, stage=Stage.IMPLEMENT, outcome=Outcome.CODER_BLOCKED)
    here.state = here.state.model_copy(
        update={"stage": Stage.STOPPED, "stop": stop, "base": "a" * 40, "image": "sha256:1"}
    )
    return here


@pytest.mark.parametrize("reason", list(StopReason))
def test_each_stop_is_met_first_by_whoever_may_and_can(tmp_path: Path, reason: StopReason):
    after = climb(at_stop(tmp_path, reason).state)
    met_by = after.climb.step if after.climb else (after.tried[0].step if after.tried else None)
    assert met_by == next((step for step, reasons in FIRST.items() if reason in reasons), None)


@pytest.mark.parametrize("reason", list(StopReason))
def test_no_configuration_gives_away_what_is_a_persons_or_what_a_step_cannot_lead_on_from(
    tmp_path: Path, reason: StopReason
):
    persons = ("ready_to_merge", "protected_path", "secret_found", "unknown_price", "provider_auth")
    row = STOPS[reason]
    after = climb(at_stop(tmp_path, reason, reasons={reason: tuple(L)}).state)
    may_act = reason not in persons and (row.rerun, row.ruling) != (None, None)
    assert (after.stage is not Stage.STOPPED) == may_act


def test_a_step_that_has_handed_a_stop_up_is_not_asked_about_it_again(tmp_path: Path):
    twice = {"caps": {L.SMALL: 2, L.STRONG: 2}}
    here = life(tmp_path, L.SMALL, L.STRONG, on=twice, implement=[ASKS], resolve=[hands_up("a")] * 9).run()
    assert tried(here) == ["small a", "strong a"]
    here.shell.moves[EffectKind.IMPLEMENT] = [ASKS]
    assert here.rule("pause")
    assert tried(here)[2:] == ["small a", "strong a"], "at another stop it is"


def test_a_step_that_is_not_there_is_passed_over(tmp_path: Path):
    assert life(tmp_path, L.MACHINE, implement=[ASKS]).run().ending == "blocked"
    here = life(tmp_path, L.MACHINE, L.STRONG, implement=[ASKS]).run()
    assert [effect.step for effect in here.begun(EffectKind.RESOLVE)] == ["strong"]
    assert life(tmp_path, L.SMALL, L.STRONG, set_up=[UNFIT]).run().ending == "image_unfit"


def test_without_an_image_of_a_base_that_moved_there_is_nothing_for_a_model_to_work_in(tmp_path: Path):
    """Main moved, its set-up fails, main moves again and now conflicts."""
    onto = lambda s, e: rebase_facts(s, e, "9" * 40)
    conflict = lambda _, e: RebaseFacts(key=e.key, onto="8" * 40, conflicts=("src/x.py",))
    moves = {"rebase": [onto, conflict], "set_up": [GOOD[EffectKind.SET_UP], UNFIT]}
    here = life(tmp_path, L.STRONG, **moves).run()
    assert here.ending == "image_unfit"
    assert here.goes_on("rerun", main_has_moved=True)
    assert (here.ending, here.state.tried) == ("merge_conflict", ())
    with_image = life(tmp_path, L.STRONG, rebase=[conflict]).run()
    assert (with_image.ending, tried(with_image)) == ("merged", ["strong ruled"])


BADLY = {
    "nothing": hands_up(""),
    "late": rules("x", report={"ended": Ended.DEADLINE}),
    "unfinished": rules("x", agent=agent_run(finished=False)),
    "memory": rules("x", container={"oom_killed": True}),
    "provider": rules("x", calls=(failed_call(500),)),
    "no call": rules("x", calls=()),
    "budget": rules("x", denials=(denied("budget"),)),
    "no first call": rules("x", report={"ended": Ended.NO_FIRST_CALL}, calls=()),
    "torn": rules("", report={"error": "torn"}),
}


@pytest.mark.parametrize("how", BADLY)
def test_a_job_that_does_not_end_well_hands_the_stop_up(tmp_path: Path, how):
    here = life(tmp_path, L.SMALL, implement=[ASKS], resolve=[BADLY[how]]).run()
    assert here.ending == "blocked"
    assert not here.state.rulings
    assert here.state.tried[-1].said != ""


def test_a_ruling_that_was_given_before_at_such_a_stop_hands_it_up(tmp_path: Path):
    here = life(
        tmp_path, implement=[ASKS] * 2, resolve=[rules("pause"), rules("pause"), rules("Pause")]
    ).run()
    assert here.ending == "blocked"
    assert [ruling.text for ruling in here.state.rulings] == ["pause"]
    assert here.state.tried[-1].said.startswith("its ruling repeats")


def test_a_model_that_repeats_a_persons_ruling_hands_the_stop_up(tmp_path: Path):
    here = life(tmp_path, L.STRONG, on={"reasons": {StopReason.BLOCKED: ()}}, implement=[ASKS, ASKS]).run()
    on = here.state.terms.ladder
    assert on is not None
    opened = here.state.terms.model_copy(update={"ladder": on.model_copy(update={"reasons": {}})})
    here.state = here.state.model_copy(update={"terms": opened})
    here.shell.moves[EffectKind.RESOLVE] = [rules("pause")]
    assert here.rule("pause")
    assert here.ending == "blocked"
    assert len(here.state.rulings) == 1


def test_what_a_model_costs_counts_and_comes_out_of_what_is_left(tmp_path: Path):
    dear = rules("pause", calls=(call(cost_microusd=700_000),))
    of = {"budget_microusd": 1_000_000, "reserve_microusd": 200_000}
    here = life(tmp_path, of=of, implement=[ASKS], resolve=[dear]).run()
    (asked,) = here.begun(EffectKind.RESOLVE)
    assert asked.budget_microusd == 1_000_000 - 200_000 - 1000
    assert here.state.spend.microusd == 700_000 + 1000 * 3
    assert here.ending == "merged"


@pytest.mark.parametrize("of", [{"budget_microusd": 1000}, {"budget_ms": 180_500, "reserve_ms": 60_000}])
def test_with_no_money_or_time_left_the_person_is_asked_at_once(tmp_path: Path, of):
    here = life(tmp_path, of=of, implement=[ASKS]).run()
    assert here.ending == "blocked"
    assert not here.begun(EffectKind.RESOLVE)


def test_the_model_has_no_longer_than_a_coder_would(tmp_path: Path):
    here = life(tmp_path, of={"budget_ms": 400_000, "reserve_ms": 100_000}, implement=[ASKS]).run()
    (asked,) = here.begun(EffectKind.RESOLVE)
    assert asked.deadline_ms == 400_000 - 100_000 - 2 * 60_000


def test_a_model_whose_job_is_lost_is_asked_again_and_then_handed_up(tmp_path: Path):
    once = life(tmp_path, L.SMALL, implement=[ASKS], resolve=[LOST]).run()
    assert once.ending == "merged"
    assert len(once.begun(EffectKind.RESOLVE)) == 2
    assert tried(once) == ["small ruled"]
    again = life(tmp_path, L.SMALL, implement=[ASKS], resolve=[LOST] * 9).run()
    assert again.ending == "blocked"
    assert len(again.begun(EffectKind.RESOLVE)) == Caps().interruptions + 1
    assert "job_interrupted_too_often" not in again.trail


def test_a_lost_job_that_took_the_rest_of_the_money_hands_up_unasked(tmp_path: Path):
    dear = lambda s, e: LOST(s, e).model_copy(
        update={"end": LOST(s, e).end.model_copy(update={"ledger": resolver_end(e.key, calls=COSTLY).ledger})}
    )
    of = {"budget_microusd": 1_000_000}
    here = life(tmp_path, L.SMALL, of=of, implement=[ASKS], resolve=[dear]).run()
    assert here.ending == "blocked"
    assert here.trail.endswith("coder_blocked job_interrupted stop_handed_up")
    assert tried(here) == ["small no money or time was left to ask it"]


COSTLY = (call(cost_microusd=2_000_000),)


def test_an_engine_that_goes_while_a_model_is_asked_stops_and_a_rerun_finds_the_job(tmp_path: Path):
    here = life(tmp_path, L.SMALL, implement=[ASKS], resolve=[GONE, rules("pause")]).run()
    assert here.ending == "runner_unavailable"
    assert here.state.climb is not None
    assert here.goes_on("rerun")
    first, again = here.begun(EffectKind.RESOLVE)
    assert first.key == again.key
    assert here.ending == "merged"


def test_the_machine_looks_again_while_a_model_is_asked(tmp_path: Path):
    here = life(tmp_path, implement=[ASKS], resolve=[GONE, rules("pause")]).run()
    assert here.ending == "merged"
    assert tried(here) == ["machine ran", "small ruled"]


def test_an_edit_answers_the_stop_itself_and_not_the_one_of_the_model_that_was_asked(tmp_path: Path):
    here = life(tmp_path, L.SMALL, implement=[ASKS], resolve=[GONE]).run()
    after = resume(here.state, "task_edited")
    assert after is not None
    assert (after.stage, after.climb) == (Stage.IMPLEMENT, None)
    assert after.spend.lower_bound, "of the job that the engine took along the cost stays unknown"


def test_an_edit_while_a_model_is_asked_about_a_gate_still_voids_the_approval(tmp_path: Path):
    late = commands(report={"ended": Ended.DEADLINE})
    on = {"reasons": {StopReason.JOB_TIMEOUT: (L.SMALL,)}}
    here = life(tmp_path, L.SMALL, on=on, gate=[late], resolve=[GONE]).run()
    assert here.ending == "runner_unavailable"
    after = resume(here.state, "task_edited")
    assert after is not None
    assert after.stage is Stage.REVIEW


def guarded(folder: Path, *guards: Escalation, asks=ASKS, **on) -> Life:
    return life(folder, on={"escalate_if": guards} | on, implement=[asks]).run()


def test_a_task_of_high_risk_goes_straight_to_the_person(tmp_path: Path):
    here = guarded(tmp_path, Escalation.RISK_HIGH, risk_high=True)
    assert (here.ending, here.state.tried) == ("blocked", ())
    assert guarded(tmp_path, Escalation.RISK_HIGH).ending == "merged"
    assert guarded(tmp_path, risk_high=True).ending == "merged"
    unfit = life(
        tmp_path, on={"escalate_if": (Escalation.RISK_HIGH,), "risk_high": True}, set_up=[UNFIT]
    ).run()
    assert unfit.ending == "image_unfit"


@pytest.mark.parametrize(
    "question",
    [
        "Shall I change `../other/api.py` too?",
        "It needs git@example.org:team/other.git.",
        "See https://example.org/team/other.git: which version?",
        "ssh://git@example.org/other is needed",
    ],
)
def test_a_question_about_another_repository_goes_straight_to_the_person(tmp_path: Path, question):
    asks = coder(result=AgentResult(outcome="blocked", question=question))
    assert guarded(tmp_path, Escalation.CROSS_REPO, asks=asks).ending == "blocked"
    assert guarded(tmp_path, asks=asks).ending == "merged"


@pytest.mark.parametrize(
    "question", ["Which name?", "src/../a.py or .github?", "See https://example.org/doc"]
)
def test_a_question_about_this_repository_does_not(tmp_path: Path, question):
    asks = coder(result=AgentResult(outcome="blocked", question=question))
    assert guarded(tmp_path, Escalation.CROSS_REPO, asks=asks).ending == "merged"


def test_only_what_the_coder_asks_can_be_about_another_repository(tmp_path: Path):
    """The commands of checks are the repo's own, whatever they name."""
    red = commands(command("unit", 1, run="cd ../other && make"))
    on = {"escalate_if": (Escalation.CROSS_REPO,)}
    here = life(tmp_path, on=on, check=[red] * 8).run()
    assert here.state.tried[0].stop == "checks_exhausted"


def at(line: int | None, path: str = "src/x.py"):
    """A review with a new must-fix at a line."""

    def move(state, effect) -> ReviewFacts:
        number = state.counters.findings + 1
        found = Finding(
            id=f"F{number}", severity=Severity.MUST_FIX, path=path, line=line, text="no", round=effect.round
        )
        return ReviewFacts(key=effect.key, end=review_end(effect.key), findings=(found,))

    return move


def still_there(state, effect) -> ReviewFacts:
    """A review that raises the first point again, and another one beside it."""
    again = state.findings[0].model_copy(update={"round": effect.round})
    beside = again.model_copy(update={"id": "F2", "line": 12})
    return ReviewFacts(key=effect.key, end=review_end(effect.key), findings=(again, beside))


@pytest.mark.parametrize(
    ("reviews", "ending"),
    [
        ([at(10), at(12)], "review_exhausted"),
        ([at(10), at(15)], "review_exhausted"),
        ([at(10), at(16)], "merged"),
        ([at(10), at(10, "src/y.py")], "merged"),
        ([at(None), at(10)], "merged"),
        ([at(10), still_there], "merged"),
    ],
    ids=["near", "nearest", "far", "elsewhere", "nowhere", "still there"],
)
def test_reviews_that_contradict_each_other_go_straight_to_the_person(tmp_path: Path, reviews, ending):
    on = {"escalate_if": (Escalation.CONFLICTING_REVIEWS,)}
    here = life(tmp_path, on=on, of={"caps": Caps(review=2)}, review=list(reviews)).run()
    assert here.ending == ending
    assert life(tmp_path, of={"caps": Caps(review=2)}, review=list(reviews)).run().ending == "merged"


def test_an_approval_that_a_later_review_of_the_same_candidate_takes_back_does_so_too(tmp_path: Path):
    on = {"escalate_if": (Escalation.CONFLICTING_REVIEWS,)}
    for guards, ending in ((on, "review_exhausted"), ({}, "merged")):
        here = life(tmp_path, on=guards, of={"caps": Caps(review=2)})
        here.state = here.state.model_copy(update={"authorised": False})
        assert here.run().ending == "ready_to_merge"
        here.shell.moves[EffectKind.REVIEW] = [must_fix]
        here.state = here.state.model_copy(update={"authorised": True})
        assert here.goes_on("task_edited")
        assert here.ending == ending


def test_a_model_that_is_asked_takes_no_round_and_is_no_intervention(tmp_path: Path):
    here = life(tmp_path, implement=[ASKS], resolve=[hands_up()] * 2).run()
    assert here.state.counters == Counters(
        coder_rounds=1, jobs=here.state.counters.jobs, effects=here.state.counters.effects
    )
    assert here.state.spend == Spend(microusd=3000, job_ms=here.state.spend.job_ms)
    assert Outcome.STOP_HANDED_UP in here.noted.outcomes
