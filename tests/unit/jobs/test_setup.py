from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from instrument.schema.job import CommandEnd, ContainerEnd, JobEnd, JobReport
from instrument.schema.vocabulary import Ended, Purpose, Role
from jobs.order import Command, Identity, Limits, SetupOrder
from jobs.setup import commit_changes, find_fault, setup_tag

PREPARE = Command("prepare", "make deps", 60, {"A": "1"})


def make_end(container: ContainerEnd | None = None, **changes: Any) -> JobEnd:
    values: dict[str, Any] = {
        "key": "k",
        "role": Role.SETUP,
        "ended": Ended.EXITED,
        "exit_code": 0,
        "signal": None,
        "started_utc": datetime(2026, 1, 1, tzinfo=UTC),
        "duration_ms": 1,
        "commands": (CommandEnd(name="prepare", run="x", exit_code=0, output="out/commands/1-prepare.txt"),),
    }
    report = JobReport(**{**values, **changes})
    return JobEnd(
        key="k", folder="jobs/0001", container=container or ContainerEnd(exit_code=0), report=report
    )


def command(**changes: Any) -> tuple[CommandEnd, ...]:
    return (CommandEnd(**{"name": "prepare", "run": "x", "exit_code": 1, "output": "o", **changes}),)


def test_the_tag_follows_image_commands_and_inputs() -> None:
    tag = setup_tag("sha256:1", [PREPARE], "abc")
    others = {
        setup_tag("sha256:2", [PREPARE], "abc"),
        setup_tag("sha256:1", [PREPARE], "abd"),
        setup_tag("sha256:1", [Command("prepare", "make all", 60, {"A": "1"})], "abc"),
        setup_tag("sha256:1", [Command("prepare", "make deps", 60, {"A": "2"})], "abc"),
        setup_tag("sha256:1", [PREPARE, PREPARE], "abc"),
    }
    assert len(others) == 5
    assert tag not in others
    assert setup_tag("sha256:1", [Command("prepare", "make deps", 99, {"A": "1"})], "abc") == tag


def test_a_set_up_that_worked_has_no_fault() -> None:
    assert find_fault(make_end()) is None


@pytest.mark.parametrize(
    ("end", "words"),
    [
        (make_end(commands=command()), "`prepare` ended with exit code 1"),
        (
            make_end(commands=command(exit_code=None, timed_out=True, signal=9)),
            "`prepare` ran into its timeout",
        ),
        (make_end(commands=command(exit_code=None, signal=9)), "`prepare` was ended by signal 9"),
        (make_end(commands=command(exit_code=137), oom_kills=1), "(out of memory)"),
        (make_end(commands=command(exit_code=254), pids_refused=3), "(it reached the limit on processes)"),
        (make_end(error="set-up changed tracked file a.txt"), "changed tracked file a.txt"),
        (make_end(ended=Ended.DISK), "a limit (disk)"),
        (make_end(ended=Ended.HOST_DISK), "disk of the Docker Engine was full"),
        (make_end(ended=Ended.DEADLINE), "a limit (deadline)"),
        (
            JobEnd(key="k", folder="f", container=ContainerEnd(lost=True), report_error="No folder."),
            "left no report: No folder.",
        ),
    ],
)
def test_every_other_end_is_a_sentence(end: JobEnd, words: str) -> None:
    assert words in str(find_fault(end))


def test_the_image_keeps_no_label_of_the_one_run() -> None:
    order = SetupOrder(
        identity=Identity("0a1b2c3d", "demo-001-setup-1-x", "demo-001", Purpose.DEMO),
        base_image=None,
        dockerfile=None,
        cached=(PREPARE,),
        inputs_digest="abc",
        commit="1" * 40,
        pack=Path("p"),
        folder=Path("f"),
        limits=Limits(),
    )
    changes = commit_changes(order)
    for name in ("run", "key", "task", "purpose", "part", "role"):
        assert f'LABEL factory.{name}=""' in changes
    assert not any(change.startswith("LABEL factory-loop") for change in changes)
    assert "0a1b2c3d" not in "".join(changes)
