import pytest

from instrument.schema.state import Candidate, Counters, PendingDiff
from instrument.schema.vocabulary import EffectKind, Outcome, Stage, StopReason
from loop.machine.advance import COUNTED, advance, begin, cancel
from loop.machine.facts import CancelledFacts, EngineFacts, JobFacts, SetupFacts
from loop.machine.judge import StaleFactsError, judge
from loop.machine.plan import plan
from support.ends import call, coder_end, command, commands_end, end
from support.lives import new_state

CANDIDATE = Candidate(commit="c" * 40, tree="d" * 40, base="a" * 40, n=1)
READY = {"base": "a" * 40, "image": "sha256:1", "candidate": CANDIDATE}


def begun_at(stage, **changes):
    state = new_state(stage=stage, **(READY | changes))
    return begin(state, plan(state))


def test_an_attempt_is_written_down_with_its_folder():
    state = begun_at(Stage.IMPLEMENT)
    assert state.attempt.key.startswith("demo-001-implement-1-")
    assert state.attempt.folder == "jobs/0001-coder-1"
    assert (state.seq, state.counters.jobs) == (1, 1)
    assert state.counters.effects == {EffectKind.IMPLEMENT: 1}


def test_a_git_effect_is_counted_and_has_no_folder():
    state = begun_at(Stage.REBASE)
    assert state.attempt.folder is None
    assert state.counters.jobs == 0


def test_job_folders_are_numbered_in_order_of_start():
    state = begun_at(Stage.CHECK).model_copy(update={"attempt": None, "stage": Stage.REVIEW})
    assert begin(state, plan(state)).attempt.folder == "jobs/0002-reviewer-1"


@pytest.mark.parametrize("key", ["another", ""])
def test_facts_for_another_key_are_refused(key):
    state = begun_at(Stage.CHECK)
    facts = EngineFacts(key=key, detail="x")
    with pytest.raises(StaleFactsError, match="the attempt under way is another"):
        judge(state, facts)
    with pytest.raises(StaleFactsError, match="is under way"):
        advance(state, Outcome.ENGINE_FAILED, facts)
    with pytest.raises(StaleFactsError, match="the attempt under way is another"):
        cancel(state, CancelledFacts(key=key, end=None, signal=2))


def test_facts_are_refused_where_nothing_was_begun():
    idle = new_state(stage=Stage.CHECK, **READY)
    facts = EngineFacts(key="k", detail="x")
    for act in (lambda: judge(idle, facts), lambda: advance(idle, Outcome.ENGINE_FAILED, facts)):
        with pytest.raises(StaleFactsError):
            act()


def test_nothing_is_forestalled_while_an_attempt_is_under_way():
    with pytest.raises(StaleFactsError, match="facts for nothing"):
        advance(begun_at(Stage.CHECK), Outcome.TIME_EXHAUSTED, None)


def test_facts_that_were_taken_are_refused_a_second_time():
    state = begun_at(Stage.CHECK)
    facts = JobFacts(key=state.attempt.key, end=commands_end(state.attempt.key))
    after = advance(state, judge(state, facts), facts)
    with pytest.raises(StaleFactsError):
        advance(after, Outcome.CHECKS_PASSED, facts)


def test_a_pair_that_the_table_lacks_is_a_bug_and_raises():
    state = begun_at(Stage.CHECK)
    with pytest.raises(KeyError):
        advance(state, Outcome.MERGED, EngineFacts(key=state.attempt.key, detail="x"))


def test_a_transition_ends_the_attempt_and_counts_in_the_sequence():
    state = begun_at(Stage.CHECK)
    facts = JobFacts(key=state.attempt.key, end=commands_end(state.attempt.key))
    after = advance(state, Outcome.CHECKS_PASSED, facts)
    assert (after.stage, after.attempt, after.seq) == (Stage.REVIEW, None, state.seq + 1)


