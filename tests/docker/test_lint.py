"""`factory lint` on the example: the checks of a draft on the base, and nothing is left of it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from jobs.engine import Engine
from loop.demo import TASK, TASK_ID, Stand, prepare
from support.recorder import creates, faults, record

pytestmark = pytest.mark.docker

LINT = "from loop.cli import main; main(['lint', *__import__('sys').argv[1:]])"


@pytest.fixture
def stand(engine: Engine, job_image: str, tmp_path: Path) -> Stand:  # noqa: ARG001 - they say why where there is none
    made = Stand(tmp_path / "stand")
    prepare(made)
    return made


def lint(stand: Stand) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", LINT, TASK],
        cwd=stand.checkout,
        env=os.environ | {"FACTORY_HOME": str(stand.home)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=180,
    )


def said(done: subprocess.CompletedProcess[str]) -> list[str]:
    """One a check, without its seconds and without where its output is."""
    lines = [line.removeprefix(f"{TASK}  ") for line in done.stdout.splitlines()]
    return [line.partition(" (")[0].partition(";")[0] for line in lines]


def test_the_base_is_held_against_what_the_task_says(stand: Stand) -> None:
    run_id = stand.home / "lint" / TASK_ID / "run-id"
    with record() as recorder:
        done = lint(stand)
        assert done.returncode == 0, done.stdout + done.stderr
        assert sorted(said(done)) == ["compile: passes", "style: passes", "unit: fails as turns_green says"]
        first = run_id.read_text()
        assert (len(creates(recorder, first)), faults(recorder, first)) == (1, [])

        draft = stand.checkout / TASK
        draft.write_text(draft.read_text().replace("turns_green: [unit]\n", ""))
        done = lint(stand)
        assert done.returncode == 1, done.stdout + done.stderr
        assert sorted(said(done)) == ["compile: passes", "style: passes", "unit: fails"]
        (line,) = [line for line in done.stdout.splitlines() if "unit" in line]
        evidence = Path(line.partition("; see ")[2])
        assert "test_a_rounded_second_is_carried" in evidence.read_text()
        second = run_id.read_text()
        assert second != first
        assert faults(recorder, second) == []

        draft.write_text(draft.read_text().replace("checks: [style, unit]", "checks: [stile]"))
        done = lint(stand)
        assert done.returncode == 2
        assert "stile" in done.stderr
        assert run_id.read_text() == second
    assert not (stand.home / "tasks" / TASK_ID).exists()
