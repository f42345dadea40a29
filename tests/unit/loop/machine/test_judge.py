from itertools import pairwise

import pytest

from instrument.schema.job import AgentResult, BigPath
from instrument.schema.state import Attempt, Caps, Counters, Spend
from instrument.schema.vocabulary import EffectKind, Ended, Outcome, RuntimeName, Severity, Stage
from loop.machine.facts import JobFacts, MergeFacts, ReviewFacts
from loop.machine.guards import (
    CODER_GUARDS,
    COMMANDS_GUARDS,
    REVIEWER_GUARDS,
    deadline_passed,
    first_match,
    interrupted,
    is_clean,
    provider_failed,
)
from loop.machine.judge import forestall, judge
from support.ends import (
    agent_run,
    call,
    coder_end,
    denied,
    end,
    failed_call,
    finding,
    review_end,
    tree,
)
from support.lives import new_state, terms

IN_ORDER = [
    (Outcome.JOB_INTERRUPTED, {"container": {"lost": True}}),
    (Outcome.ENGINE_FAILED, {"report": {"ended": Ended.HOST_DISK}}),
    (Outcome.MEMORY_EXHAUSTED, {"container": {"oom_killed": True}}),
    (Outcome.DEADLINE_PASSED, {"container": {"backstop": True}}),
    (Outcome.SETUP_FAILED, {"report": {"setup_failed": "pip"}}),
    (Outcome.OUTPUT_UNUSABLE, {"report": {"error": "no space"}}),
    (Outcome.PRICE_UNKNOWN, {"denials": (denied("price"),)}),
    (Outcome.SPEND_EXHAUSTED, {"denials": (denied("budget"),)}),
    (Outcome.FIRST_CALL_MISSING, {"report": {"ended": Ended.NO_FIRST_CALL}}),
    (Outcome.DISK_EXHAUSTED, {"report": {"ended": Ended.DISK}}),
    (Outcome.PIDS_EXHAUSTED, {"report": {"pids_refused": 1}, "agent": agent_run(finished=False)}),
    (Outcome.PROGRESS_STALLED, {"report": {"ended": Ended.NO_PROGRESS}}),
    (Outcome.PROVIDER_LIMITED, {"calls": (failed_call(429),)}),
    (Outcome.AGENT_CRASHED, {"calls": ()}),
    (Outcome.CODER_BLOCKED, {"result": AgentResult(outcome="blocked")}),
    (Outcome.REPOSITORY_NESTED, {"report": {"tree": tree(nested_repos=("x",))}}),
    (Outcome.TREE_UNCAPTURABLE, {"report": {"tree": tree(unreadable=("x",))}}),
    (Outcome.TREE_UNCAPTURABLE, {"report": {"tree": tree(unencodable=("x",))}}),
]
"""What a coder's job can come to, in the order in which it is looked for."""


def _is_one_fact(earlier, later):
    """Whether both are values of one field, so that they cannot hold at once."""
    reports = (earlier[1].get("report", {}), later[1].get("report", {}))
    calls = "calls" in earlier[1] and "calls" in later[1]
    return calls or bool(set(reports[0]) & set(reports[1]))


def at(kind, **changes):
    return new_state(attempt=Attempt(key="k", kind=kind), **changes)


def judged(made, kind=EffectKind.IMPLEMENT, **changes):
    return judge(at(kind, **changes), JobFacts(key="k", end=made))


def both(first, second):
    """The changes of two ends in one; a container's, a report's and the denials are joined."""
    merged = dict(first)
    for name, value in second.items():
        has_both = name in merged
        if has_both and isinstance(value, dict):
            merged[name] = value | merged[name]
        else:
            merged[name] = merged[name] + value if has_both else value
    return merged


@pytest.mark.parametrize(("outcome", "changes"), IN_ORDER)
def test_each_fact_has_its_name(outcome, changes):
    assert judged(coder_end("k", **changes)) is outcome


@pytest.mark.parametrize(("earlier", "later"), [p for p in pairwise(IN_ORDER) if not _is_one_fact(*p)])
def test_the_earlier_fact_names_the_outcome_where_two_hold(earlier, later):
    """The container's end, then the ledger, then the agent's own result, then the tree."""
    assert judged(coder_end("k", **both(earlier[1], later[1]))) is earlier[0]


@pytest.mark.parametrize("exit_code", [137, 143, 255])
def test_a_signal_from_outside_is_the_machines_only_where_nothing_was_handed_back(exit_code):
    killed = coder_end("k", container={"exit_code": exit_code})
    assert judged(killed) is Outcome.DIFF_RETURNED
    assert judged(killed.model_copy(update={"report": None})) is Outcome.JOB_INTERRUPTED


def test_a_container_that_is_gone_outweighs_a_perfect_report():
    assert judged(coder_end("k", container={"lost": True, "exit_code": 0})) is Outcome.JOB_INTERRUPTED


@pytest.mark.parametrize("guards", [COMMANDS_GUARDS, REVIEWER_GUARDS])
def test_every_job_asks_in_the_order_in_which_a_coders_does(guards):
    assert guards == tuple(guard for guard in CODER_GUARDS if guard in guards)


@pytest.mark.parametrize("interruptions", [0, 1, 2, 3])
def test_the_interruption_after_the_cap_is_too_often(interruptions):
    state = new_state(terms=terms(caps=Caps(interruptions=2)), counters=Counters(interruptions=interruptions))
    named = interrupted(state, end("k", container={"lost": True}))
    assert named is (Outcome.JOB_INTERRUPTED if interruptions < 2 else Outcome.JOB_INTERRUPTED_TOO_OFTEN)