def test_a_stop_says_where_it_stood_and_where_the_evidence_is():
    state = begun_at(Stage.CHECK, counters=Counters(coder_rounds=2))
    facts = EngineFacts(key=state.attempt.key, detail="no engine answers")
    stop = advance(state, judge(state, facts), facts).stop
    assert stop.reason is StopReason.RUNNER_UNAVAILABLE
    assert (stop.stage, stop.outcome) == (Stage.CHECK, Outcome.ENGINE_FAILED)
    assert stop.details == ("no engine answers",)
    assert stop.folder == "jobs/0001-check-2"


@pytest.mark.parametrize("outcome", COUNTED)
def test_an_outcome_with_a_cap_is_counted_once(outcome):
    stage = {
        Outcome.CHECK_FAILED: Stage.CHECK,
        Outcome.GATE_FAILED: Stage.GATE,
        Outcome.MAIN_MOVED: Stage.MERGE,
    }.get(outcome, Stage.REVIEW)
    state = new_state(stage=stage, **READY)
    before, after = state.counters, advance(state, outcome, None).counters
    assert after == before.model_copy(update={COUNTED[outcome]: 1})


def test_a_cancelled_attempt_costs_and_is_neither_an_attempt_nor_an_interruption():
    state = begun_at(Stage.IMPLEMENT)
    key = state.attempt.key
    after = cancel(state, CancelledFacts(key=key, end=coder_end(key, calls=(call(),)), signal=2))
    assert (after.stage, after.attempt) == (Stage.IMPLEMENT, None)
    assert after.spend.microusd == 1000
    assert after.counters == state.counters
    assert plan(after).key != key, "what was cancelled is never adopted"
    unknown = cancel(state, CancelledFacts(key=key, end=None, signal=2)).spend
    assert unknown == state.spend.model_copy(update={"lower_bound": True})


def test_what_a_lost_job_had_cost_is_a_lower_bound():
    state = begun_at(Stage.IMPLEMENT)
    key = state.attempt.key
    ended = end(key, container={"lost": True}, calls=(call(settled=False),), ledger_missing=True)
    facts = JobFacts(key=key, end=ended)
    after = advance(state, judge(state, facts), facts)
    assert after.spend.microusd == 1000
    assert after.spend.lower_bound
    assert after.spend.unmetered_jobs == 1


def test_once_a_lower_bound_always_a_lower_bound():
    state = begun_at(Stage.CHECK)
    state = state.model_copy(update={"spend": state.spend.model_copy(update={"lower_bound": True})})
    facts = JobFacts(key=state.attempt.key, end=commands_end(state.attempt.key, command()))
    assert advance(state, Outcome.CHECKS_PASSED, facts).spend.lower_bound


def test_an_image_that_failed_leaves_none_behind():
    state = begun_at(Stage.READY, image=None)
    facts = SetupFacts(key=state.attempt.key, image=None, detail="pip")
    assert advance(state, judge(state, facts), facts).image is None


def test_a_set_up_without_commands_has_no_folder():
    state = new_state(base="a" * 40)
    quiet = state.model_copy(update={"terms": state.terms.model_copy(update={"has_setup": False})})
    assert begin(quiet, plan(quiet)).attempt.folder is None


def test_a_pending_diff_is_not_forgotten_by_an_engine_that_is_gone():
    pending = PendingDiff(
        folder="jobs/0001-coder-1", start_commit="a" * 40, tree="b" * 40, diff_bytes=1, diff_sha256="d" * 64
    )
    state = begun_at(Stage.IMPLEMENT, pending=pending)
    facts = EngineFacts(key=state.attempt.key, detail="disk full")
    assert advance(state, judge(state, facts), facts).pending == pending


def test_a_cancelled_check_that_nobody_could_look_at_cost_nothing():
    state = begun_at(Stage.CHECK)
    assert cancel(state, CancelledFacts(key=state.attempt.key, end=None, signal=2)).spend == state.spend
