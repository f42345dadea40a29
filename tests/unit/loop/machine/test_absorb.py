import pytest

from instrument.schema.job import AgentResult, Decision
from instrument.schema.state import Attempt, Candidate, Landing
from instrument.schema.vocabulary import EffectKind, Outcome, Severity, Stage
from loop.machine.absorb import ROUND_TAKEN, absorb
from loop.machine.facts import BaseFacts, CandidateFacts, JobFacts, MergeFacts, RebaseFacts, ReviewFacts
from support.ends import START, coder_end, command, commands_end, end, finding, review_end, tree
from support.lives import new_state, terms

CANDIDATE = Candidate(commit="c" * 40, tree="d" * 40, base="a" * 40, n=1)
LANDING = Landing(commit="e" * 40, tree="f" * 40, onto="a" * 40)


def at(kind, **changes):
    return new_state(attempt=Attempt(key="k", kind=kind, folder="jobs/0001-x-1"), **changes)


def taken(outcome=Outcome.DIFF_RETURNED, state=None, **changes):
    facts = JobFacts(key="k", end=coder_end("k", **changes))
    return absorb(state or at(EffectKind.IMPLEMENT), outcome, facts)


def reviewed(findings, state=None, outcome=Outcome.MUST_FIX_FOUND, dropped=0):
    facts = ReviewFacts(key="k", end=review_end("k"), findings=findings, dropped=dropped)
    return absorb(state or at(EffectKind.REVIEW), outcome, facts)


@pytest.mark.parametrize("outcome", Outcome)
def test_a_round_is_used_up_by_its_end_and_not_by_a_machine_that_lost_it(outcome):
    state = at(EffectKind.IMPLEMENT)
    state = state.model_copy(
        update={"counters": state.counters.model_copy(update={"first_call_misses": 1})},
    )
    counters = taken(outcome, state).counters
    assert counters.coder_rounds == (1 if outcome in ROUND_TAKEN else 0)
    assert counters.first_call_misses == (0 if outcome in ROUND_TAKEN else 1)


def test_a_diff_waits_to_be_proven_with_all_that_proves_it():
    pending = taken().pending
    assert pending.folder == "jobs/0001-x-1"
    assert (pending.start_commit, pending.tree) == ("a" * 40, "c" * 40)
    assert (pending.diff_bytes, pending.diff_sha256) == (10, "d" * 64)


@pytest.mark.parametrize("outcome", [Outcome.DEADLINE_PASSED, Outcome.AGENT_CRASHED, Outcome.PATCH_OVERSIZED])
def test_the_diff_of_a_failed_round_is_not_used(outcome):
    assert taken(outcome).pending is None


def test_decisions_are_kept_once_and_the_last_round_speaks_for_itself():
    first = Decision(choice="a", why="b", undo="c")
    state = taken(
        result=AgentResult(outcome="done", summary="one", decisions=(first,), could_not_verify=("docs",))
    )
    second = Decision(choice="d", why="e", undo="f")
    again = first.model_copy(update={"why": "said again"})
    state = state.model_copy(update={"attempt": at(EffectKind.IMPLEMENT).attempt})
    state = taken(state=state, result=AgentResult(outcome="done", decisions=(again, second)))
    assert state.decisions == (first, second)
    assert state.summary == "one", "a round that says nothing leaves the last summary"
    assert state.could_not_verify == ()


def test_a_new_candidate_voids_what_was_checked_approved_and_gated():
    state = at(
        EffectKind.COMMIT_CANDIDATE,
        checked=(command(),),
        landing=LANDING,
        gated=LANDING.commit,
        previous_task_blob="0" * 40,
    )
    after = absorb(state, Outcome.CANDIDATE_COMMITTED, CandidateFacts(key="k", candidate=CANDIDATE))
    assert after.candidate == CANDIDATE
    assert (after.checked, after.landing, after.gated, after.previous_task_blob) == ((), None, None, None)


@pytest.mark.parametrize(
    ("outcome", "is_kept"),
    [
        (Outcome.PATHS_OUT_OF_SCOPE, True),
        (Outcome.PATHS_PROTECTED, True),
        (Outcome.TESTS_LOOSENED, True),
        (Outcome.SECRET_DETECTED, True),
        (Outcome.SUBMODULE_TOUCHED, False),
        (Outcome.FILTER_UNSUPPORTED, False),
        (Outcome.REPOSITORY_NESTED, False),
        (Outcome.PATCH_UNPROVEN, False),
        (Outcome.NOTHING_CHANGED, False),
    ],
)
def test_a_diff_is_kept_where_a_person_may_let_it_pass(outcome, is_kept):
    state = taken().model_copy(update={"attempt": at(EffectKind.COMMIT_CANDIDATE).attempt})
    after = absorb(state, outcome, CandidateFacts(key="k", details=("x",)))
    assert (after.pending is not None) is is_kept


