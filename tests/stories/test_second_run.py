"""A failing check runs once more in a fresh container: then it is flaky, or failed."""

from pathlib import Path

import pytest

from instrument.schema.state import Caps
from instrument.schema.vocabulary import EffectKind, Stage
from loop.machine.facts import EngineFacts, MergeFacts
from support.ends import command
from support.lives import RED, Life, coder, commands, lost, must_fix, new_state, rebase_facts, terms

GREEN = commands()
TWO_RED = commands(command("lint"), command("unit", 1), command("docs", 1))
NO_SET_UP = commands(command("always.1", 1), report={"setup_failed": "always.1"})
KINDS = {"baseline": EffectKind.BASELINE, "check": EffectKind.CHECK, "gate": EffectKind.GATE}
TURNS_GREEN = {"terms": terms(turns_green=("unit",))}


def only(life, kind):
    return [effect.only for effect in life.begun(KINDS[kind])]


@pytest.mark.parametrize("kind", KINDS)
def test_a_check_that_passes_the_second_time_is_flaky_and_sends_nobody_back(tmp_path: Path, kind):
    life = Life(tmp_path, **{kind: [RED, GREEN]}).run()
    assert life.ending == "merged"
    assert life.trail.count(f"{kind}_doubted") == 1
    assert life.state.flaky == ("unit",)
    assert life.state.counters.coder_rounds == 1
    assert (life.state.counters.check_failures, life.state.counters.gate_failures) == (0, 0)


@pytest.mark.parametrize("kind", KINDS)
def test_a_second_run_runs_only_what_failed_in_a_container_of_its_own(tmp_path: Path, kind):
    life = Life(tmp_path, **{kind: [TWO_RED, commands(command("unit"), command("docs"))]}).run()
    assert life.ending == "merged"
    assert only(life, kind) == [(), ("unit", "docs")]
    first, second = life.begun(KINDS[kind])
    assert first.key != second.key
    assert (first.commit, first.image) == (second.commit, second.image)
    assert life.state.flaky == ("unit", "docs")


@pytest.mark.parametrize("kind", ["check", "gate"])
def test_after_a_set_up_that_failed_all_of_it_runs_again_and_nothing_is_flaky(tmp_path: Path, kind):
    life = Life(tmp_path, **{kind: [NO_SET_UP, commands(command("lint"), command("unit"))]}).run()
    assert life.ending == "merged"
    assert only(life, kind) == [(), ()]
    assert life.state.counters.coder_rounds == 1
    assert life.state.flaky == ()


@pytest.mark.parametrize("kind", ["check", "gate"])
def test_a_check_that_fails_after_the_set_up_came_right_is_not_run_a_third_time(tmp_path: Path, kind):
    life = Life(tmp_path, **{kind: [NO_SET_UP, RED]}).run()
    assert life.trail.count(f"{kind}_doubted {kind}_failed ") == 1
    assert life.begun(KINDS[kind])[2].only == (), "the next candidate's checks are all run"


@pytest.mark.parametrize("kind", ["check", "gate"])
def test_two_failures_in_a_row_send_the_coder_back_with_what_failed_twice(tmp_path: Path, kind):
    told = []

    def listening(state, effect):
        told.append([failure.command.name for failure in state.failures])
        return coder()(state, effect)

    second = commands(command("unit"), command("docs", 1))
    life = Life(tmp_path, implement=[listening] * 2, **{kind: [TWO_RED, second]}).run()
    assert told == [[], ["docs"]]
    assert life.trail.count(f"{kind}_doubted {kind}_failed diff_returned") == 1
    assert life.state.flaky == ("unit",), "what came right is still flaky"
    assert life.state.counters.coder_rounds == 2


def test_each_candidate_has_a_second_run_of_its_own(tmp_path: Path):
    life = Life(tmp_path, check=[RED] * 4).run()
    assert life.trail.count("check_doubted check_failed") == 2
    assert life.ending == "merged"


def test_a_name_that_is_flaky_twice_is_recorded_once(tmp_path: Path):
    life = Life(tmp_path, check=[RED, GREEN], gate=[RED, GREEN]).run()
    assert life.state.flaky == ("unit",)


@pytest.mark.parametrize("kind", KINDS)
def test_an_interruption_of_the_second_run_keeps_the_first(tmp_path: Path, kind):
    life = Life(tmp_path, **{kind: [TWO_RED, lost, commands(command("unit"), command("docs"))]}).run()
    assert life.ending == "merged"
    assert only(life, kind) == [(), ("unit", "docs"), ("unit", "docs")]
    assert life.trail.count("doubted") == 1


