"""Which acts of a person lead on from each stop; every one that does comes to a merge or is asked again."""

from pathlib import Path

import pytest

from instrument.schema.job import AgentResult
from instrument.schema.state import Candidate, TaskState
from instrument.schema.vocabulary import EffectKind, Ended, Stage, StopReason
from loop.machine.advance import begin
from loop.machine.facts import (
    SetupFacts,
)
from loop.machine.plan import plan
from loop.machine.resume import GRANTED, allow, grant, record_ruling, resume
from support.ends import agent_run, tree
from support.every_stop import BIG, LIVES, WAYS, coders
from support.lives import (
    Life,
    must_fix,
    new_state,
    rebase_facts,
    terms,
)


def stopped_at(folder: Path, reason: str) -> Life:
    moves, changes = LIVES[reason]
    life = Life(folder, new_state(**changes), **moves).run()
    if reason == "parked":
        assert life.ending == "no_change"
        life.park()
    assert life.ending == reason
    return life


def edited(state: TaskState) -> TaskState:
    return state.model_copy(
        update={"terms": terms(turns_green=state.terms.turns_green), "task_blob": "2" * 40}
    )


def granted(counter: str):
    return lambda state: resume(grant(state, counter, 10**9), "grant", counter=counter)


ACTS = {
    "rerun": lambda state: resume(state, "rerun"),
    "ruling": lambda state: resume(record_ruling(state, "so be it"), "ruling"),
    "edit": lambda state: resume(edited(state), "task_edited"),
    "auto_merge": lambda state: resume(state, "auto_merge"),
    "allow": lambda state: resume(allow(state, "x"), "allow"),
} | {f"grant:{counter}": granted(counter) for counter in GRANTED}


def test_every_stop_but_a_corrupt_state_has_a_life():
    assert set(LIVES) == set(WAYS) == set(StopReason) - {StopReason.STATE_CORRUPT}


@pytest.mark.parametrize("reason", LIVES)
def test_which_acts_lead_on(tmp_path: Path, reason):
    stopped = stopped_at(tmp_path, reason)
    ways = {act: after for act, on in ACTS.items() if (after := on(stopped.state)) is not None}
    assert set(ways) == set(WAYS[reason].split())
    for act, after in ways.items():
        life = stopped.branch(after).run()
        assert life.ending == ("merged" if after.authorised or act == "auto_merge" else "ready_to_merge")


@pytest.mark.parametrize(
    ("reason", "changes"),
    [
        ("no_change", {"report": {"tree": tree("b")}}),
        ("nested_repo", {"report": {"tree": tree(nested_repos=("x",))}}),
        ("patch_too_large", {"report": {"tree": BIG}}),
        ("uncapturable", {"report": {"tree": tree(unreadable=("x",))}}),
        ("agent_failed", {"calls": ()}),
        ("job_timeout", {"report": {"ended": Ended.DEADLINE}}),
        ("memory_limit", {"container": {"oom_killed": True}}),
        ("bad_job_output", {"report": {"error": "no space"}}),
        ("no_progress", {"report": {"ended": Ended.NO_PROGRESS}}),
        ("pids_limit", {"report": {"pids_refused": 1}, "agent": agent_run(finished=False)}),
        ("disk_full", {"report": {"ended": Ended.DISK}}),
        ("blocked", {"result": AgentResult(outcome="blocked")}),
    ],
)
def test_a_round_that_failed_is_used_up(tmp_path: Path, reason, changes):
    life = Life(tmp_path, **coders(**changes)).run()
    assert life.ending == reason
    assert life.rule("again")
    assert [e.round for e in life.shell.effects if e.kind is EffectKind.IMPLEMENT] == [1, 2]


@pytest.mark.parametrize("reason", ["ready_to_merge", "push_rejected", "runner_unavailable"])
def test_what_was_approved_for_another_text_is_reviewed_again(tmp_path: Path, reason):
    life = stopped_at(tmp_path, reason)
    life.state = edited(life.state)
    assert life.goes_on("task_edited")
    reviews = [e.round for e in life.shell.effects if e.kind is EffectKind.REVIEW]
    assert reviews == [1, 2]
    assert life.state.counters.coder_rounds == 1


def test_an_edit_before_a_moved_base_has_its_image_sets_it_up_for_the_review(tmp_path: Path):
    good = lambda _, e: SetupFacts(key=e.key, image="sha256:1")
    bad = lambda _, e: SetupFacts(key=e.key, image=None, detail="x")
    onto = lambda s, e: rebase_facts(s, e, onto="9" * 40)
    life = Life(tmp_path, rebase=[onto], set_up=[good, bad]).run()
    assert (life.ending, life.state.stop.stage) == ("image_unfit", Stage.GATE)
    life.state = edited(life.state)
    assert life.goes_on("task_edited")
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
    rounds = [*coders()["implement"], *coders(calls=())["implement"]]
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
