"""A bake-off with the real engine and the real programs, on the scripted provider, killed in its middle."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from instrument.schema.state import TaskState
from instrument.schema.vocabulary import EffectKind
from jobs.engine import Engine
from jobs.pod import select_labels
from loop.bakeoff.diffs import save_diff
from loop.bakeoff.replay import Replay
from loop.bakeoff.rescore import Rescore
from loop.bakeoff.result import Result, load_result, save_result
from loop.bakeoff.scratch import commit_files, source_of
from loop.demo import ROOT
from loop.git.seed import seed_repository
from support.stand import remove_all_of, wait_for

pytestmark = pytest.mark.docker

MAIN = "from loop.cli import main; main()"
STORIES = ROOT / "examples" / "words-stories"
TASKS = (
    "tasks/001-one-dash-between-words.md",
    "tasks/002-fill-a-line-to-its-width.md",
    "tasks/003-write-ies-for-y.md",
)
RUNTIMES = ("claude", "opencode", "codex:gpt-5.5")
WITH = [word for name in RUNTIMES for word in ("--with", name)]
PATIENCE_S = 900


@dataclass
class Kitchen:
    """A checkout of the example with its origin, and a home."""

    folder: Path
    processes: list[subprocess.Popen[str]] = field(default_factory=list)

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def bakeoffs(self) -> list[Path]:
        return [path.parent for path in sorted((self.home / "bakeoffs").glob("*/result.json"))]

    @property
    def states(self) -> list[TaskState]:
        found = self.home.glob("bakeoffs/*/cells/*/home/tasks/*/state.json")
        return [TaskState.model_validate_json(path.read_bytes()) for path in sorted(found)]

    def start(self, *words: str) -> "subprocess.Popen[str]":
        """`factory bakeoff`, from the working copy."""
        process = subprocess.Popen(
            [sys.executable, "-c", MAIN, "bakeoff", *words],
            cwd=self.folder / "words",
            env=os.environ | {"FACTORY_HOME": str(self.home)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.processes.append(process)
        return process

    def run(self, *words: str) -> tuple[str, int]:
        process = self.start(*words)
        out, err = process.communicate(timeout=PATIENCE_S)
        assert process.returncode in (0, 1), err
        return out, process.returncode

    def coders(self, engine: Engine, task_id: str) -> list[str]:
        """The running containers of this task's coders."""
        attempts = [(state, state.attempt) for state in self.states if state.task_id == task_id]
        return [
            pod.name
            for state, attempt in attempts
            if attempt is not None and attempt.kind is EffectKind.IMPLEMENT
            for pod in engine.containers.find(select_labels(state.run_id, attempt.key))
            if pod.is_running
        ]

    def ended(self) -> int:
        """How many cells have ended."""
        return sum(len(load_result(folder).cells) for folder in self.bakeoffs)

    def left(self, engine: Engine) -> list[str]:
        run_ids = [state.run_id for state in self.states]
        return [pod.name for run_id in run_ids for pod in engine.containers.find(select_labels(run_id))]


@pytest.fixture(scope="module")
def kitchen(engine: Engine, job_image: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kitchen]:  # noqa: ARG001
    made = Kitchen(tmp_path_factory.mktemp("kitchen"))
    seed_repository(ROOT / "examples" / "words", made.folder / "words", made.folder / "origin.git")
    yield made
    for process in made.processes:
        if process.poll() is None:
            process.kill()
            process.communicate()
    for state in made.states:
        remove_all_of(engine, state.run_id)


def stories(*numbers: int) -> list[str]:
    return [word for n in numbers for word in ("--story", f"{n}={STORIES}/{n:03d}.yaml")]


@pytest.fixture(scope="module")
def baked(kitchen: Kitchen, engine: Engine) -> tuple[Path, str]:
    """One task by all three programs: killed while the second cell's coder works, and begun again."""
    words = (TASKS[0], *WITH, *stories(1))
    process = kitchen.start(*words)
    wait_for(
        lambda: kitchen.ended() == 1 and kitchen.coders(engine, "words-001"),
        "the second cell's coder",
        within_s=PATIENCE_S / 2,
    )
    process.kill()
    process.communicate()
    text, code = kitchen.run(*words)
    assert code == 0
    (folder,) = kitchen.bakeoffs
    return folder, text


def calls_and_requests(result: Result) -> list[tuple[int, int]]:
    """By cell: the calls that were charged, and the requests that the provider itself noted."""
    found = []
    for cell in result.cells:
        paths = Path(cell.run_folder).glob("jobs/*/requests.jsonl")
        found.append((cell.calls, sum(len(path.read_text().splitlines()) for path in paths)))
    return found