def test_failed_checks_are_kept_with_their_folder_until_they_pass():
    red = JobFacts(key="k", end=commands_end("k", command("lint"), command("unit", 1)))
    after = absorb(at(EffectKind.CHECK), Outcome.CHECK_FAILED, red)
    assert [(f.command.name, f.gate, f.folder) for f in after.failures] == [("unit", False, "jobs/0001-x-1")]
    again = after.model_copy(update={"attempt": at(EffectKind.CHECK).attempt})
    green = absorb(again, Outcome.CHECKS_PASSED, JobFacts(key="k", end=commands_end("k", command("unit"))))
    assert green.failures == ()
    assert [c.name for c in green.checked] == ["unit"]


def test_a_failed_gate_is_told_as_one_and_a_passed_one_names_its_commit():
    red = JobFacts(key="k", end=commands_end("k", command("full", 1)))
    state = at(EffectKind.GATE, landing=LANDING)
    assert absorb(state, Outcome.GATE_FAILED, red).failures[0].gate
    green = JobFacts(key="k", end=commands_end("k"))
    for outcome in (Outcome.GATE_PASSED, Outcome.GATE_PASSED_UNAUTHORISED):
        assert absorb(state, outcome, green).gated == LANDING.commit


def test_a_set_up_that_the_diff_broke_is_told_as_a_failed_check():
    facts = JobFacts(key="k", end=end("k", report={"setup_failed": "always.1"}))
    assert absorb(at(EffectKind.CHECK), Outcome.CHECK_FAILED, facts).failures[0].command.name == "always.1"


def test_a_point_raised_again_stands_once_as_it_was_last_put():
    state = reviewed((finding(1, 1), finding(2, 1, Severity.NOTE)))
    again = finding(1, 2).model_copy(update={"text": "still wrong"})
    state = state.model_copy(update={"attempt": at(EffectKind.REVIEW).attempt})
    state = reviewed((finding(10, 2), again), state, dropped=2)
    assert [f.id for f in state.findings] == ["F1", "F2", "F10"], "in order of number, not of letters"
    assert state.findings[0].text == "still wrong"
    assert state.findings[0].round == 2
    assert state.counters.findings == 10
    assert state.counters.findings_dropped == 2


def test_the_highest_number_given_never_falls():
    state = reviewed((finding(7, 1),))
    state = state.model_copy(update={"attempt": at(EffectKind.REVIEW).attempt})
    assert reviewed((), state, Outcome.REVIEW_APPROVED).counters.findings == 7


@pytest.mark.parametrize("outcome", Outcome)
def test_only_a_verdict_ends_a_review_round(outcome):
    verdicts = (
        Outcome.REVIEW_APPROVED,
        Outcome.NO_CHANGE_CONFIRMED,
        Outcome.MUST_FIX_FOUND,
        Outcome.MUST_FIX_FOUND_TOO_OFTEN,
    )
    after = reviewed((finding(1, 1),), outcome=outcome)
    assert after.counters.review_rounds == (1 if outcome in verdicts else 0)
    assert bool(after.findings) is (outcome in verdicts)
    assert len(after.reviews) == (1 if outcome in verdicts else 0)


def test_a_base_is_taken_only_where_nothing_speaks_against_it():
    facts = BaseFacts(key="k", base="a" * 40, terms=terms(job_ms=1), ready_utc=START)
    state = at(EffectKind.FIND_BASE)
    after = absorb(state, Outcome.BASE_FOUND, facts)
    assert (after.base, after.terms.job_ms, after.ready_utc) == ("a" * 40, 1, START)
    assert absorb(state, Outcome.PRICE_UNKNOWN, facts).base is None


@pytest.mark.parametrize(("onto", "image"), [("a" * 40, "sha256:1"), ("9" * 40, None)])
def test_a_moved_base_needs_an_image_of_its_own(onto, image):
    state = at(
        EffectKind.REBASE,
        base="a" * 40,
        image="sha256:1",
        candidate=CANDIDATE,
        gated="0" * 40,
        landing=LANDING,
    )
    landing = LANDING.model_copy(update={"onto": onto})
    moved = CANDIDATE.model_copy(update={"base": onto})
    after = absorb(
        state, Outcome.REBASED, RebaseFacts(key="k", onto=onto, landing=landing, candidate=moved, terms=None)
    )
    assert (after.base, after.image, after.gated, after.seen_tip) == (onto, image, None, onto)
    assert after.candidate == moved
    assert after.terms == state.terms


def test_a_rebase_that_conflicts_leaves_everything_but_the_tip_it_saw():
    state = at(EffectKind.REBASE, base="a" * 40, image="sha256:1", candidate=CANDIDATE)
    after = absorb(state, Outcome.REBASE_CONFLICTED, RebaseFacts(key="k", onto="9" * 40, conflicts=("x",)))
    assert after == state.model_copy(update={"seen_tip": "9" * 40})


def test_the_merged_commit_is_the_landing_one():
    state = at(EffectKind.MERGE, landing=LANDING, stage=Stage.MERGE)
    facts = MergeFacts(key="k", result="merged")
    assert absorb(state, Outcome.MERGED, facts).merged == LANDING.commit
    assert absorb(state, Outcome.MAIN_MOVED, facts).merged is None


def test_a_tree_of_none_is_no_diff():
    assert taken(report={"tree": tree().model_copy(update={"tree": None})}).pending is None
