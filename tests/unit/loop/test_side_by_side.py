"""Two tasks of one repo, whole: paths that overlap, and a red main that is one alert."""

import pytest

from loop.errors import BusyError, Exit
from loop.holds import hold_of
from support.fake_jobs import RUNNING, WORKED_ON, Turn
from support.repos import TASK_TEXT, Desk, edited

OTHER = "tasks/008-other.md"
OTHER_ID = "demo-008"
ELSEWHERE = "tasks/009-elsewhere.md"


@pytest.fixture
def both(desk: Desk) -> Desk:
    desk.commit({OTHER: TASK_TEXT, ELSEWHERE: edited(TASK_TEXT, "src/**", "docs/**")})
    return desk


def test_a_task_whose_files_overlap_ends_before_any_cost_and_names_whom_it_waits_for(both: Desk):
    refused: list[BusyError] = []
    stopped: list[str] = []

    def at(status, order) -> None:
        if status == RUNNING and order.folder.name.endswith("-coder-1") and not refused:
            before = both.jobs.created()
            with pytest.raises(BusyError) as busy:
                both.run(task=OTHER)
            refused.append(busy.value)
            assert both.jobs.created() == before, "nothing was begun"
            both.script.coder = [Turn({"docs/x.md": b"x\n"})]
            stopped.append(both.ends(task=ELSEWHERE))
            both.script.coder = [Turn({WORKED_ON: b"good\n"})]

    both.jobs.at = at
    assert both.ends() == "ready_to_merge"
    assert refused[0].exit_code is Exit.BUSY
    assert f"{OTHER_ID} waits for demo-007" in str(refused[0])
    assert stopped == ["ready_to_merge"], "files that do not overlap run side by side"
    both.jobs.at = lambda _status, _order: None
    assert both.ends(task=OTHER) == "ready_to_merge", "once the first has stopped it is free"


def test_a_red_main_is_one_alert_and_the_others_go_on_once_it_is_mended(both: Desk):
    both.commit({WORKED_ON: "BUG\n"})
    both.script.failing = {"unit": b"BUG"}
    assert both.ends() == "baseline_red"
    held = hold_of(both.home, "demo")
    assert held is not None
    assert (held.failed, held.task_id, held.base) == (("unit",), "demo-007", both.person.head())
    created = both.jobs.created()
    for task, name in ((OTHER, OTHER_ID), (ELSEWHERE, "demo-009")):
        with pytest.raises(BusyError, match=rf"{name} waits for a green main: unit failed") as busy:
            both.run(task=task)
        assert busy.value.exit_code is Exit.BUSY
    assert both.jobs.created() == created, "nobody else paid for that"
    assert both.ends() == "baseline_red", "the one that found it may look again"
    both.commit({WORKED_ON: "mended\n"})
    assert both.ends(task=OTHER) == "ready_to_merge"
    assert hold_of(both.home, "demo") is None
    assert both.ends() == "ready_to_merge"
