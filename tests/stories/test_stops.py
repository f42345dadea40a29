"""One story for each stop reason: how a task comes there, and how it goes on."""

import itertools
from pathlib import Path

import pytest

from instrument.schema.job import BigPath
from instrument.schema.state import Caps
from instrument.schema.vocabulary import EffectKind, Ended, RuntimeName, Stage
from loop.machine.facts import (
    CandidateProblem,
    EngineFacts,
    JobFacts,
    MergeFacts,
    RebaseFacts,
    ReviewFacts,
    SetupFacts,
)
from support.ends import (
    agent_run,
    call,
    coder_end,
    command,
    denied,
    end,
    failed_call,
    tree,
)
from support.lives import (
    GOOD,
    RED,
    Life,
    base_facts,
    coder,
    commands,
    lost,
    must_fix,
    new_state,
    problem,
    reviewer,
    terms,
)


def job(**changes):
    return lambda _, e: JobFacts(key=e.key, end=end(e.key, **changes))


def engine_gone(_, effect):
    return EngineFacts(key=effect.key, detail="no engine answers")


UNCHANGED = {"tree": tree("b")}


def test_ready_to_merge(tmp_path: Path):
    life = Life(tmp_path, new_state(authorised=False)).run()
    assert life.ending == "ready_to_merge"
    assert not life.goes_on("rerun")
    assert life.rule("say it in the readme too")
    assert life.ending == "ready_to_merge"
    assert life.state.counters.coder_rounds == 2


def test_ready_to_merge_is_gated_again_where_main_moved(tmp_path: Path):
    life = Life(tmp_path, new_state(authorised=False)).run()
    assert life.goes_on("rerun", main_has_moved=True)
    assert life.trail.endswith("rebased gate_passed_unauthorised")


def test_baseline_red_looks_again_on_a_rerun(tmp_path: Path):
    life = Life(tmp_path, baseline=[RED] * 2).run()
    assert life.ending == "baseline_red"
    assert life.state.stop.details[0] == "unit: exit code 1: run unit"
    assert life.state.spend.microusd == 0
    assert life.goes_on("rerun")
    assert life.ending == "merged"


def test_baseline_green(tmp_path: Path):
    life = Life(tmp_path, new_state(terms=terms(turns_green=("unit",)))).run()
    assert life.ending == "baseline_green"
    red_now = commands(command("unit", 1))
    life.shell.moves[EffectKind.BASELINE] = [red_now]
    assert life.goes_on("rerun")
    assert life.ending == "merged"


def test_no_change(tmp_path: Path):
    life = Life(tmp_path, implement=[coder(report=UNCHANGED)]).run()
    assert life.ending == "no_change"
    assert EffectKind.COMMIT_CANDIDATE not in [e.kind for e in life.shell.effects]
    assert not life.goes_on("rerun")
    assert life.rule("the bug is in parse()")
    assert life.ending == "merged"


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        (CandidateProblem.OUT_OF_SCOPE, "out_of_scope"),
        (CandidateProblem.PROTECTED, "protected_path"),
    ],
)
def test_a_path_that_the_task_may_not_touch(tmp_path: Path, kind, reason):
    life = Life(tmp_path, commit_candidate=[problem(kind, "docs/x.md")]).run()
    assert life.ending == reason
    assert life.state.stop.details == ("docs/x.md",)
    assert not life.goes_on("rerun")
    assert life.goes_on("task_edited")
    assert life.ending == "merged"
    assert life.state.counters.coder_rounds == 1, "the same diff is judged again, no model is asked"


def test_an_out_of_scope_path_ruled_away_takes_another_round(tmp_path: Path):
    life = Life(tmp_path, commit_candidate=[problem(CandidateProblem.OUT_OF_SCOPE, "x")]).run()
    assert life.rule("leave x alone")
    assert life.ending == "merged"
    assert life.state.counters.coder_rounds == 2


def test_nested_repo_from_the_walk_and_from_the_diff(tmp_path: Path):
    walk = coder(report={"tree": tree(nested_repos=("vendor/x",))})
    life = Life(tmp_path, implement=[walk]).run()
    assert life.ending == "nested_repo"
    assert "nested repository: vendor/x" in life.state.stop.details
    assert life.rule("no submodules")
    assert life.ending == "merged"
    other = tmp_path / "other"
    other.mkdir()
    life = Life(other, commit_candidate=[problem(CandidateProblem.NESTED, "vendor/x")]).run()
    assert life.ending == "nested_repo"


