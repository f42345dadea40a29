"""Two tasks of one repo, whole: paths that overlap, a red main that is one alert, slots."""

from collections.abc import Callable

import pytest

from instrument.schema.events import EVENT, RunEnded, Waited
from instrument.schema.vocabulary import WaitedFor
from loop.errors import BusyError, Exit
from loop.holds import hold_of
from loop.running import claim, this_process
from loop.slotfiles import Need, take_lease
from support.ends import START
from support.fake_jobs import RUNNING, WORKED_ON, Turn
from support.repos import TASK_TEXT, TOML, Desk, edited

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
    assert str(refused[0]).startswith(f"{OTHER_ID} waits for demo-007")
    assert str(refused[0]).endswith("; --wait waits for it")
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


def waits(desk: Desk, task: str, then: Callable[[], None]) -> str:
    """Run with `--wait`; what stands in the way goes at the second sleep. How it ended."""
    slept: list[float] = []
    created = desk.jobs.created()

    def sleep(seconds: float) -> None:
        assert 0 < seconds <= 0.5
        slept.append(seconds)
        if len(slept) == 2:
            assert desk.jobs.created() == created, "nothing was begun"
            then()

    result = desk.run(desk.world(sleep=sleep), task=task, wait=True).result
    assert len(slept) >= 2
    return str(result.stop_reason)


def test_with_wait_an_overlapping_task_begins_once_the_other_is_out_of_the_way(both: Desk):
    first = this_process("demo-007", ["src/**"], (), START)
    with claim(both.home, "demo", first, [WORKED_ON], count=2) as held:
        assert waits(both, OTHER, held.release) == "ready_to_merge"
    assert f"{OTHER_ID} waits for demo-007" in both.said.getvalue()


def test_with_wait_a_task_behind_a_red_main_begins_once_it_is_mended(both: Desk):
    both.commit({WORKED_ON: "BUG\n"})
    both.script.failing = {"unit": b"BUG"}
    assert both.ends() == "baseline_red"
    assert waits(both, OTHER, lambda: both.commit({WORKED_ON: "mended\n"})) == "ready_to_merge"
    assert f"{OTHER_ID} waits for a green main" in both.said.getvalue()
    assert recorded(both, OTHER_ID)[0] == ("waited", WaitedFor.MAIN)


def test_with_wait_a_task_begins_once_the_repo_has_a_slot(both: Desk):
    both.commit({"factory.toml": edited(TOML, '"demo"\n', '"demo"\ntasks = 1\n')})
    first = this_process("demo-007", ["src/**"], (), START)
    with claim(both.home, "demo", first, [WORKED_ON], count=1) as held:
        with pytest.raises(
            BusyError, match=r"demo-009 waits for a task slot of demo \(there are 1\): demo-007"
        ):
            both.run(task=ELSEWHERE)
        both.script.coder = [Turn({"docs/x.md": b"x\n"})]
        assert waits(both, ELSEWHERE, held.release) == "ready_to_merge"
    assert recorded(both, "demo-009")[2] == ("waited", WaitedFor.SLOT)


def test_with_wait_a_job_begins_once_the_host_has_a_slot(both: Desk):
    both.environment["FACTORY_JOBS"] = "1"
    lease = take_lease(both.home, "", Need(key="another"))
    assert waits(both, OTHER, lease.release) == "ready_to_merge"
    assert recorded(both, OTHER_ID)[0] == ("waited", WaitedFor.SLOT)


def recorded(desk: Desk, task_id: str) -> list[tuple[str, object]]:
    """The waits and the ends of runs, as the record has them."""
    lines = (desk.home / "tasks" / task_id / "events.jsonl").read_bytes().splitlines()
    events = [EVENT.validate_json(line) for line in lines]
    return [
        ("waited", event.what) if isinstance(event, Waited) else ("ended", event.exit_code)
        for event in events
        if isinstance(event, Waited | RunEnded)
    ]


def test_what_a_run_waited_for_is_on_record_also_where_it_would_not_wait(both: Desk):
    first = this_process("demo-007", ["src/**"], (), START)
    with claim(both.home, "demo", first, [WORKED_ON], count=2) as held:
        with pytest.raises(BusyError):
            both.run(task=OTHER)
        assert recorded(both, OTHER_ID) == [("waited", WaitedFor.TASK), ("ended", 4)]
        assert waits(both, OTHER, held.release) == "ready_to_merge"
    assert recorded(both, OTHER_ID)[2:] == [("waited", WaitedFor.TASK), ("ended", 3)]
