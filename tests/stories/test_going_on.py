"""Which acts of a person lead on from each stop; every one that does comes to a merge or is asked again."""

from pathlib import Path

import pytest

from instrument.schema.job import BigPath
from instrument.schema.state import Candidate, Caps
from instrument.schema.vocabulary import EffectKind, Ended, Stage, StopReason
from loop.machine.advance import begin
from loop.machine.facts import (
    CandidateFacts,
    CandidateProblem,
    EngineFacts,
    JobFacts,
    MergeFacts,
    RebaseFacts,
    ReviewFacts,
    SetupFacts,
)
from loop.machine.plan import plan
from support.ends import (
    coder_end,
    command,
    commands_end,
    denied,
    end,
    failed_call,
    finding,
    review_end,
    tree,
)
from support.lives import Life, base_facts, new_state, rebase_facts, terms


def coder(times=1, **changes):
    return {"implement": [lambda _, e: JobFacts(key=e.key, end=coder_end(e.key, **changes))] * times}


def candidate(problem):
    return {"commit_candidate": [lambda _, e: CandidateFacts(key=e.key, problem=problem, details=("x",))]}


def must_fix(state, effect):
    found = (finding(state.counters.findings + 1, effect.round),)
    return ReviewFacts(key=effect.key, end=review_end(effect.key), findings=found)


def red(_, effect):
    return JobFacts(key=effect.key, end=commands_end(effect.key, command("unit", 1)))


def green(_, effect):
    return JobFacts(key=effect.key, end=commands_end(effect.key))


def lost(_, effect):
    gone = end(effect.key, container={"lost": True}).model_copy(update={"report": None})
    return JobFacts(key=effect.key, end=gone)


NO_REPAIRS = {"terms": terms(caps=Caps(check=0, gate=0, review=1, main_moved=0, interruptions=0))}
BIG = tree(oversized=True, biggest=(BigPath(path="a", size_bytes=1),))

LIVES = {
    "ready_to_merge": ({}, {"authorised": False}),
    "baseline_red": ({"baseline": [red]}, {}),
    "baseline_green": ({"baseline": [green, red]}, {"terms": terms(turns_green=("unit",))}),
    "no_change": (coder(report={"tree": tree("b")}), {}),
    "out_of_scope": (candidate(CandidateProblem.OUT_OF_SCOPE), {}),
    "protected_path": (candidate(CandidateProblem.PROTECTED), {}),
    "nested_repo": (candidate(CandidateProblem.NESTED), {}),
    "patch_too_large": (coder(report={"tree": BIG}), {}),
    "patch_integrity": (candidate(CandidateProblem.UNPROVEN), {}),
    "bad_job_output": (coder(report={"error": "no space"}), {}),
    "checks_exhausted": ({"check": [red]}, NO_REPAIRS),
    "review_exhausted": ({"review": [must_fix]}, NO_REPAIRS),
    "review_unreadable": (
        {"review": [lambda _, e: ReviewFacts(key=e.key, end=review_end(e.key), fault="no_block")] * 2},
        {},
    ),
    "gate_exhausted": ({"gate": [red]}, NO_REPAIRS),
    "merge_conflict": (
        {"rebase": [lambda _, e: RebaseFacts(key=e.key, onto="8" * 40, conflicts=("x",))]},
        {},
    ),
    "main_moving": ({"merge": [lambda _, e: MergeFacts(key=e.key, result="moved")]}, NO_REPAIRS),
    "push_rejected": ({"merge": [lambda _, e: MergeFacts(key=e.key, result="refused", details=("x",))]}, {}),
    "spend_budget": (coder(denials=(denied("budget"),)), {}),
    "time_budget": ({}, {"terms": terms(budget_ms=90_000)}),
    "unknown_price": ({"find_base": [lambda s, e: base_facts(s, e, unpriced=("m",))]}, {}),
    "provider_rate_limited": (coder(calls=(failed_call(429),)), {}),
    "provider_auth": (coder(calls=(failed_call(401),)), {}),
    "provider_unavailable": (coder(calls=(failed_call(500),)), {}),
    "agent_failed": (coder(calls=()), {}),
    "agent_no_first_call": (coder(2, report={"ended": Ended.NO_FIRST_CALL}, calls=()), {}),
    "job_timeout": (coder(report={"ended": Ended.DEADLINE}), {}),
    "memory_limit": (coder(container={"oom_killed": True}), {}),
    "interrupted_too_often": ({"implement": [lost]}, NO_REPAIRS),
    "runner_unavailable": ({"merge": [lambda _, e: EngineFacts(key=e.key, detail="x")]}, {}),
    "image_unfit": ({"set_up": [lambda _, e: SetupFacts(key=e.key, image=None, detail="x")]}, {}),
}

WAYS = {
    "ready_to_merge": "ruling edit auto_merge",
    "baseline_red": "rerun edit",
    "baseline_green": "rerun edit",
    "no_change": "ruling edit",
    "out_of_scope": "ruling edit",
    "protected_path": "ruling edit",
    "nested_repo": "ruling edit",
    "patch_too_large": "ruling edit",
    "patch_integrity": "ruling edit",
    "bad_job_output": "ruling edit",
    "checks_exhausted": "ruling edit",
    "review_exhausted": "ruling edit",
    "review_unreadable": "ruling edit",
    "gate_exhausted": "ruling edit",
    "merge_conflict": "ruling edit",
    "main_moving": "rerun edit",
    "push_rejected": "rerun edit",
    "spend_budget": "edit",
    "time_budget": "edit",
    "unknown_price": "rerun edit",
    "provider_rate_limited": "rerun edit",
    "provider_auth": "rerun edit",
    "provider_unavailable": "rerun edit",
    "agent_failed": "ruling edit",
    "agent_no_first_call": "rerun edit",
    "job_timeout": "ruling edit",
    "memory_limit": "ruling edit",
    "interrupted_too_often": "rerun edit",
    "runner_unavailable": "rerun edit",
    "image_unfit": "rerun edit",
}
"""Written by hand: what docs/stops.md says is held against this, not read from it."""