def test_uncapturable_names_the_files_that_git_cannot_take(tmp_path: Path):
    odd = tree(unreadable=(".gitmodules",), unencodable=("a.txt",))
    life = Life(tmp_path, implement=[coder(report={"tree": odd})]).run()
    assert life.ending == "uncapturable"
    assert "cannot be captured: .gitmodules" in life.state.stop.details
    assert "not in the encoding that .gitattributes names: a.txt" in life.state.stop.details
    assert life.rule("write it as UTF-16")
    assert life.ending == "merged"


def test_patch_too_large_names_the_biggest(tmp_path: Path):
    big = tree(
        oversized=True, total_files=20_000, total_bytes=9, biggest=(BigPath(path="a.bin", size_bytes=8),)
    )
    life = Life(tmp_path, implement=[coder(report={"tree": big})]).run()
    assert life.ending == "patch_too_large"
    assert "a.bin (8 bytes)" in life.state.stop.details
    assert life.state.pending is None
    assert life.rule("ignore a.bin")
    assert life.ending == "merged"


def test_patch_integrity(tmp_path: Path):
    life = Life(tmp_path, commit_candidate=[problem(CandidateProblem.UNPROVEN, "other tree")]).run()
    assert life.ending == "patch_integrity"
    assert life.state.pending is None
    assert life.rule("again")
    assert life.ending == "merged"


def test_an_empty_diff_that_claims_a_tree_is_no_change(tmp_path: Path):
    life = Life(tmp_path, commit_candidate=[problem(CandidateProblem.EMPTY)]).run()
    assert life.ending == "no_change"


@pytest.mark.parametrize(
    ("kind", "how"),
    [
        *itertools.product(
            ["implement", "review", "check", "gate", "baseline"], ["no report", "supervisor failed"]
        ),
        ("implement", "no tree"),
    ],
)
def test_bad_job_output(tmp_path: Path, kind, how):
    def move(_, effect):
        ended = coder_end(effect.key, report={"error": "no space"} if how == "supervisor failed" else {})
        if how == "no report":
            ended = ended.model_copy(update={"report": None, "report_error": "job.json is torn"})
        if how == "no tree":
            ended = coder_end(effect.key, report={"tree": None})
        if kind == "review":
            return ReviewFacts(key=effect.key, end=ended)
        return JobFacts(key=effect.key, end=ended)

    life = Life(tmp_path, **{kind: [move]}).run()
    assert life.ending == "bad_job_output"
    assert not life.goes_on("rerun")
    assert life.rule("again")
    assert life.ending == "merged"


def test_checks_exhausted_after_three_repairs(tmp_path: Path):
    life = Life(tmp_path, check=[RED] * 8).run()
    assert life.ending == "checks_exhausted"
    assert life.trail.count(" check_failed ") == 3
    assert life.state.counters.coder_rounds == 4
    assert not life.goes_on("rerun")
    assert life.rule("the test is right, the code is not")
    assert life.ending == "merged"
    assert life.state.counters.coder_rounds == 5


def test_a_ruling_at_a_cap_makes_room_for_one_repair_only(tmp_path: Path):
    life = Life(tmp_path, check=[RED] * 12).run()
    assert life.rule("try x")
    assert life.ending == "checks_exhausted"
    assert life.state.counters.coder_rounds == 5


def test_review_exhausted_at_the_fourth_review(tmp_path: Path):
    life = Life(tmp_path, review=[must_fix] * 4).run()
    assert life.ending == "review_exhausted"
    assert life.state.counters.review_rounds == 4
    assert not life.goes_on("rerun")
    assert life.rule("F4 is fine as it is")
    assert life.ending == "merged"
    assert life.state.counters.review_rounds == 5
    assert [f.closed for f in life.state.findings] == [False, False, False, True]


def test_review_unreadable_is_asked_again_once(tmp_path: Path):
    life = Life(tmp_path, review=[reviewer(fault="no_block")] * 2).run()
    assert life.trail.endswith("verdict_missing verdict_missing_again")
    assert life.ending == "review_unreadable"
    assert life.state.stop.details[0] == "no verdict: no_block"
    assert life.rule("answer in the form asked for")
    assert life.ending == "merged"
    assert life.state.spend.microusd == 1000 + 3 * 1000, "both useless reviews are paid for"


