"""Recorded runs of earlier versions are read forever; see README.md beside this file."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from instrument.asked import Asked
from instrument.cli import main
from instrument.found import find_tasks
from instrument.planner.kept import read_kept
from instrument.report import build_report
from instrument.rows import read_rows

V1 = Path(__file__).with_name("v1")
TASKS = tuple(task.task_id for task in find_tasks(V1))


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A copy, since reading a home writes an index into it."""
    home = tmp_path / "home"
    shutil.copytree(V1, home, ignore=shutil.ignore_patterns("expected"))
    return home


def part_of(whole: Any, expected: Any) -> Any:
    """What is expected to be there, from what is: figures that came later are left out."""
    if isinstance(expected, dict):
        return {
            name: part_of(whole[name], value) if name in whole else "gone" for name, value in expected.items()
        }
    if isinstance(expected, list) and len(whole) == len(expected):
        return [part_of(each, value) for each, value in zip(whole, expected, strict=True)]
    return whole


@pytest.mark.parametrize("task_id", TASKS)
def test_a_recorded_task_still_has_its_figures(home: Path, task_id: str):
    expected = json.loads((V1 / "expected" / f"{task_id}.json").read_text())
    for _ in ("read", "out of the index"):
        report = build_report(read_rows(home), Asked(purpose=None))
        row = next(row for row in report.rows if row.task_id == task_id)
        assert part_of(row.model_dump(mode="json"), expected) == expected


def test_every_recorded_task_has_an_expectation():
    assert sorted(path.stem for path in (V1 / "expected").iterdir()) == sorted(TASKS)
    assert len(TASKS) >= 7


def test_their_sum_is_that_of_the_rows(home: Path):
    report = build_report(read_rows(home), Asked(purpose=None))

    # damaged 2,000 + durations 342,262 + interrupted 2,000 + restarted 4,000 + reverted 2,000 and 1,000
    # + ruled 5,000 + stopped 2,000; nothing was collected of cut, which makes it a lower bound.
    assert report.cost_microusd == 360_262
    assert (report.accepted, report.lower_bound, report.unmetered_parts) == (6, True, 1)
    assert report.cost_per_accepted_microusd == 60_044
    assert (report.kept, report.reverted) == (0, 1)


def test_what_was_kept_of_planning_is_still_told(home: Path):
    report = build_report(read_rows(home), Asked(repo="ruled"), planned=read_kept(home)[0])

    assert report.planner is not None
    assert (report.planner.calls, report.planner.usage.total_tokens) == (10, 6_498)
    assert (report.planner.cost_per_merged_microusd, report.planner.unpriced_calls) == (30_427, 1)


@pytest.mark.parametrize(
    "words",
    [
        "report --purpose all",
        "report ruled-007",
        "status",
        "reads durations-001",
        *(f"tail {task_id} --no-follow -n 1000" for task_id in TASKS),
        *(f"export --purpose all --format {name}" for name in ("jsonl", "csv", "prometheus")),
    ],
)
def test_every_command_reads_them(home: Path, words: str):
    result = CliRunner().invoke(main, words.split(), env={"FACTORY_HOME": str(home)})

    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout
