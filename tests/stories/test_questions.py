"""What a coder may say of its task: that it is blocked, or that nothing is to be done."""

from pathlib import Path

import pytest

from instrument.schema.job import AgentResult
from instrument.schema.state import Caps
from instrument.schema.vocabulary import EffectKind, Ended, Stage
from loop.machine.facts import CandidateProblem
from support.ends import agent_run, command, tree
from support.lives import (
    GOOD,
    RED,
    Life,
    coder,
    commands,
    lost,
    must_fix,
    new_state,
    problem,
    reviewer,
    terms,
)

UNCHANGED = {"report": {"tree": tree("b")}}
ASKS = AgentResult(outcome="blocked", question="which of the two?", choices=("the first", "the second"))
CLAIM = coder(result=AgentResult(outcome="no_change_needed", summary="x is there"), **UNCHANGED)
REVIEW_ONCE = {"terms": terms(caps=Caps(review=1))}


def test_blocked_asks_its_question_first_and_offers_its_choices(tmp_path: Path):
    life = Life(tmp_path, implement=[coder(result=ASKS)]).run()
    assert life.ending == "blocked"
    assert life.trail.endswith("coder_blocked")
    assert life.state.stop.details[0] == "which of the two?"
    assert life.state.stop.choices == ("the first", "the second")
    assert not life.goes_on("rerun")
    assert life.rule("the first")
    assert life.ending == "merged"
    assert life.state.counters.coder_rounds == 2


def test_nothing_of_a_blocked_coders_tree_is_kept(tmp_path: Path):
    life = Life(tmp_path, implement=[coder(result=ASKS)]).run()
    assert (life.state.pending, life.state.candidate) == (None, None)
    assert life.rule("the first")
    assert [effect.start for effect in life.begun(EffectKind.IMPLEMENT)] == ["a" * 40] * 2
    assert len(life.begun(EffectKind.COMMIT_CANDIDATE)) == 1


def test_blocked_goes_on_after_an_edit_with_another_round(tmp_path: Path):
    life = Life(tmp_path, implement=[coder(result=ASKS)]).run()
    assert life.goes_on("task_edited")
    assert life.state.counters.coder_rounds == 2


def test_a_coder_that_did_not_finish_asks_nothing(tmp_path: Path):
    life = Life(tmp_path, implement=[coder(result=ASKS, agent=agent_run(finished=False))]).run()
    assert life.ending == "merged"


def test_choices_are_offered_only_where_they_are_asked_for(tmp_path: Path):
    life = Life(tmp_path, implement=[coder(result=ASKS, report={"ended": Ended.DEADLINE})]).run()
    assert life.ending == "job_timeout"
    assert life.state.stop.choices == ()


def test_already_satisfied_is_declared_by_the_coder_and_confirmed_by_the_reviewer(tmp_path: Path):
    life = Life(tmp_path, implement=[CLAIM]).run()
    assert life.trail.endswith("baseline_passed no_change_declared no_change_confirmed")
    assert life.ending == "already_satisfied"
    assert life.state.stage is Stage.DONE
    assert life.state.declared == "x is there"
    (review,) = life.begun(EffectKind.REVIEW)
    assert (review.start, review.base) == ("a" * 40, "a" * 40)
    assert [mark.commit for mark in life.state.reviews] == ["a" * 40]


def test_a_claim_without_words_is_one(tmp_path: Path):
    silent = coder(result=AgentResult(outcome="no_change_needed"), **UNCHANGED)
    assert Life(tmp_path, implement=[silent]).run().ending == "already_satisfied"


def test_a_claim_that_the_reviewer_does_not_share_sends_the_coder_to_work(tmp_path: Path):
    life = Life(tmp_path, implement=[CLAIM], review=[must_fix]).run()
    assert life.trail.count("no_change_declared must_fix_found diff_returned") == 1
    assert life.ending == "merged"
    assert life.state.declared == ""
    assert life.state.counters.review_rounds == 2


def test_a_claim_is_reviewed_again_after_what_was_no_verdict(tmp_path: Path):
    life = Life(tmp_path, implement=[CLAIM], review=[reviewer(fault="no_block")]).run()
    assert life.trail.endswith("no_change_declared verdict_missing no_change_confirmed")


def test_a_claim_at_the_last_review_is_settled_by_a_ruling(tmp_path: Path):
    life = Life(tmp_path, new_state(**REVIEW_ONCE), implement=[CLAIM], review=[must_fix]).run()
    assert life.ending == "review_exhausted"
    assert life.rule("F1 is no matter")
    assert life.ending == "already_satisfied"


@pytest.mark.parametrize("act", ["task_edited", "grant"])
def test_a_claim_at_the_last_review_is_dropped_where_the_coder_goes_on(tmp_path: Path, act):
    life = Life(tmp_path, new_state(**REVIEW_ONCE), implement=[CLAIM], review=[must_fix]).run()
    going = life.grant("review", 2) if act == "grant" else life.goes_on("task_edited")
    assert going
    told = [line for line in life.saved if '"kind":"job.implement"' in line]
    assert '"declared":""' in told[-1]


@pytest.mark.parametrize("before", [RED, "must_fix"])
def test_with_a_candidate_nothing_to_do_is_no_claim(tmp_path: Path, before):
    moves = {"review": [must_fix]} if before == "must_fix" else {"check": [RED] * 2}
    life = Life(tmp_path, implement=[GOOD[EffectKind.IMPLEMENT], CLAIM], **moves).run()
    assert life.ending == "no_change"