def stopped_at(folder: Path, reason: str) -> Life:
    moves, changes = LIVES[reason]
    life = Life(folder, new_state(**changes), **moves).run()
    assert life.ending == reason
    return life


def edit(life: Life) -> bool:
    life.state = life.state.model_copy(
        update={"terms": terms(turns_green=life.state.terms.turns_green), "task_blob": "2" * 40}
    )
    return life.goes_on("task_edited")


ACTS = {
    "rerun": lambda life: life.goes_on("rerun"),
    "ruling": lambda life: life.rule("so be it"),
    "edit": edit,
    "auto_merge": lambda life: life.goes_on("auto_merge"),
}


def test_every_stop_but_a_corrupt_state_has_a_life():
    assert set(LIVES) == set(WAYS) == set(StopReason) - {StopReason.STATE_CORRUPT}


@pytest.mark.parametrize("act", ACTS)
@pytest.mark.parametrize("reason", LIVES)
def test_which_acts_lead_on(tmp_path: Path, reason, act):
    life = stopped_at(tmp_path, reason)
    has_led_on = ACTS[act](life)
    assert has_led_on is (act in WAYS[reason].split())
    if has_led_on:
        assert life.ending == ("merged" if life.state.authorised or act == "auto_merge" else "ready_to_merge")


@pytest.mark.parametrize(
    ("reason", "changes"),
    [
        ("no_change", {"report": {"tree": tree("b")}}),
        ("nested_repo", {"report": {"tree": tree(nested_repos=("x",))}}),
        ("patch_too_large", {"report": {"tree": BIG}}),
        ("agent_failed", {"calls": ()}),
        ("job_timeout", {"report": {"ended": Ended.DEADLINE}}),
        ("memory_limit", {"container": {"oom_killed": True}}),
        ("bad_job_output", {"report": {"error": "no space"}}),
    ],
)
def test_a_round_that_failed_is_used_up(tmp_path: Path, reason, changes):
    life = Life(tmp_path, **coder(**changes)).run()
    assert life.ending == reason
    assert life.rule("again")
    assert [e.round for e in life.shell.effects if e.kind is EffectKind.IMPLEMENT] == [1, 2]


@pytest.mark.parametrize("reason", ["ready_to_merge", "push_rejected", "runner_unavailable"])
def test_what_was_approved_for_another_text_is_reviewed_again(tmp_path: Path, reason):
    life = stopped_at(tmp_path, reason)
    assert edit(life)
    reviews = [e.round for e in life.shell.effects if e.kind is EffectKind.REVIEW]
    assert reviews == [1, 2]
    assert life.state.counters.coder_rounds == 1


def test_an_edit_before_a_moved_base_has_its_image_sets_it_up_for_the_review(tmp_path: Path):
    good = lambda _, e: SetupFacts(key=e.key, image="sha256:1")
    bad = lambda _, e: SetupFacts(key=e.key, image=None, detail="x")
    onto = lambda s, e: rebase_facts(s, e, onto="9" * 40)
    life = Life(tmp_path, rebase=[onto], set_up=[good, bad]).run()
    assert (life.ending, life.state.stop.stage) == ("image_unfit", Stage.GATE)
    assert edit(life)
    assert life.trail.endswith("setup_failed image_ready review_approved rebased gate_passed merged")


def test_a_mended_factory_toml_on_the_branch_is_taken_up_at_the_gate(tmp_path: Path):
    good = lambda _, e: SetupFacts(key=e.key, image="sha256:1")
    bad = lambda _, e: SetupFacts(key=e.key, image=None, detail="x")
    onto = [lambda s, e, tip=tip: rebase_facts(s, e, onto=tip * 40) for tip in "98"]
    life = Life(tmp_path, rebase=onto, set_up=[good, bad]).run()
    assert life.goes_on("rerun", main_has_moved=True)
    assert life.trail.endswith("setup_failed rebased image_ready gate_passed merged")
    assert life.state.base == "8" * 40


@pytest.mark.parametrize("reason", ["baseline_red", "image_unfit"])
def test_before_anything_was_spent_a_rerun_finds_the_branch_anew(tmp_path: Path, reason):
    life = stopped_at(tmp_path, reason)
    assert life.goes_on("rerun")
    assert life.trail.count("base_found") == 2


def test_a_ruling_on_another_matter_leaves_a_must_fix_to_be_repaired(tmp_path: Path):
    rounds = [*coder()["implement"], *coder(calls=())["implement"]]
    life = Life(tmp_path, review=[must_fix], implement=rounds).run()
    assert life.ending == "agent_failed"
    assert life.rule("again")
    assert [f.closed for f in life.state.findings] == [False]


def test_a_job_under_way_is_adopted_even_where_the_time_is_gone(tmp_path: Path):
    state = new_state(
        stage=Stage.CHECK,
        base="a" * 40,
        image="sha256:1",
        candidate=Candidate(commit="c" * 40, tree="d" * 40, base="a" * 40, n=1),
        terms=terms(budget_ms=0),
    )
    begun = begin(state, plan(state))
    life = Life(tmp_path, begun).run()
    assert life.shell.asked == [(begun.attempt.key, True)]
    assert life.trail == "checks_passed time_exhausted"