@pytest.mark.parametrize("kind", KINDS)
def test_an_interruption_of_the_second_run_is_not_a_third_chance(tmp_path: Path, kind):
    life = Life(tmp_path, new_state(terms=terms(caps=Caps(check=0, gate=0))), **{kind: [RED, lost, RED]})
    assert life.run().ending in ("baseline_red", "checks_exhausted", "gate_exhausted")
    assert life.trail.count("doubted") == 1


@pytest.mark.parametrize("kind", KINDS)
def test_after_a_stop_in_the_second_run_a_rerun_runs_all_of_it(tmp_path: Path, kind):
    gone = lambda _, e: EngineFacts(key=e.key, detail="no engine answers")
    life = Life(tmp_path, **{kind: [RED, gone]}).run()
    assert life.ending == "runner_unavailable"
    assert life.goes_on("rerun")
    assert life.ending == "merged"
    assert only(life, kind) == [(), ("unit",), ()]


def test_a_baseline_that_must_fail_is_not_doubted(tmp_path: Path):
    life = Life(tmp_path, new_state(**TURNS_GREEN), baseline=[RED]).run()
    assert life.ending == "merged"
    assert "doubted" not in life.trail
    assert life.state.flaky == ()


def test_a_baselines_second_run_leaves_the_failing_test_first_alone(tmp_path: Path):
    both = commands(command("lint", 1), command("unit", 1))
    life = Life(tmp_path, new_state(**TURNS_GREEN), baseline=[both, commands(command("lint"))]).run()
    assert life.ending == "merged"
    assert only(life, "baseline") == [(), ("lint",)]
    assert life.state.flaky == ("lint",)


def test_a_baseline_is_already_green_whatever_else_was_flaky(tmp_path: Path):
    other = commands(command("lint", 1), command("unit"))
    life = Life(tmp_path, new_state(**TURNS_GREEN), baseline=[other, commands(command("lint"))]).run()
    assert life.ending == "baseline_green"
    assert life.trail.endswith("baseline_doubted baseline_already_green")
    assert life.state.flaky == ("lint",)


def test_what_was_flaky_on_a_red_base_is_recorded_too(tmp_path: Path):
    life = Life(tmp_path, baseline=[TWO_RED, commands(command("unit"), command("docs", 1))]).run()
    assert (life.ending, life.state.flaky) == ("baseline_red", ("unit",))


def test_a_set_up_that_fails_on_the_base_is_not_run_again(tmp_path: Path):
    life = Life(tmp_path, baseline=[NO_SET_UP]).run()
    assert life.ending == "image_unfit"
    assert len(life.begun(EffectKind.BASELINE)) == 1


def test_the_very_check_that_the_task_turns_green_has_one_try_at_the_gate(tmp_path: Path):
    both = commands(command("lint", 1), command("unit", 1))
    life = Life(tmp_path, new_state(**TURNS_GREEN), baseline=[RED], gate=[both]).run()
    assert "gate_doubted" not in life.trail
    assert life.trail.count("rebased gate_failed diff_returned") == 1
    assert life.ending == "merged"
    assert life.state.flaky == ()


def test_another_check_is_run_again_at_the_gate_of_such_a_task(tmp_path: Path):
    other = commands(command("lint", 1), command("unit"))
    life = Life(
        tmp_path, new_state(**TURNS_GREEN), baseline=[RED], gate=[other, commands(command("lint"))]
    ).run()
    assert life.trail.endswith("gate_doubted gate_passed merged")
    assert life.state.flaky == ("lint",)


def test_while_working_even_that_check_may_be_flaky(tmp_path: Path):
    life = Life(tmp_path, new_state(**TURNS_GREEN), baseline=[RED], check=[RED, GREEN]).run()
    assert life.ending == "merged"
    assert life.state.counters.coder_rounds == 1


def test_a_landing_commit_made_anew_is_gated_from_the_start(tmp_path: Path):
    moved = [lambda _, e: MergeFacts(key=e.key, result="moved")]
    onto = [rebase_facts, lambda s, e: rebase_facts(s, e, onto="9" * 40)]
    life = Life(tmp_path, gate=[RED, GREEN, RED, GREEN], merge=moved, rebase=onto).run()
    assert life.trail.endswith(
        "gate_doubted gate_passed main_moved rebased image_ready gate_doubted gate_passed merged"
    )
    assert only(life, "gate") == [(), ("unit",), (), ("unit",)]


def test_the_reviewers_table_has_the_second_run_of_what_was_flaky(tmp_path: Path):
    second = commands(command("unit", duration_ms=77))
    life = Life(tmp_path, check=[commands(command("lint"), command("unit", 1)), second], review=[must_fix])
    life.run()
    tables = [line for line in life.saved if '"stage":"review"' in line]
    assert '"duration_ms":77' in tables[0]
    assert '"name":"lint"' in tables[0]
    assert life.state.stage is Stage.DONE