def test_a_task_whose_checks_must_turn_green_cannot_be_satisfied_already(tmp_path: Path):
    life = Life(tmp_path, new_state(terms=terms(turns_green=("unit",))), baseline=[RED], implement=[CLAIM])
    assert life.run().ending == "no_change"


def test_a_claim_of_a_coder_that_did_change_something_is_none(tmp_path: Path):
    claim = coder(result=AgentResult(outcome="no_change_needed"))
    assert Life(tmp_path, implement=[claim]).run().ending == "merged"


def test_a_claim_of_a_coder_that_crashed_is_none(tmp_path: Path):
    crashed = coder(
        result=AgentResult(outcome="no_change_needed"), agent=agent_run(finished=False), **UNCHANGED
    )
    assert Life(tmp_path, implement=[crashed]).run().ending == "agent_failed"


@pytest.mark.parametrize(
    ("kind", "reason", "is_kept", "is_judged_again"),
    [
        (CandidateProblem.WEAKENED, "tests_weakened", True, True),
        (CandidateProblem.SECRET, "secret_found", True, False),
        (CandidateProblem.SUBMODULE, "submodule_changed", False, False),
        (CandidateProblem.FILTER, "unsupported_filter", False, False),
        (CandidateProblem.OUT_OF_SCOPE, "out_of_scope", True, True),
        (CandidateProblem.PROTECTED, "protected_path", True, True),
        (CandidateProblem.NESTED, "nested_repo", False, False),
        (CandidateProblem.UNPROVEN, "patch_integrity", False, False),
    ],
)
def test_a_diff_is_judged_again_after_an_edit_only_where_a_person_may_let_it_pass(
    tmp_path: Path, kind, reason, is_kept, is_judged_again
):
    life = Life(tmp_path, commit_candidate=[problem(kind, "src/x.py:3")]).run()
    assert life.ending == reason
    assert life.state.stop.details == ("src/x.py:3",)
    assert (life.state.pending is not None) is is_kept
    assert life.goes_on("task_edited")
    assert life.ending == "merged"
    assert life.state.counters.coder_rounds == (1 if is_judged_again else 2)


@pytest.mark.parametrize("kind", [CandidateProblem.WEAKENED, CandidateProblem.SECRET])
def test_a_ruling_on_a_diff_begins_another_round_without_it(tmp_path: Path, kind):
    life = Life(tmp_path, commit_candidate=[problem(kind, "src/x.py:3")]).run()
    assert life.rule("leave it as it was")
    assert life.ending == "merged"
    assert life.state.counters.coder_rounds == 2


LIMITS = {
    "no_progress": {"report": {"ended": Ended.NO_PROGRESS, "stalled_command": "make", "stalled_count": 11}},
    "pids_limit": {"report": {"pids_refused": 3}, "agent": agent_run(finished=False)},
    "disk_full": {"report": {"ended": Ended.DISK}},
}


JOBS = ("baseline", "implement", "check", "review", "gate")
AGENTS = ("implement", "review")


@pytest.mark.parametrize(
    ("reason", "stage"),
    [(reason, stage) for reason in LIMITS for stage in (AGENTS if reason == "no_progress" else JOBS)],
)
def test_what_a_job_ran_out_of_is_a_stop_at_its_stage(tmp_path: Path, reason, stage):
    make = {"implement": coder, "review": reviewer}.get(stage, lambda **c: commands(command("unit", 1), **c))
    life = Life(tmp_path, **{stage: [make(**LIMITS[reason])]}).run()
    assert life.ending == reason
    assert life.state.stop.stage.value == {"baseline": "ready"}.get(stage, stage)
    assert (life.state.pending, life.state.first_run, life.state.failures) == (None, (), ())
    assert not life.goes_on("rerun")
    assert life.rule("do it another way")
    assert life.ending == "merged"


@pytest.mark.parametrize("stage", JOBS)
def test_a_refused_process_stops_no_job_that_copes_with_it(tmp_path: Path, stage):
    """`make -j` starts fewer; an agent sees the refusal and goes on."""
    make = {"implement": coder, "review": reviewer}.get(stage, lambda **c: commands(command(), **c))
    assert Life(tmp_path, **{stage: [make(report={"pids_refused": 3})]}).run().ending == "merged"


@pytest.mark.parametrize("stage", AGENTS)
def test_a_refused_process_is_why_an_agent_left_nothing_to_read(tmp_path: Path, stage):
    silent = {"implement": coder, "review": reviewer}[stage](report={"pids_refused": 3}, agent=None)
    assert Life(tmp_path, **{stage: [silent]}).run().ending == "pids_limit"


def test_no_progress_names_the_command_and_how_often(tmp_path: Path):
    life = Life(tmp_path, implement=[coder(**LIMITS["no_progress"])]).run()
    assert "run 11 times without a change: make" in life.state.stop.details


def test_a_claim_survives_a_lost_reviewer(tmp_path: Path):
    def gone(state, effect):
        facts = lost(state, effect)
        return reviewer()(state, effect).model_copy(update={"end": facts.end})

    life = Life(tmp_path, implement=[CLAIM], review=[gone]).run()
    assert life.trail.endswith("no_change_declared job_interrupted no_change_confirmed")


def test_a_coder_that_says_done_and_changed_nothing_claims_nothing(tmp_path: Path):
    life = Life(tmp_path, implement=[coder(result=AgentResult(outcome="done"), **UNCHANGED)]).run()
    assert life.ending == "no_change"