def test_a_second_verdict_is_asked_for_in_each_review_round(tmp_path: Path):
    miss = reviewer(fault="no_block")
    life = Life(tmp_path, review=[miss, must_fix, miss]).run()
    assert life.ending == "merged"


def test_gate_exhausted_after_two_repairs(tmp_path: Path):
    life = Life(tmp_path, gate=[RED] * 6).run()
    assert life.ending == "gate_exhausted"
    assert life.trail.count(" gate_failed ") == 2
    assert not life.goes_on("rerun")
    assert life.rule("mend the docs build")
    assert life.ending == "merged"


def test_merge_conflict_is_looked_at_again_once_main_moved(tmp_path: Path):
    conflict = lambda _, e: RebaseFacts(key=e.key, onto="8" * 40, conflicts=("src/x.py",))
    life = Life(tmp_path, rebase=[conflict]).run()
    assert life.ending == "merge_conflict"
    assert life.state.stop.details == ("src/x.py",)
    assert not life.goes_on("rerun")
    assert life.goes_on("rerun", main_has_moved=True)
    assert life.ending == "merged"


def test_merge_conflict_ruled_begins_on_the_new_main(tmp_path: Path):
    conflict = lambda _, e: RebaseFacts(key=e.key, onto="8" * 40, conflicts=("src/x.py",))
    life = Life(tmp_path, rebase=[conflict]).run()
    assert life.rule("main is right about x")
    assert life.ending == "merged"
    assert life.trail.count("base_found") == 2
    assert life.state.rulings[0].text == "main is right about x"


def test_main_moving_after_three_moves(tmp_path: Path):
    moved = [lambda _, e: MergeFacts(key=e.key, result="moved")] * 4
    life = Life(tmp_path, merge=moved).run()
    assert life.ending == "main_moving"
    assert life.trail.count("main_moved") == 4
    assert life.goes_on("rerun")
    assert life.ending == "merged"
    assert life.state.counters.coder_rounds == 1


def test_push_rejected(tmp_path: Path):
    refused = lambda _, e: MergeFacts(key=e.key, result="refused", details=("pre-receive hook declined",))
    life = Life(tmp_path, merge=[refused]).run()
    assert life.ending == "push_rejected"
    assert life.state.stop.details == ("pre-receive hook declined",)
    assert life.goes_on("rerun")
    assert life.ending == "merged"


@pytest.mark.parametrize("stage", ["implement", "review"])
def test_spend_budget_where_the_proxy_refused(tmp_path: Path, stage):
    move = {"implement": coder, "review": reviewer}[stage](denials=(denied("budget"),))
    life = Life(tmp_path, new_state(terms=terms(budget_microusd=10_000)), **{stage: [move]}).run()
    assert life.ending == "spend_budget"
    assert life.state.stop.details[0].startswith("budget $0.0100, spent $0.00")
    assert not life.goes_on("rerun")
    assert life.goes_on("task_edited")
    assert life.ending == "merged"


@pytest.mark.parametrize(("budget", "kind"), [(1000, EffectKind.REVIEW), (2000, EffectKind.IMPLEMENT)])
def test_spend_budget_before_a_job_begins(tmp_path: Path, budget, kind):
    life = Life(tmp_path, new_state(terms=terms(budget_microusd=budget)), review=[must_fix]).run()
    assert life.ending == "spend_budget"
    assert life.state.stop.stage.value == kind.slug
    begun = [e.kind for e in life.shell.effects]
    assert begun.count(kind) == (0 if kind is EffectKind.REVIEW else 1)


def test_a_lower_price_than_the_budget_leaves_the_rest_to_the_next_job(tmp_path: Path):
    life = Life(tmp_path, new_state(terms=terms(budget_microusd=5000))).run()
    assert [getattr(e, "budget_microusd", None) for e in life.shell.effects if e.kind.is_job][2:] == [
        5000,
        None,
        4000,
        None,
    ]


@pytest.mark.parametrize("kind", ["baseline", "implement", "check", "review", "gate"])
def test_time_budget_where_the_deadline_was_cut_by_it(tmp_path: Path, kind):
    """Each job takes a minute, the one under test all that is left."""
    seconds = {"baseline": 600, "implement": 540, "check": 480, "review": 420, "gate": 360}[kind]
    late = {"report": {"ended": Ended.DEADLINE}, "seconds": seconds}
    move = {"implement": coder, "review": reviewer}.get(kind, lambda **c: commands(command(), **c))(**late)
    life = Life(tmp_path, new_state(terms=terms(budget_ms=600_000)), **{kind: [move]}).run()
    assert life.ending == "time_budget"
    assert not life.goes_on("rerun")
    life.state = life.state.model_copy(update={"terms": terms()})
    assert life.goes_on("task_edited")
    assert life.ending == "merged"