def test_three_programs_do_one_task_and_the_table_says_what_it_cannot_tell(baked: tuple[Path, str]) -> None:
    folder, text = baked
    result = load_result(folder)
    assert [variant.name for variant in result.plan.variants] == list(RUNTIMES)
    assert all(cell.is_accepted for cell in result.cells)
    assert text.count("1/1") == 6
    assert text.count("too few (1 of 7)") == 9
    programs = {cell.cell.variant: cell.agent.split()[0] for cell in result.cells}
    assert programs == {0: "claude", 1: "opencode", 2: "codex"}


def test_a_kill_in_the_middle_costs_nothing_twice(baked: tuple[Path, str]) -> None:
    result = load_result(baked[0])
    assert calls_and_requests(result) == [(4, 4)] * 3
    costs = {cell.cell.variant: cell.cost_microusd for cell in result.cells}
    assert costs[0] == costs[1], "the same model at the same prices"
    assert not any(cell.lower_bound for cell in result.cells)


def test_nothing_is_merged_where_a_person_works_and_nothing_is_left(
    baked: tuple[Path, str], kitchen: Kitchen, engine: Engine
) -> None:
    assert baked
    for repo in ("words", "origin.git"):
        args = ["git", "-C", str(kitchen.folder / repo), "rev-list", "--count", "--all"]
        assert subprocess.run(args, capture_output=True, text=True, check=True).stdout.strip() == "1"
    assert not (kitchen.home / "tasks").exists()
    assert kitchen.left(engine) == []


def test_a_stricter_reviewer_reads_the_saved_diffs(baked: tuple[Path, str], kitchen: Kitchen) -> None:
    story = str(STORIES / "strict-reviewer.yaml")
    words = ("--replay-reviews", baked[0].name, "--with", "codex:gpt-5.5", "--story", story, "--json")
    text, _ = kitchen.run(*words)
    replay = Replay.model_validate_json(text)
    assert [(review.first, review.second) for review in replay.reviews] == [("approve", "changes")] * 3
    assert replay.spent_microusd == sum(review.cost_microusd for review in replay.reviews) > 0
    assert kitchen.run(*words)[0] == text, "what was asked is not asked again"


def test_a_saved_diff_whose_check_fails_by_now_is_found(baked: tuple[Path, str], kitchen: Kitchen) -> None:
    folder, _ = baked
    result = load_result(folder)
    bad = result.cells[1]
    source = source_of(folder)
    start = result.plan.starts[0][bad.cell.variant]
    commit = commit_files(
        source,
        start,
        {"words/slug.py": b'"""Broken."""\n\n\ndef slug(title):\n    return title\n'},
        author="t <t@localhost>",
        ref="refs/planted",
        message="planted",
    )
    planted = bad.model_copy(
        update={"diff": save_diff(folder, "planted.patch", source, start=start, commit=commit)}
    )
    cells = (result.cells[0], planted, result.cells[2])
    save_result(folder, result.model_copy(update={"cells": cells}))

    text, code = kitchen.run("--rescore", folder.name, "--json")

    made = Rescore.model_validate_json(text)
    assert code == 1
    assert [cell.says for cell in made.cells] == ["same", "checks_fail", "same"]
    assert made.cells[1].failed == ("slug",)
    save_result(folder, result)


def test_ctrl_c_leaves_no_container(kitchen: Kitchen, engine: Engine) -> None:
    process = kitchen.start(TASKS[2], "--with", "claude", *stories(3))
    wait_for(lambda: kitchen.coders(engine, "words-003"), "its coder", within_s=PATIENCE_S / 2)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "to continue:  factory bakeoff --resume " in said
    assert kitchen.left(engine) == []


@pytest.mark.slow
@pytest.mark.usefixtures("job_image")
def test_three_tasks_by_three_programs_print_their_table(engine: Engine, tmp_path: Path) -> None:
    kitchen = Kitchen(tmp_path)
    seed_repository(ROOT / "examples" / "words", tmp_path / "words", tmp_path / "origin.git")
    try:
        text, code = kitchen.run(*TASKS, *WITH, *stories(1, 2, 3), "--json")
        assert code == 0
        figures = json.loads(text)["figures"]
        assert [(each["accepted"], each["cells"]) for each in figures["variants"]] == [(3, 3)] * 3
        assert {pair["says"] for pair in figures["pairs"]} == {"too_few"}
        assert kitchen.left(engine) == []
    finally:
        for state in kitchen.states:
            remove_all_of(engine, state.run_id)
