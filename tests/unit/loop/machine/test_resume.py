import pytest

from instrument.schema.state import Candidate, Caps, Counters, Landing, PendingDiff, Stop
from instrument.schema.vocabulary import Outcome, Severity, Stage, StopReason
from loop.machine.resume import open_findings, record_ruling, resume, ruling_digest
from loop.machine.stops import STOPS
from support.ends import command, finding
from support.lives import new_state, terms

HOWS = ("rerun", "ruling", "auto_merge", "task_edited", "grant", "allow")


def stopped(reason, stage=Stage.IMPLEMENT, **changes):
    stop = Stop(reason=reason, stage=stage, outcome=Outcome.ENGINE_FAILED)
    return new_state(stage=Stage.STOPPED, stop=stop, **changes)


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("stage", [Stage.READY, Stage.CHECK, Stage.DONE])
def test_a_task_that_is_not_stopped_is_not_resumed(stage, how):
    assert resume(new_state(stage=stage), how) is None


@pytest.mark.parametrize("how", HOWS)
def test_no_act_but_restart_helps_a_state_that_cannot_be_read(how):
    assert resume(stopped(StopReason.STATE_CORRUPT), how, main_has_moved=True) is None


@pytest.mark.parametrize("reason", StopReason)
def test_auto_merge_is_an_answer_to_ready_to_merge_alone(reason):
    after = resume(stopped(reason, Stage.GATE), "auto_merge")
    assert (after is not None) is (reason is StopReason.READY_TO_MERGE)
    assert after is None or after.stage is Stage.MERGE


@pytest.mark.parametrize("reason", StopReason)
def test_a_resumed_task_has_no_stop_and_stands_where_the_table_of_stops_says(reason):
    for how, target in (("rerun", STOPS[reason].rerun), ("ruling", STOPS[reason].ruling)):
        after = resume(stopped(reason, Stage.CHECK), how)
        if target is None:
            assert after is None
        else:
            assert after.stage is (Stage.CHECK if target is Stage.STOPPED else target)
            assert after.stop is None
            assert after.seq == 1


@pytest.mark.parametrize("reason", [r for r in StopReason if STOPS[r].edit])
@pytest.mark.parametrize("stage", [Stage.REBASE, Stage.GATE, Stage.MERGE])
def test_an_edit_voids_an_approval(reason, stage):
    after = resume(stopped(reason, stage), "task_edited")
    assert after.stage in (Stage.READY, Stage.IMPLEMENT, Stage.REVIEW)


@pytest.mark.parametrize(
    ("reason", "stage", "target"),
    [
        (StopReason.READY_TO_MERGE, Stage.GATE, Stage.REBASE),
        (StopReason.MERGE_CONFLICT, Stage.REBASE, Stage.REBASE),
        (StopReason.IMAGE_UNFIT, Stage.GATE, Stage.REBASE),
        (StopReason.IMAGE_UNFIT, Stage.IMPLEMENT, Stage.IMPLEMENT),
        (StopReason.NO_CHANGE, Stage.IMPLEMENT, None),
    ],
)
def test_a_moved_main_is_rebased_onto_where_that_can_lift_the_stop(reason, stage, target):
    after = resume(stopped(reason, stage), "rerun", main_has_moved=True)
    assert (after.stage if after else None) is target


@pytest.mark.parametrize("reason", [StopReason.BASELINE_RED, StopReason.IMAGE_UNFIT, StopReason.JOB_TIMEOUT])
def test_from_ready_everything_is_found_anew_so_that_a_mended_factory_toml_is_read(reason):
    held = {
        "base": "a" * 40,
        "image": "sha256:1",
        "candidate": Candidate(commit="c" * 40, tree="d" * 40, base="a" * 40, n=1),
        "landing": Landing(commit="e" * 40, tree="f" * 40, onto="a" * 40),
        "checked": (command(),),
    }
    after = resume(stopped(reason, Stage.READY, **held), "task_edited")
    assert after.stage is Stage.READY
    assert (after.base, after.image, after.candidate, after.landing, after.checked) == (
        None,
        None,
        None,
        None,
        (),
    )
    elsewhere = resume(stopped(StopReason.JOB_TIMEOUT, Stage.CHECK, **held), "task_edited")
    assert elsewhere.base == "a" * 40


def test_the_machines_small_caps_begin_anew_and_those_of_repairs_do_not():
    many = Counters(
        interruptions=3,
        verdict_misses=1,
        first_call_misses=1,
        main_moves=3,
        check_failures=3,
        gate_failures=2,
    )
    after = resume(stopped(StopReason.CHECKS_EXHAUSTED, Stage.CHECK, counters=many), "ruling").counters
    assert (after.interruptions, after.verdict_misses, after.first_call_misses) == (0, 0, 0)
    assert (after.main_moves, after.check_failures, after.gate_failures) == (3, 3, 2)
    moving = resume(stopped(StopReason.MAIN_MOVING, Stage.MERGE, counters=many), "rerun").counters
    assert moving.main_moves == 0


def test_a_ruling_is_kept_verbatim_and_drops_the_diff_it_answers():
    pending = PendingDiff(folder="j", start_commit="a", tree="b", diff_bytes=1, diff_sha256="c")
    state = record_ruling(stopped(StopReason.OUT_OF_SCOPE, pending=pending), " leave x\n alone ")
    (ruling,) = state.rulings
    assert (ruling.stop, ruling.text) == (StopReason.OUT_OF_SCOPE, " leave x\n alone ")
    assert ruling.digest == ruling_digest(" leave x\n alone ")
    assert state.pending is None
    assert state.counters.interventions == 1


def test_a_ruling_on_the_open_must_fixes_closes_exactly_them():
    raised = (
        finding(1, 1),
        finding(2, 2),
        finding(3, 2, Severity.SHOULD_FIX),
    )
    stop = stopped(
        StopReason.REVIEW_EXHAUSTED, Stage.REVIEW, findings=raised, counters=Counters(review_rounds=2)
    )
    ruled = record_ruling(stop, "F2 is fine")
    assert [f.closed for f in ruled.findings] == [False, True, False]
    assert [f.id for f in open_findings(ruled)] == ["F3"]


@pytest.mark.parametrize("reason", [r for r in StopReason if r is not StopReason.REVIEW_EXHAUSTED])
def test_a_ruling_on_something_else_leaves_the_must_fixes_to_be_repaired(reason):
    stop = stopped(reason, findings=(finding(1, 1),), counters=Counters(review_rounds=1))
    assert [f.id for f in open_findings(record_ruling(stop, "again"))] == ["F1"]


def test_only_a_stopped_task_takes_a_ruling():
    with pytest.raises(ValueError, match="only a stopped task"):
        record_ruling(new_state(), "x")


@pytest.mark.parametrize("text", ["", "\ud800", "\0", "é"])
def test_any_text_has_a_digest(text):
    assert len(ruling_digest(text)) == 64
    assert ruling_digest(text) != ruling_digest(f"{text} ")


def test_a_cap_of_nothing_still_leaves_the_ruled_repair():
    state = stopped(StopReason.CHECKS_EXHAUSTED, Stage.CHECK, terms=terms(caps=Caps(check=0)))
    assert resume(state, "ruling").stage is Stage.IMPLEMENT