@pytest.mark.parametrize(("minutes", "stage"), [(2, "check"), (3, "review"), (4, "gate")])
def test_time_budget_before_a_job_begins(tmp_path: Path, minutes, stage):
    life = Life(tmp_path, new_state(terms=terms(budget_ms=minutes * 60_000))).run()
    assert life.ending == "time_budget"
    assert life.state.stop.stage.value == stage


def test_a_coder_leaves_the_reserve_for_review_and_gate(tmp_path: Path):
    state = new_state(terms=terms(budget_ms=600_000, reserve_ms=200_000))
    life = Life(tmp_path, state, check=[RED] * 6).run()
    assert life.ending == "time_budget"
    assert life.state.stop.stage is Stage.IMPLEMENT
    deadlines = [e.deadline_ms for e in life.shell.effects if e.kind is EffectKind.IMPLEMENT]
    assert deadlines == [340_000, 160_000]


def test_unknown_price_is_refused_before_a_container_exists(tmp_path: Path):
    unpriced = lambda s, e: base_facts(s, e, unpriced=("made-up-1",))
    life = Life(tmp_path, find_base=[unpriced]).run()
    assert life.ending == "unknown_price"
    assert life.state.stop.details == ("model without a known price: made-up-1",)
    assert not any(e.kind.is_job for e in life.shell.effects)
    assert life.goes_on("rerun")
    assert life.ending == "merged"


@pytest.mark.parametrize("stage", ["implement", "review"])
@pytest.mark.parametrize("how", ["answered", "asked"])
def test_unknown_price_in_an_answer_stops_after_that_call(tmp_path: Path, stage, how):
    calls = (call(unknown_price=True, model_answered="made-up-1"),)
    asked = {"calls": (), "denials": (denied("price"),)}
    changes = {"calls": calls} if how == "answered" else asked
    move = {"implement": coder, "review": reviewer}[stage](**changes)
    life = Life(tmp_path, **{stage: [move]}).run()
    assert life.ending == "unknown_price"
    assert life.state.spend.lower_bound is (how == "answered")
    assert life.goes_on("rerun")


PROVIDER = [
    (429, "provider_rate_limited"),
    (401, "provider_auth"),
    (403, "provider_auth"),
    (500, "provider_unavailable"),
    (529, "provider_unavailable"),
    (None, "provider_unavailable"),
]


@pytest.mark.parametrize(("status", "reason"), PROVIDER)
@pytest.mark.parametrize("stage", ["implement", "review"])
def test_a_provider_failure_costs_no_round(tmp_path: Path, stage, status, reason):
    """Case 04: whatever the exit code and the agent's text say."""
    changes = {"calls": (failed_call(status),), "agent": agent_run(finished=True)}
    move = coder(report=UNCHANGED, **changes) if stage == "implement" else reviewer(fault="absent", **changes)
    life = Life(tmp_path, **{stage: [move]}).run()
    assert life.ending == reason
    counters = life.state.counters
    assert (counters.coder_rounds, counters.review_rounds) == ((0, 0) if stage == "implement" else (1, 0))
    assert life.goes_on("rerun")
    assert life.ending == "merged"


@pytest.mark.parametrize(
    ("answer", "reason"),
    [("limited", "provider_rate_limited"), ("denied", "provider_auth"), ("failed", "provider_unavailable")],
)
def test_a_provider_that_the_preflight_finds_wanting(tmp_path: Path, answer, reason):
    life = Life(tmp_path, find_base=[lambda s, e: base_facts(s, e, provider=answer, detail="HTTP 1")]).run()
    assert life.ending == reason
    assert life.state.stop.details == ("HTTP 1",)
    assert life.goes_on("rerun")
    assert life.ending == "merged"


def test_case_04_exit_1_with_a_valid_diff_and_successes_in_the_ledger_is_checked(tmp_path: Path):
    crashed = coder(report={"exit_code": 1, "tree": tree()}, agent=agent_run(finished=False))
    assert Life(tmp_path, implement=[crashed]).run().ending == "merged"


