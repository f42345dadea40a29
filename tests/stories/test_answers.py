"""What a person types at a stop: a grant, an allowance, a ruling, or that the task is put aside."""

from pathlib import Path

import pytest

from instrument.schema.job import AgentResult
from instrument.schema.state import Caps
from instrument.schema.vocabulary import EffectKind, Ended, Stage, StopReason
from loop.machine.budget import caps_of
from loop.machine.facts import CandidateProblem, MergeFacts
from loop.machine.lift import least_cap
from loop.machine.resume import record_ruling, resume
from support.ends import call, denied, tree
from support.lives import (
    RED,
    Life,
    coder,
    commands,
    lost,
    must_fix,
    new_state,
    problem,
    rebase_facts,
    terms,
)

SMALL = Caps(check=1, review=2, gate=1, main_moved=1, interruptions=1)
MOVED = lambda _, e: MergeFacts(key=e.key, result="moved")
MANY = 12

CAPPED = {
    "check": ("checks_exhausted", {"check": [RED] * MANY}),
    "review": ("review_exhausted", {"review": [must_fix] * MANY}),
    "gate": ("gate_exhausted", {"gate": [RED] * MANY}),
    "main_moved": ("main_moving", {"merge": [MOVED] * MANY}),
    "interruptions": ("interrupted_too_often", {"implement": [lost] * MANY}),
}
TRIES = {
    "check": lambda life: life.state.counters.coder_rounds - 1,
    "review": lambda life: life.state.counters.review_rounds,
    "gate": lambda life: life.state.counters.coder_rounds - 1,
    "main_moved": lambda life: len(life.begun(EffectKind.MERGE)) - 1,
    "interruptions": lambda life: len(life.begun(EffectKind.IMPLEMENT)) - 1,
}
"""What a cap of the name is a cap of."""


def at_cap(folder: Path, counter: str) -> Life:
    reason, moves = CAPPED[counter]
    life = Life(folder, new_state(terms=terms(caps=SMALL)), **moves).run()
    assert life.ending == reason
    return life


@pytest.mark.parametrize("counter", CAPPED)
def test_a_cap_is_what_happens_at_most_before_a_person_is_asked(tmp_path: Path, counter):
    assert TRIES[counter](at_cap(tmp_path, counter)) == getattr(SMALL, counter)


@pytest.mark.parametrize("more", [1, 3])
@pytest.mark.parametrize("counter", CAPPED)
def test_a_grant_sets_the_cap_and_never_adds(tmp_path: Path, counter, more):
    life = at_cap(tmp_path, counter)
    cap = getattr(SMALL, counter) + more
    assert life.grant(counter, cap)
    assert life.ending == CAPPED[counter][0]
    assert TRIES[counter](life) == cap
    assert getattr(caps_of(life.state), counter) == cap


@pytest.mark.parametrize("counter", CAPPED)
def test_a_grant_that_is_too_small_leaves_the_task_where_it_is(tmp_path: Path, counter):
    life = at_cap(tmp_path, counter)
    begun = len(life.shell.effects)
    assert not life.grant(counter, least_cap(life.state, counter) - 1)
    assert not life.grant(counter, 0)
    assert life.ending == CAPPED[counter][0]
    assert len(life.shell.effects) == begun
    assert life.grant(counter, least_cap(life.state, counter))


@pytest.mark.parametrize("counter", CAPPED)
def test_the_same_grant_again_buys_nothing(tmp_path: Path, counter):
    life = at_cap(tmp_path, counter)
    cap = getattr(SMALL, counter) + 1
    assert life.grant(counter, cap)
    assert not life.grant(counter, cap)


@pytest.mark.parametrize("counter", ["check", "gate", "review"])
def test_a_grant_that_is_enough_leads_to_a_merge(tmp_path: Path, counter):
    life = at_cap(tmp_path, counter)
    life.shell.moves.clear()
    assert life.grant(counter, 9)
    assert life.ending == "merged"


def test_a_grant_counts_as_an_intervention(tmp_path: Path):
    life = at_cap(tmp_path, "check")
    life.grant("check", 2)
    assert life.state.counters.interventions == 1


@pytest.mark.parametrize("counter", ["gate", "review", "usd", "minutes"])
def test_a_grant_of_something_else_does_not_lift_a_stop(tmp_path: Path, counter):
    life = at_cap(tmp_path, "check")
    assert not life.grant(counter, 10**9)
    assert life.ending == "checks_exhausted"


