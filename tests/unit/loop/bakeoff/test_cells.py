"""Whole bake-offs with a fake engine: every cell ends merged in its scratch clone, or at a stop."""

import io
import json
from collections.abc import Callable
from signal import SIGINT

import pytest

from instrument.schema.job import AgentResult
from instrument.schema.vocabulary import DoneReason, Purpose, Role, StopReason
from jobs.order import JobOrder
from loop.bakeoff.typed import Printed
from loop.errors import UsageError
from loop.leases import try_lease
from loop.signals import Interrupted
from loop.store import load_state
from support.bakeoffs import TASKS, Bakeoff
from support.fake_jobs import RUNNING, Turn, ruled
from support.receiver import receiving
from support.repos import TASK, TASK_ID, TOML, edited, tree_of_folder

CALL_MICROUSD = 1000
"""Of the fake's calls, one a job."""
JOBS_OF_A_CELL = 5
"""Baseline, coder, check, reviewer, gate."""


class Killed(BaseException):
    """The process is gone: nothing after it runs."""


def at_job(n: int, role: Role, end: Callable[[], BaseException]) -> Callable[[str, JobOrder], None]:
    """Die while the n-th job of a role runs; once."""
    seen: list[str] = []

    def look(status: str, order: JobOrder) -> None:
        if status == RUNNING and order.role is role:
            seen.append(order.identity.key)
            if len(seen) == n:
                raise end()

    return look


def test_every_task_is_done_by_every_variant_and_nothing_leaves_the_scratch_clones(bakeoff: Bakeoff) -> None:
    desk = bakeoff.desk
    before = [tree_of_folder(desk.folder / name) for name in ("person", "origin.git")]

    text, code = bakeoff.run(*TASKS)

    result = bakeoff.result
    assert code == 0
    assert result.is_complete
    assert {cell.done for cell in result.cells} == {DoneReason.MERGED}
    assert {(c.cell.subject, c.cell.variant) for c in result.cells} == {
        (s, v) for s in range(3) for v in (0, 1)
    }
    assert [cell.cost_microusd for cell in result.cells] == [2 * CALL_MICROUSD] * 6
    assert [tree_of_folder(desk.folder / name) for name in ("person", "origin.git")] == before
    assert not (desk.home / "tasks").exists()
    assert desk.jobs.left() == []
    assert text.count("3/3") == 2
    assert text.count("too few (3 of 6)") == 3


def test_a_cells_record_is_of_the_purpose_that_no_headline_counts(bakeoff: Bakeoff) -> None:
    bakeoff.run(TASK)
    homes = sorted((bakeoff.folder / "cells").glob("*/home"))
    states = [load_state(home / "tasks" / TASK_ID) for home in homes]
    assert [state and state.purpose for state in states] == [Purpose.BAKEOFF] * 2
    assert not list((bakeoff.folder / "cells").glob("*/*.git"))
    assert not list((bakeoff.folder / "cells").glob("*/home/repos/*.git"))


def test_a_stopped_cell_shows_its_reason_and_is_not_accepted(bakeoff: Bakeoff) -> None:
    asked = AgentResult(outcome="blocked", question="Which delay?")
    bakeoff.desk.script.coder = (Turn(result=asked),)

    text, code = bakeoff.run(TASK)

    assert code == 0
    assert [cell.stop for cell in bakeoff.result.cells] == [StopReason.BLOCKED] * 2
    assert text.count("0/1") == 4
    assert text.count("stopped   blocked: ") == 2
    assert "n/a" in text


def test_a_stop_is_a_cells_result_whatever_ladder_the_repo_has(bakeoff: Bakeoff) -> None:
    desk = bakeoff.desk
    # The shell line of a resolver, which the second variant would need, is not there.
    lines = '[agent.command]\ncoder = "x"\nreviewer = "x"\n[reviewer]\nruntime = "claude"\n'
    ladder = '[ladder]\nsteps = ["machine", "small"]\nsmall = "claude-haiku-4-5"\n'
    desk.commit({"factory.toml": edited(TOML, "[job]", f"{lines}{ladder}[job]")})
    desk.script.coder = (Turn(result=AgentResult(outcome="blocked", question="Which delay?")),)
    desk.script.resolver = (Turn(answer=ruled("This one.")),)

    _, code = bakeoff.run(TASK, variants=("claude", "command"))

    assert code == 0
    assert [cell.stop for cell in bakeoff.result.cells] == [StopReason.BLOCKED] * 2
    records = [path.read_text() for path in bakeoff.folder.glob("cells/*/home/tasks/*/events.jsonl")]
    assert len(records) == 2
    assert not any("ladder_step" in record for record in records)
    # Outside of a bake-off it acts.
    desk.run()
    assert "ladder_step" in [event.kind for event in desk.events]


def test_nobody_is_called_for_what_happens_in_a_scratch_clone(bakeoff: Bakeoff) -> None:
    bakeoff.desk.script.coder = (Turn(result=AgentResult(outcome="blocked", question="Which delay?")),)
    with receiving() as receiver:
        bakeoff.desk.environment["FACTORY_NOTIFY"] = receiver.url("a")

        bakeoff.run(TASK)

        assert receiver.messages == []


def test_with_json_one_object_has_result_and_figures(bakeoff: Bakeoff) -> None:
    text, _ = bakeoff.run(TASK, as_json=True)
    printed = Printed.model_validate_json(text)
    assert printed.result == bakeoff.result
    assert [each.accepted for each in printed.figures.variants] == [1, 1]
    assert json.loads(text)["figures"]["pairs"][0]["says"] == "too_few"