def test_a_last_call_that_failed_after_others_is_the_providers_unless_the_agent_finished(tmp_path: Path):
    calls = (call(1), failed_call(529, 2))
    for finished, ending in ((False, "provider_unavailable"), (True, "merged")):
        folder = tmp_path / ending
        folder.mkdir()
        move = coder(calls=calls, agent=agent_run(finished=finished))
        assert Life(folder, implement=[move]).run().ending == ending


@pytest.mark.parametrize(
    "changes",
    [
        {"report": UNCHANGED | {"exit_code": 1}, "agent": agent_run(finished=False)},
        {"calls": ()},
    ],
    ids=["crashed", "no call"],
)
def test_agent_failed(tmp_path: Path, changes):
    life = Life(tmp_path, implement=[coder(**changes)]).run()
    assert life.ending == "agent_failed"
    assert not life.goes_on("rerun")
    assert life.rule("again")
    assert life.ending == "merged"


@pytest.mark.parametrize(
    "changes",
    [
        {"fault": "absent", "agent": agent_run(finished=False)},
        {"calls": ()},
    ],
    ids=["crashed", "no call"],
)
def test_a_reviewer_that_failed_approves_nothing(tmp_path: Path, changes):
    life = Life(tmp_path, review=[reviewer(**changes)]).run()
    assert life.ending == "agent_failed"
    assert life.state.stop.stage is Stage.REVIEW


def test_a_shell_line_as_the_agent_needs_no_model_call(tmp_path: Path):
    line = coder(calls=(), agent=agent_run(runtime=RuntimeName.COMMAND))
    assert Life(tmp_path, implement=[line]).run().ending == "merged"


@pytest.mark.parametrize("stage", ["implement", "review"])
def test_agent_no_first_call_has_one_free_retry(tmp_path: Path, stage):
    changes = {"report": {"ended": Ended.NO_FIRST_CALL}, "calls": ()}
    move = {"implement": coder, "review": reviewer}[stage](**changes)
    life = Life(tmp_path, **{stage: [move] * 2}).run()
    assert life.trail.endswith("first_call_missing first_call_missing_again")
    assert life.ending == "agent_no_first_call"
    rounds = life.state.counters.coder_rounds + life.state.counters.review_rounds
    assert rounds == (0 if stage == "implement" else 1)
    assert life.goes_on("rerun")
    assert life.ending == "merged"


@pytest.mark.parametrize("stage", ["implement", "review"])
def test_the_free_retry_is_of_each_job(tmp_path: Path, stage):
    changes = {"report": {"ended": Ended.NO_FIRST_CALL}, "calls": ()}
    miss = {"implement": coder, "review": reviewer}[stage](**changes)
    good = GOOD[EffectKind[stage.upper()]] if stage == "implement" else must_fix
    life = Life(tmp_path, check=[RED] * 2, **{stage: [miss, good, miss]}).run()
    assert life.ending == "merged"


def test_a_reviewers_late_start_does_not_use_up_the_coders_free_retry(tmp_path: Path):
    changes = {"report": {"ended": Ended.NO_FIRST_CALL}, "calls": ()}
    life = Life(tmp_path, review=[reviewer(**changes), must_fix], implement=[coder(), coder(**changes)])
    assert life.run().ending == "merged"


@pytest.mark.parametrize("kind", ["baseline", "implement", "check", "review", "gate"])
@pytest.mark.parametrize("by", ["supervisor", "backstop"])
def test_job_timeout(tmp_path: Path, kind, by):
    """Case 11: the partial diff is not applied."""
    late = {"report": {"ended": Ended.DEADLINE}} if by == "supervisor" else {"container": {"backstop": True}}
    move = {"implement": coder, "review": reviewer}.get(kind, lambda **c: commands(command(), **c))(**late)
    life = Life(tmp_path, **{kind: [move]}).run()
    assert life.ending == "job_timeout"
    assert life.state.pending is None
    assert life.rule("be quick")
    assert life.ending == "merged"


@pytest.mark.parametrize("kind", ["baseline", "implement", "check", "review", "gate"])
@pytest.mark.parametrize("flag", ["engine", "cgroup"])
def test_memory_limit_even_under_exit_code_0(tmp_path: Path, kind, flag):
    hog = {"report": {"oom_kills": 1}} if flag == "cgroup" else {"container": {"oom_killed": True}}
    move = {"implement": coder, "review": reviewer}.get(kind, lambda **c: commands(command(), **c))(**hog)
    life = Life(tmp_path, **{kind: [move]}).run()
    assert life.ending == "memory_limit"
    assert life.rule("use less")
    assert life.ending == "merged"


