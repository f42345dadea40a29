"""The lives in which a task lands."""

from pathlib import Path

from instrument.schema.vocabulary import Stage
from loop.machine.facts import JobFacts, MergeFacts, RebaseFacts, SetupFacts
from support.ends import command, commands_end
from support.lives import RED, Life, must_fix, new_state, rebase_facts, terms

START = "base_found image_ready baseline_passed"
ROUND = "diff_returned candidate_committed"
END = "rebased gate_passed merged"


def test_a_calm_task_lands(tmp_path: Path):
    life = Life(tmp_path).run()
    assert life.trail == f"{START} {ROUND} checks_passed review_approved {END}"
    assert life.state.stage is Stage.DONE
    assert life.ending == "merged"
    assert life.state.merged == life.state.landing.commit
    assert life.state.spend.microusd == 2000
    assert life.state.counters.coder_rounds == 1
    assert life.state.counters.review_rounds == 1


def test_the_demo_story_takes_three_rounds_and_two_reviews(tmp_path: Path):
    life = Life(tmp_path, check=[RED] * 2, review=[must_fix]).run()
    assert life.trail == (
        f"{START} {ROUND} check_doubted check_failed {ROUND} checks_passed must_fix_found"
        f" {ROUND} checks_passed review_approved {END}"
    )
    assert life.state.counters.coder_rounds == 3
    assert life.state.counters.review_rounds == 2
    assert life.state.spend.microusd == 5000


def test_a_failed_gate_goes_back_through_check_and_review(tmp_path: Path):
    life = Life(tmp_path, gate=[RED] * 2).run()
    assert life.trail == (
        f"{START} {ROUND} checks_passed review_approved rebased gate_doubted gate_failed"
        f" {ROUND} checks_passed review_approved {END}"
    )


def test_moved_main_is_rebased_and_gated_again_but_not_reviewed(tmp_path: Path):
    moved = [lambda _, e: MergeFacts(key=e.key, result="moved")]
    onto = [rebase_facts, lambda s, e: rebase_facts(s, e, onto="9" * 40)]
    life = Life(tmp_path, merge=moved, rebase=onto).run()
    assert life.trail == (
        f"{START} {ROUND} checks_passed review_approved rebased gate_passed main_moved"
        " rebased image_ready gate_passed merged"
    )
    assert life.state.base == "9" * 40


def test_nothing_ahead_after_the_rebase_is_already_upstream(tmp_path: Path):
    life = Life(tmp_path, rebase=[lambda _, e: RebaseFacts(key=e.key, onto="8" * 40)]).run()
    assert life.ending == "already_upstream"
    assert life.state.stage is Stage.DONE


def test_turns_green_lets_a_red_baseline_pass(tmp_path: Path):
    red = lambda _, e: JobFacts(key=e.key, end=commands_end(e.key, command("unit", 1), command("lint")))
    life = Life(tmp_path, new_state(terms=terms(turns_green=("unit",))), baseline=[red]).run()
    assert life.ending == "merged"


def test_a_stopped_task_merges_with_auto_merge_alone_and_asks_no_model_again(tmp_path: Path):
    life = Life(tmp_path, new_state(authorised=False)).run()
    assert life.ending == "ready_to_merge"
    calls = life.state.spend.microusd
    assert not life.goes_on("rerun")
    life.state = life.state.model_copy(update={"authorised": True})
    assert life.goes_on("auto_merge")
    assert life.ending == "merged"
    assert life.state.spend.microusd == calls


def test_image_is_set_up_again_for_a_new_base(tmp_path: Path):
    bad = lambda _, e: SetupFacts(key=e.key, image=None, detail="no")
    good = lambda _, e: SetupFacts(key=e.key, image="sha256:2")
    onto = [lambda s, e: rebase_facts(s, e, onto="9" * 40)]
    life = Life(tmp_path, rebase=onto, set_up=[good, bad]).run()
    assert life.ending == "image_unfit"
    assert life.goes_on("rerun")
    assert life.ending == "merged"