def test_a_setting_reaches_the_jobs_of_its_variant_alone(bakeoff: Bakeoff) -> None:
    limits: dict[str, int] = {}

    def look(status: str, order: JobOrder) -> None:
        if status == RUNNING and order.agent is not None:
            limits[order.identity.run_id] = order.agent.context_limit_tokens

    bakeoff.desk.jobs.at = look
    bakeoff.run(TASK, variants=("claude", "claude,context_limit_tokens=50000"))
    assert sorted(limits.values()) == [50_000, 100_000]


@pytest.mark.parametrize(("n", "role"), [(1, Role.CODER), (2, Role.REVIEWER)])
def test_killed_in_the_middle_the_same_command_goes_on_and_charges_nothing_twice(
    bakeoff: Bakeoff, n: int, role: Role
) -> None:
    bakeoff.desk.jobs.at = at_job(n, role, Killed)
    with pytest.raises(Killed):
        bakeoff.run(TASK)
    ended = bakeoff.result.cells
    assert len(ended) == n - 1
    bakeoff.desk.jobs.at = lambda *_: None

    _, code = bakeoff.run(TASK)

    assert code == 0
    assert bakeoff.result.cells[: len(ended)] == ended
    assert bakeoff.result.spent_microusd == 2 * 2 * CALL_MICROUSD
    assert sum(bakeoff.desk.jobs.created().values()) == 2 * JOBS_OF_A_CELL
    assert bakeoff.desk.jobs.left() == []


class Tripping(io.StringIO):
    """Dies when it is told that a cell has merged, which is before that is saved."""

    def write(self, text: str) -> int:
        if ": merged" in text:
            raise Killed
        return super().write(text)


def test_a_cell_that_had_ended_before_the_kill_is_only_read(bakeoff: Bakeoff) -> None:
    with pytest.raises(Killed):
        Bakeoff(bakeoff.desk, Tripping()).run(TASK)
    before = bakeoff.desk.jobs.created()
    assert (sum(before.values()), bakeoff.result.cells) == (JOBS_OF_A_CELL, ())

    bakeoff.run(TASK)

    assert sum(bakeoff.desk.jobs.created().values()) == 2 * JOBS_OF_A_CELL
    assert [cell.is_accepted for cell in bakeoff.result.cells] == [True, True]
    assert bakeoff.result.cells[0].diff is not None


def test_ctrl_c_leaves_no_container_and_says_how_to_go_on(bakeoff: Bakeoff) -> None:
    bakeoff.desk.jobs.at = at_job(2, Role.CODER, lambda: Interrupted(SIGINT))
    with pytest.raises(Interrupted):
        bakeoff.run(TASK)
    assert bakeoff.desk.jobs.left() == []
    name = bakeoff.folder.name
    assert bakeoff.said.getvalue().endswith(f"interrupted; to continue:  factory bakeoff --resume {name}\n")
    assert "factory run" not in bakeoff.said.getvalue()

    bakeoff.desk.jobs.at = lambda *_: None
    _, code = bakeoff.run(resume=name)
    assert code == 0
    assert bakeoff.result.spent_microusd == 5 * CALL_MICROUSD, "what the interrupted job had cost counts"


def test_a_bake_off_that_has_ended_is_not_taken_up_by_the_same_command(bakeoff: Bakeoff) -> None:
    for _ in range(2):
        bakeoff.run(TASK, variants=("claude",))
    assert len(bakeoff.folders) == 2


def test_a_stop_that_says_nothing_of_the_agent_ends_it_until_that_is_mended(bakeoff: Bakeoff) -> None:
    def engine_goes(status: str, order: JobOrder) -> None:
        if status == RUNNING and order.role is Role.REVIEWER:
            bakeoff.desk.jobs.is_gone = True
            bakeoff.desk.jobs.answer()

    bakeoff.desk.jobs.at = engine_goes
    text, code = bakeoff.run(TASK)
    assert code == 3
    assert "0 of 2 cells so far" in text
    assert "stopped with runner_unavailable. You: bring the Docker Engine back" in bakeoff.said.getvalue()

    bakeoff.desk.jobs.at, bakeoff.desk.jobs.is_gone = (lambda *_: None), False
    _, code = bakeoff.run(TASK)
    assert (code, bakeoff.result.is_complete, bakeoff.result.spent_microusd) == (0, True, 4 * CALL_MICROUSD)


def test_a_base_that_is_red_cannot_be_mended_for_this_bake_off(bakeoff: Bakeoff) -> None:
    bakeoff.desk.script.failing = {"unit": b"old"}
    _, code = bakeoff.run(TASK)
    assert code == 3
    said = bakeoff.said.getvalue()
    assert "stopped with baseline_red: mend that on the branch, then begin another bake-off" in said
    assert "--resume" not in said


def test_another_process_at_the_same_bake_off_is_busy(bakeoff: Bakeoff) -> None:
    bakeoff.run(TASK)
    lease = try_lease(bakeoff.folder / "lock")
    assert lease is not None
    with lease, pytest.raises(Exception, match="another process works on it"):
        bakeoff.run(resume=bakeoff.folder.name)


def test_a_repeat_is_a_cell_of_its_own(bakeoff: Bakeoff) -> None:
    text, _ = bakeoff.run(TASK, repeats=2, variants=("claude",))
    assert [cell.cell.repeat for cell in bakeoff.result.cells] == [1, 2]
    assert text.count("2/2") == 2
    assert "too few" not in text, "one variant has nothing to be held against"


def test_an_id_that_is_none_is_one_sentence(bakeoff: Bakeoff) -> None:
    for name in ("0a0b0c0d", "../tasks"):
        with pytest.raises(UsageError, match="bake-off"):
            bakeoff.run(resume=name)