@pytest.mark.parametrize("kind", ["baseline", "implement", "check", "review", "gate"])
def test_case_12_interrupted_too_often_at_the_fourth_and_never_charged_to_the_agent(tmp_path: Path, kind):
    def move(state, effect):
        facts = lost(state, effect)
        return ReviewFacts(key=facts.key, end=facts.end) if kind == "review" else facts

    life = Life(tmp_path, **{kind: [move] * 4}).run()
    assert life.trail.endswith("job_interrupted job_interrupted job_interrupted job_interrupted_too_often")
    assert life.ending == "interrupted_too_often"
    assert life.state.counters.interruptions == 3
    assert life.state.counters.check_failures == 0
    assert life.state.counters.coder_rounds == (0 if kind in ("baseline", "implement") else 1)
    keys = [key for key, _ in life.shell.asked]
    assert len(set(keys)) == len(keys), "each attempt has a key of its own"
    assert life.goes_on("rerun")
    assert life.ending == "merged"


def test_a_lost_sidecar_is_an_interruption_and_its_cost_a_lower_bound(tmp_path: Path):
    unsettled = (call(settled=False, status=None),)
    move = coder(container={"sidecar_lost": True}, calls=unsettled)
    life = Life(tmp_path, implement=[move]).run()
    assert life.trail.count("job_interrupted") == 1
    assert life.ending == "merged"
    assert life.state.spend.lower_bound
    assert life.state.spend.microusd == 3000


@pytest.mark.parametrize("exit_code", [137, 143, 255])
def test_a_container_killed_from_outside_is_an_interruption(tmp_path: Path, exit_code):
    def move(_, effect):
        killed = coder_end(effect.key, container={"exit_code": exit_code})
        return JobFacts(key=effect.key, end=killed.model_copy(update={"report": None}))

    life = Life(tmp_path, implement=[move]).run()
    assert life.trail.count("job_interrupted") == 1
    assert life.ending == "merged"


def test_a_sidecar_that_never_came_is_an_interruption(tmp_path: Path):
    move = coder(report={"ended": Ended.SIDECAR_MISSING}, calls=())
    life = Life(tmp_path, implement=[move]).run()
    assert life.trail.count("job_interrupted") == 1


@pytest.mark.parametrize("kind", ["find_base", "baseline", "implement", "check", "review", "rebase", "gate"])
def test_runner_unavailable(tmp_path: Path, kind):
    life = Life(tmp_path, **{kind: [engine_gone]}).run()
    assert life.ending == "runner_unavailable"
    assert life.state.stop.details == ("no engine answers",)
    assert life.goes_on("rerun")
    assert life.ending == "merged"


@pytest.mark.parametrize("kind", ["set_up", "baseline", "implement", "review"])
def test_image_unfit(tmp_path: Path, kind):
    bad = {"report": {"setup_failed": "pip install"}}
    moves = {
        "set_up": lambda _, e: SetupFacts(key=e.key, image=None, detail="pip install: exit code 1"),
        "baseline": job(**bad),
        "implement": coder(**bad),
        "review": reviewer(**bad),
    }
    life = Life(tmp_path, **{kind: [moves[kind]]}).run()
    assert life.ending == "image_unfit"
    assert "pip install" in " ".join(life.state.stop.details)
    assert life.goes_on("rerun")
    assert life.ending == "merged"


@pytest.mark.parametrize("kind", ["check", "gate"])
def test_a_set_up_that_the_diff_broke_is_a_failed_check(tmp_path: Path, kind):
    bad = lambda _, e: JobFacts(key=e.key, end=end(e.key, report={"setup_failed": "always.1"}))
    life = Life(tmp_path, **{kind: [bad] * 2}).run()
    assert f" {kind}_failed" in life.trail
    assert life.ending == "merged"


def test_a_check_that_timed_out_is_a_failed_check(tmp_path: Path):
    slow = commands(command("unit", None, timed_out=True))
    life = Life(tmp_path, new_state(terms=terms(caps=Caps(check=0))), check=[slow] * 2).run()
    assert life.ending == "checks_exhausted"
    assert life.state.stop.details[0] == "unit: timed out: run unit"


def test_a_check_that_a_signal_ended_is_named_with_it(tmp_path: Path):
    killed = commands(command("unit", None, signal=9))
    life = Life(tmp_path, baseline=[killed] * 2).run()
    assert life.state.stop.details[0] == "unit: signal 9: run unit"
