"""The example that bake-offs are tried out on: each task's check fails, and passes by its story."""

import shutil
import subprocess
from pathlib import Path

import pytest

from loop.config import parse_config
from loop.demo import ROOT
from loop.taskfile import parse_task
from proxy.scripted.story import load_story

WORDS = ROOT / "examples" / "words"
NUMBERS = (1, 2, 3)


def passes(folder: Path, line: str) -> bool:
    return not subprocess.run(["sh", "-c", line], cwd=folder, capture_output=True, check=False).returncode


@pytest.mark.parametrize("number", NUMBERS)
def test_a_check_that_fails_on_the_base_passes_by_the_story(number: int, tmp_path: Path) -> None:
    folder = shutil.copytree(WORDS, tmp_path / "words", ignore=shutil.ignore_patterns("__pycache__"))
    config = parse_config((folder / "factory.toml").read_bytes())
    (path,) = (folder / "tasks").glob(f"{number:03d}-*.md")
    task = parse_task(path.read_bytes(), f"tasks/{path.name}")
    (check,) = task.turns_green
    lines = {name: config.checks[name].run for name in (*task.checks, *task.acceptance)}
    assert [name for name, line in lines.items() if not passes(folder, line)] == [check]

    story = load_story((ROOT / f"examples/words-stories/{number:03d}.yaml").read_text())
    for each in (each for each in story.rounds if each.role == "coder"):
        assert all(passes(folder, turn.run) for turn in each.turns or () if turn.run)

    assert all(passes(folder, line) for line in lines.values())
