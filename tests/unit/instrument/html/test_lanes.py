from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from instrument.found import find_task
from instrument.html.lanes import MOST, History, history_of
from instrument.html.steps import read_steps
from instrument.row import build_row
from support.past import MONDAY, Past


@pytest.fixture
def life(tmp_path: Path) -> Past:
    return Past(tmp_path, "shop-001", MONDAY)


def draw(life: Past) -> History:
    life.saves()
    task = find_task(life.folder.parents[1], life.name)
    return history_of(build_row(task), read_steps(task))


def bars(history: History, lane: str, what: str) -> list[Any]:
    return next(list(getattr(each, what)) for each in history.lanes if each.name == lane)


def test_a_step_holds_its_job_and_the_job_its_calls(life: Past) -> None:
    life.codes(100, 1)

    history = draw(life)

    (step,), (job,), (call,) = (bars(history, "implement", what) for what in ("steps", "jobs", "calls"))
    # 103 seconds and three of git: the job begins after two, its call in the middle and lasts 30.
    assert step.title == "implement, round 1: diff_returned, 1m 43s from 2026-03-02 09:00:40"
    assert job.title == "coder job (claude 2.1.332): 1m 40s, 1 call, $0.003997"
    assert call.title == "chat claude-sonnet-4-5: 30.0s, $0.003997"
    assert [each.width for each in (step, job, call)] == ["97.17%", "94.34%", "28.302%"]
    assert [line.name for line in history.lines] == ["implement", "commit candidate"]


def test_a_job_that_was_collected_late_does_not_begin_after_its_first_call(life: Past) -> None:
    late = (life.now + timedelta(seconds=400)).isoformat()
    key = life.job("implement", "coder", 100, 1, at_utc=late)
    life.passes(400)
    life.moves(key, "diff_returned", "implement", "check")

    history = draw(life)

    (job,), (call,) = (bars(history, "implement", what) for what in ("jobs", "calls"))
    assert job.x == call.x


def test_calls_too_near_to_tell_apart_are_one_mark_that_counts_them(life: Past) -> None:
    life.codes(100, 900)

    (call,) = bars(draw(life), "implement", "calls")

    # 66 ms each; 900 * 3,900 + 97 * 900 * 901 / 2 micro-dollars.
    assert call.title == "900 model calls: 59.4s, $42.83865"


def test_a_step_that_is_still_open_is_told_and_its_length_is_not_known(life: Past) -> None:
    life.tells(kind="attempt_started", key="k-1", effect="job.implement", round=1)

    history = draw(life)

    (step,) = bars(history, "implement", "steps")
    assert step.kind == "step open"
    (line,) = history.lines
    assert (line.took, line.ended, line.job) == ("?", "no end on record", "not collected")


def test_a_set_up_that_found_its_image_had_no_job(life: Past) -> None:
    for effect in ("setup", "check"):
        life.tells(kind="attempt_started", key=f"k-{effect}", effect=f"job.{effect}", round=1)
        life.moves(f"k-{effect}", "image_ready", "ready", "implement")

    assert [(line.name, line.job) for line in draw(life).lines] == [
        ("set up", ""),
        ("check", "not on record"),
    ]


def test_a_step_that_was_cut_short_has_its_sign(life: Past) -> None:
    life.tells(kind="attempt_started", key="k-1", effect="job.implement", round=1)
    life.passes(60)
    life.tells(kind="attempt_interrupted", key="k-1", interruptions=1)

    history = draw(life)

    assert history.lanes[0].alarms == ("100%",)
    assert (history.lines[0].took, history.lines[0].ended) == ("1m 00s", "interrupted")


def test_the_steps_of_a_restarted_task_are_on_one_line(tmp_path: Path) -> None:
    for name, day in (("shop-001.old-1", 0), ("shop-001", 1)):
        life = Past(tmp_path, name, MONDAY + timedelta(days=day))
        life.codes(100, 1)
        life.saves()
    task = find_task(tmp_path, "shop-001")

    history = history_of(build_row(task), read_steps(task))

    assert [line.began[:10] for line in history.lines] == ["2026-03-02"] * 2 + ["2026-03-03"] * 2
    assert len(bars(history, "implement", "calls")) == 2
    assert history.undrawn_calls == 0
    assert len(history.folds) == 1


def test_a_job_without_a_beginning_on_record_is_in_the_table(life: Past) -> None:
    key = life.job("implement", "coder", 10, 2)
    life.lines = [line for line in life.lines if line["kind"] != "attempt_started"]

    history = draw(life)

    assert key
    assert history.lanes == ()
    (line,) = history.lines
    assert (line.began, line.ended, line.job) == ("?", "its beginning is not on record", "10.0s")
    assert (line.calls, history.undrawn_calls) == ("2", 2)


def test_of_very_many_steps_the_last_are_shown_and_the_others_counted(life: Past) -> None:
    for _ in range(MOST + 5):
        life.git("rebase", "rebased", "rebase", "gate")

    history = draw(life)

    assert (len(history.lines), history.left_out) == (MOST, 5)
    assert len(bars(history, "git", "steps")) == MOST