def test_a_ruling_at_a_cap_leaves_the_next_grant_where_the_cap_is(tmp_path: Path):
    life = at_cap(tmp_path, "review")
    assert life.rule("F2 is no matter")
    assert life.state.counters.review_rounds == 3
    assert least_cap(life.state, "review") == 4
    assert not life.grant("review", 3)
    assert life.grant("review", 4)


def test_a_review_cap_of_a_task_that_was_never_reviewed_is_no_stop(tmp_path: Path):
    assert least_cap(new_state(), "review") == 1
    assert Life(tmp_path, new_state(terms=terms(caps=Caps(review=1)))).run().ending == "merged"


def test_a_grant_of_dollars_goes_on_where_something_is_left_of_it(tmp_path: Path):
    life = Life(tmp_path, new_state(terms=terms(budget_microusd=1000))).run()
    assert (life.ending, life.state.stop.stage) == ("spend_budget", Stage.REVIEW)
    begun = len(life.shell.effects)
    assert not life.grant("usd", 1000)
    assert len(life.shell.effects) == begun
    assert life.grant("usd", 1001)
    assert life.ending == "merged"
    assert life.begun(EffectKind.REVIEW)[0].budget_microusd == 1


def test_a_grant_of_minutes_goes_on_where_a_job_can_run_in_it(tmp_path: Path):
    life = Life(tmp_path, new_state(terms=terms(budget_ms=120_000))).run()
    assert (life.ending, life.state.stop.stage) == ("time_budget", Stage.CHECK)
    assert not life.grant("minutes", 120_999)
    assert life.grant("minutes", 121_000)
    assert life.begun(EffectKind.CHECK)[0].deadline_ms == 1000
    assert life.ending == "time_budget", "the next job has nothing left"
    assert life.grant("minutes", 600_000)
    assert life.ending == "merged"


def test_a_grant_survives_a_rebase_onto_new_terms(tmp_path: Path):
    def onto_new_terms(state, effect):
        facts = rebase_facts(state, effect, onto="9" * 40)
        return facts.model_copy(update={"terms": terms(caps=Caps(check=0, gate=0), budget_microusd=1)})

    life = at_cap(tmp_path, "check")
    life.shell.moves = {EffectKind.REBASE: [onto_new_terms], EffectKind.GATE: [RED] * 2}
    life.grant("gate", 5)
    life.grant("usd", 10**6)
    assert life.grant("check", 5)
    assert life.state.terms.caps.gate == 0
    assert (caps_of(life.state).gate, caps_of(life.state).check) == (5, 5)
    assert life.trail.count(" gate_failed") == 1
    assert life.ending == "merged"


def test_a_grant_below_the_terms_is_a_cap_too(tmp_path: Path):
    life = Life(tmp_path, implement=[coder(report={"tree": tree("b")})], check=[RED] * MANY).run()
    assert not life.grant("check", 1)
    assert life.rule("go on")
    assert life.ending == "checks_exhausted"
    assert life.state.counters.check_failures == 1


@pytest.mark.parametrize(
    "kind", [CandidateProblem.OUT_OF_SCOPE, CandidateProblem.PROTECTED, CandidateProblem.SECRET]
)
def test_allow_judges_the_same_diff_again(tmp_path: Path, kind):
    life = Life(tmp_path, commit_candidate=[problem(kind, "docs/x.md")]).run()
    assert life.allow("docs/**")
    assert life.ending == "merged"
    assert life.state.allowed == ("docs/**",)
    assert life.state.counters.coder_rounds == 1, "no model is asked"
    first, second = life.begun(EffectKind.COMMIT_CANDIDATE)
    assert first.pending == second.pending
    assert first.key != second.key


def test_a_diff_that_needs_more_than_was_allowed_stops_again(tmp_path: Path):
    twice = [problem(CandidateProblem.PROTECTED, path) for path in ("CLAUDE.md", "tasks/x")]
    life = Life(tmp_path, commit_candidate=twice).run()
    assert life.allow("CLAUDE.md")
    assert (life.ending, life.state.stop.details) == ("protected_path", ("tasks/x",))
    assert life.allow("tasks/x")
    assert life.ending == "merged"
    assert life.state.allowed == ("CLAUDE.md", "tasks/x")