@pytest.mark.parametrize(
    ("ran_ms", "outcome"),
    [(40_000, Outcome.DEADLINE_PASSED), (80_000, Outcome.TIME_EXHAUSTED), (100_001, Outcome.TIME_EXHAUSTED)],
)
def test_a_deadline_is_the_tasks_where_only_the_reserve_is_left(ran_ms, outcome):
    state = new_state(terms=terms(budget_ms=100_000, reserve_ms=20_000), spend=Spend(job_ms=ran_ms))
    assert deadline_passed(state, end("k", container={"backstop": True})) is outcome


@pytest.mark.parametrize(
    ("calls", "finished", "outcome"),
    [
        ((), False, None),
        ((call(),), False, None),
        ((failed_call(529), call(2)), False, None),
        ((call(), failed_call(529, 2)), True, None),
        ((call(), failed_call(529, 2)), False, Outcome.PROVIDER_FAILED),
        ((failed_call(529),), True, Outcome.PROVIDER_FAILED),
        ((failed_call(403),), True, Outcome.PROVIDER_DENIED),
        ((call(settled=False, status=None),), False, Outcome.PROVIDER_FAILED),
    ],
)
def test_a_provider_is_to_blame_by_its_ledger_alone(calls, finished, outcome):
    made = coder_end("k", calls=calls, agent=agent_run(finished=finished))
    assert provider_failed(new_state(), made) is outcome


def test_a_model_that_was_never_called_is_asked_about_only_where_there_is_one():
    assert judged(coder_end("k", calls=())) is Outcome.AGENT_CRASHED
    line = agent_run(runtime=RuntimeName.COMMAND)
    assert judged(coder_end("k", calls=(), agent=line)) is Outcome.DIFF_RETURNED
    assert judged(coder_end("k", calls=(), agent=None)) is Outcome.DIFF_RETURNED


def test_an_oversized_tree_is_named_before_the_tree_that_was_not_captured():
    made = tree(oversized=True, biggest=(BigPath(path="a", size_bytes=1),)).model_copy(update={"tree": None})
    assert judged(coder_end("k", report={"tree": made})) is Outcome.PATCH_OVERSIZED


@pytest.mark.parametrize(
    ("found", "outcome"),
    [
        ((), Outcome.REVIEW_APPROVED),
        ((finding(1, 1, Severity.SHOULD_FIX), finding(2, 1, Severity.NOTE)), Outcome.REVIEW_APPROVED),
        ((finding(1, 1).model_copy(update={"closed": True}),), Outcome.REVIEW_APPROVED),
        ((finding(1, 1, Severity.NOTE), finding(2, 1)), Outcome.MUST_FIX_FOUND),
    ],
)
def test_only_an_open_must_fix_sends_a_task_back(found, outcome):
    facts = ReviewFacts(key="k", end=review_end("k"), findings=found)
    assert judge(at(EffectKind.REVIEW), facts) is outcome


def test_a_fault_outweighs_findings():
    facts = ReviewFacts(key="k", end=review_end("k"), fault="text_after", findings=(finding(1, 1),))
    assert judge(at(EffectKind.REVIEW), facts) is Outcome.VERDICT_MISSING


@pytest.mark.parametrize("moves", [0, 1, 2])
def test_a_move_after_the_cap_is_too_often(moves):
    state = at(EffectKind.MERGE, terms=terms(caps=Caps(main_moved=1)), counters=Counters(main_moves=moves))
    named = judge(state, MergeFacts(key="k", result="moved"))
    assert named is (Outcome.MAIN_MOVED if moves < 1 else Outcome.MAIN_MOVED_TOO_OFTEN)


@pytest.mark.parametrize("stage", [s for s in Stage if not s.is_terminal])
def test_a_job_under_way_is_never_forestalled(stage):
    gone = terms(budget_ms=0, budget_microusd=0)
    assert (
        forestall(new_state(stage=stage, terms=gone, attempt=Attempt(key="k", kind=EffectKind.CHECK))) is None
    )


@pytest.mark.parametrize(
    ("stage", "no_time", "no_money"),
    [
        (Stage.READY, None, None),
        (Stage.IMPLEMENT, Outcome.TIME_EXHAUSTED, Outcome.SPEND_EXHAUSTED),
        (Stage.CHECK, Outcome.TIME_EXHAUSTED, None),
        (Stage.REVIEW, Outcome.TIME_EXHAUSTED, Outcome.SPEND_EXHAUSTED),
        (Stage.REBASE, None, None),
        (Stage.GATE, Outcome.TIME_EXHAUSTED, None),
        (Stage.MERGE, None, None),
    ],
)
def test_what_is_gone_forestalls_the_jobs_that_need_it(stage, no_time, no_money):
    assert forestall(new_state(stage=stage, terms=terms(budget_ms=0))) is no_time
    assert forestall(new_state(stage=stage, terms=terms(budget_microusd=0))) is no_money
    assert forestall(new_state(stage=stage)) is None


@pytest.mark.parametrize(
    "changes",
    [
        {"report": {"ended": Ended.DISK}},
        {"report": {"ended": Ended.HOST_DISK}},
        {"report": {"error": "no space"}},
        {"report": {"oom_kills": 1}},
        {"report": {"pids_refused": 1}},
        {"container": {"lost": True}},
        {"container": {"sidecar_lost": True}},
        {"container": {"oom_killed": True}},
        {"container": {"backstop": True}},
    ],
)
def test_a_baseline_that_a_guard_stops_at_is_not_clean_and_so_never_kept(changes):
    assert is_clean(end("k"))
    assert not is_clean(end("k", **changes))
    assert first_match(COMMANDS_GUARDS, new_state(), end("k", **changes)) is not None
