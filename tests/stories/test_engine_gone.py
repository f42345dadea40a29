"""The engine goes away under a job: the rerun asks for the very same job, so that its cost is found."""

from pathlib import Path

import pytest

from instrument.schema.vocabulary import EffectKind, Ended
from loop.machine.facts import CandidateProblem, EngineFacts
from support.lives import Life, coder, commands, problem, reviewer

FULL = {"report": {"ended": Ended.HOST_DISK}}
ON_A_FULL_DISK = {
    "baseline": commands(**FULL),
    "implement": coder(**FULL),
    "check": commands(**FULL),
    "review": reviewer(**FULL),
    "gate": commands(**FULL),
}


@pytest.mark.parametrize("kind", [EffectKind.IMPLEMENT, EffectKind.REVIEW, EffectKind.CHECK, EffectKind.GATE])
def test_a_job_that_the_engine_took_along_is_asked_for_under_its_key(tmp_path: Path, kind: EffectKind):
    gone = lambda _, e: EngineFacts(key=e.key, detail="no engine answers")
    life = Life(tmp_path)
    life.shell.moves |= {kind: [gone]}
    assert life.run().ending == "runner_unavailable"
    assert life.state.attempt is not None
    assert life.goes_on("rerun")
    assert life.ending == "merged"
    first, again, *_ = life.begun(kind)
    assert first.key == again.key
    assert not life.state.spend.lower_bound, "the same job was found again"


def test_after_an_edit_another_job_begins_and_the_cost_of_the_lost_one_is_a_lower_bound(tmp_path: Path):
    gone = lambda _, e: EngineFacts(key=e.key, detail="no engine answers")
    life = Life(tmp_path, implement=[gone]).run()
    assert life.ending == "runner_unavailable"
    assert life.goes_on("task_edited")
    assert life.ending == "merged"
    first, again, *_ = life.begun(EffectKind.IMPLEMENT)
    assert first.key != again.key
    assert life.state.spend.lower_bound


def test_an_answer_to_a_stop_without_a_lost_job_leaves_the_cost_exact(tmp_path: Path):
    life = Life(tmp_path, commit_candidate=[problem(CandidateProblem.OUT_OF_SCOPE, "x")]).run()
    assert life.goes_on("task_edited")
    assert life.ending == "merged"
    assert not life.state.spend.lower_bound


@pytest.mark.parametrize("kind", ON_A_FULL_DISK)
def test_a_job_on_a_full_disk_of_the_engine_uses_no_round_and_is_done_again(tmp_path: Path, kind: str):
    life = Life(tmp_path, **{kind: [ON_A_FULL_DISK[kind]]}).run()
    assert life.ending == "runner_unavailable"
    assert "the disk of the Docker Engine was full" in life.state.stop.details[0]
    assert life.goes_on("rerun")
    assert life.ending == "merged"
    assert (life.state.counters.coder_rounds, life.state.counters.review_rounds) == (1, 1)