LIVES_ELSEWHERE = {
    "no_change": {"implement": [coder(report={"tree": tree("b")})]},
    "checks_exhausted": {"check": [RED] * MANY},
}


@pytest.mark.parametrize("reason", LIVES_ELSEWHERE)
def test_an_allowance_lifts_no_other_stop(tmp_path: Path, reason):
    life = Life(tmp_path, **LIVES_ELSEWHERE[reason]).run()
    assert life.ending == reason
    assert not life.allow("x")


def test_a_parked_task_stays_parked_on_a_bare_rerun(tmp_path: Path):
    life = Life(tmp_path, baseline=[RED] * 2).run().park("after the holidays")
    assert life.ending == "parked"
    assert life.state.stop.details == ("after the holidays",)
    assert not life.goes_on("rerun")
    assert not life.goes_on("rerun", main_has_moved=True)
    assert life.ending == "parked"


def parked_ready(folder):
    return Life(folder, new_state(authorised=False)).run().park()


def parked_checks(folder):
    return at_cap(folder, "check").park()


def parked_scope(folder):
    return Life(folder, commit_candidate=[problem(CandidateProblem.OUT_OF_SCOPE, "x")]).run().park()


def parked_money(folder):
    return Life(folder, new_state(terms=terms(budget_microusd=1000))).run().park()


TAKEN_UP = {
    "merge": (parked_ready, lambda life: life.goes_on("auto_merge"), "merged"),
    "more work": (parked_ready, lambda life: life.rule("say more"), "ready_to_merge"),
    "a cap": (parked_checks, lambda life: life.grant("check", 2), "checks_exhausted"),
    "a ruling": (parked_checks, lambda life: life.rule("again"), "checks_exhausted"),
    "a path": (parked_scope, lambda life: life.allow("x"), "merged"),
    "no path": (parked_scope, lambda life: life.rule("leave x"), "merged"),
    "an edit": (parked_scope, lambda life: life.goes_on("task_edited"), "merged"),
    "dollars": (parked_money, lambda life: life.grant("usd", 10**6), "merged"),
}


@pytest.mark.parametrize("answer", TAKEN_UP)
def test_any_answer_takes_a_parked_task_up_where_it_was_parked(tmp_path: Path, answer):
    parked, act, ending = TAKEN_UP[answer]
    life = parked(tmp_path)
    assert life.ending == "parked"
    assert act(life)
    assert life.ending == ending
    assert life.state.parked is None


def test_an_answer_that_did_not_help_before_does_not_help_a_parked_task(tmp_path: Path):
    life = parked_checks(tmp_path)
    assert not life.grant("check", 1)
    assert not life.goes_on("auto_merge")
    assert not life.allow("x")
    assert life.ending == "parked"


def test_parked_twice_is_parked_at_the_first_stop_with_the_last_reason(tmp_path: Path):
    life = parked_scope(tmp_path).park("still not")
    assert life.state.stop.details == ("still not",)
    assert life.state.parked.reason is StopReason.OUT_OF_SCOPE
    assert life.allow("x")
    assert life.ending == "merged"


def test_a_ruling_on_a_parked_task_answers_the_stop_it_was_parked_at(tmp_path: Path):
    life = parked_scope(tmp_path)
    life.rule("leave x alone")
    assert [ruling.stop for ruling in life.state.rulings] == [StopReason.OUT_OF_SCOPE]


def test_a_parked_task_keeps_its_evidence_and_offers_no_choices(tmp_path: Path):
    limited = coder(calls=(call(status=429, retry_after_s=60, cost_microusd=0),))
    life = Life(tmp_path, implement=[limited]).run()
    folder = life.state.stop.folder
    assert life.state.stop.retry_at_utc is not None
    stop = life.park().state.stop
    assert stop.folder == folder
    assert (stop.choices, stop.retry_at_utc) == ((), None), "nobody waits for a parked task"


def test_a_ruling_on_one_finding_closes_that_one(tmp_path: Path):
    life = Life(tmp_path, new_state(terms=terms(caps=Caps(review=2))), review=[must_fix] * 2).run()
    assert life.rule("F1 is by design", finding="F1")
    assert [(f.id, f.closed) for f in life.state.findings] == [("F1", True), ("F2", False)]
    assert [ruling.finding for ruling in life.state.rulings] == ["F1"]


def test_a_ruling_on_one_finding_closes_it_at_any_stop(tmp_path: Path):
    life = Life(tmp_path, review=[must_fix], implement=[coder(), coder(report={"tree": tree("b")})]).run()
    assert life.ending == "no_change"
    life.state = record_ruling(life.state, "F1 is by design", finding="F1")
    assert [f.closed for f in life.state.findings] == [True]
    assert life.goes_on("ruling")


def test_a_ruling_on_a_finding_does_not_open_another_that_is_closed(tmp_path: Path):
    life = Life(tmp_path, new_state(terms=terms(caps=Caps(review=1))), review=[must_fix] * 2).run()
    assert life.rule("never mind")
    assert life.ending == "review_exhausted"
    assert life.rule("nor this", finding="F2")
    assert [f.closed for f in life.state.findings] == [True, True]


def test_six_stops_in_a_row_and_the_task_lands(tmp_path: Path):
    asks = coder(result=AgentResult(outcome="blocked", question="which?"))
    unready = new_state(authorised=False, terms=terms(caps=Caps(review=1), budget_microusd=3000))
    protected = problem(CandidateProblem.PROTECTED, "CLAUDE.md")
    life = Life(tmp_path, unready, implement=[asks], review=[must_fix], commit_candidate=[protected])
    assert life.run().ending == "blocked"
    life.rule("the first")
    assert life.ending == "protected_path"
    life.allow("CLAUDE.md")
    assert life.ending == "review_exhausted"
    life.grant("review", 2)
    assert life.ending == "spend_budget"
    life.grant("usd", 10**6)
    assert life.ending == "ready_to_merge"
    life.park("tomorrow")
    assert life.ending == "parked"
    assert life.goes_on("auto_merge")
    assert life.ending == "merged"
    assert life.state.counters.interventions == 4


def test_a_stop_by_the_proxy_is_lifted_by_dollars_alone(tmp_path: Path):
    move = coder(denials=(denied("budget"),), report={"ended": Ended.EXITED})
    life = Life(tmp_path, new_state(terms=terms(budget_microusd=1500)), implement=[move]).run()
    assert life.ending == "spend_budget"
    assert resume(life.state, "grant", counter="minutes") is None
    assert life.grant("usd", 10**6)
    assert life.ending == "merged"


def test_a_grant_at_a_stop_before_the_baseline_finds_the_branch_anew(tmp_path: Path):
    late = commands(report={"ended": Ended.DEADLINE}, seconds=600)
    life = Life(tmp_path, new_state(terms=terms(budget_ms=600_000)), baseline=[late]).run()
    assert (life.ending, life.state.stop.stage) == ("time_budget", Stage.READY)
    assert life.grant("minutes", 10**7)
    assert life.trail.count("base_found") == 2
    assert life.ending == "merged"


@pytest.mark.parametrize("kind", ["check", "gate"])
def test_a_ruling_at_a_cap_tells_the_coder_what_failed_last(tmp_path: Path, kind):
    told = []

    def listening(state, effect):
        told.append([failure.command.name for failure in state.failures])
        return coder()(state, effect)

    none = new_state(terms=terms(caps=Caps(check=0, gate=0)))
    life = Life(tmp_path, none, implement=[listening] * 2, **{kind: [RED] * 2}).run()
    assert life.rule("try x")
    assert told == [[], ["unit"]]


def test_a_rerun_after_main_moved_too_often_begins_to_count_anew(tmp_path: Path):
    life = Life(tmp_path, merge=[MOVED] * 8).run()
    assert life.goes_on("rerun")
    assert life.ending == "main_moving"
    assert life.trail.count("main_moved rebased") == 6


def test_a_rerun_at_another_stop_does_not_forget_how_often_main_moved(tmp_path: Path):
    refused = lambda _, e: MergeFacts(key=e.key, result="refused")
    life = Life(tmp_path, merge=[MOVED, MOVED, refused, MOVED, MOVED]).run()
    assert life.ending == "push_rejected"
    assert life.goes_on("rerun")
    assert life.ending == "main_moving"


@pytest.mark.parametrize("how", ["rerun", "ruling", "task_edited", "grant", "allow"])
def test_a_task_that_landed_goes_nowhere(tmp_path: Path, how):
    assert not Life(tmp_path).run().goes_on(how)
