"""How fast a history is replayed, and a made-up history that git takes."""

import subprocess
from pathlib import Path

import pytest

from tests.bench.replay_bench import COMMITS, FILES, make_history
from tests.bench.replay_figures import render


def test_the_rate_is_of_the_carrying_alone():
    rounds = [{"carrying_s": seconds, "process_s": 30.0} for seconds in (5.0, 8.0, 10.0)]
    text = render({"files": 5_000, "commits": 200, "rounds": rounds})
    assert "| commits a second, fast mode | at least 20 | 25 (20 to 40) met |" in text
    assert "| 8 (5 to 10) | 30 |" in text
    assert "repository of 5,000 files" in text


@pytest.mark.slow
def test_the_made_up_history_has_its_files_at_the_beginning_and_at_the_end(tmp_path: Path):
    make_history(tmp_path / "repo")

    def git(*words: str) -> list[str]:
        line = ["git", "-C", str(tmp_path / "repo"), *words]
        return subprocess.run(line, capture_output=True, text=True, check=True).stdout.splitlines()

    commits = git("rev-list", "main")
    assert len(commits) == COMMITS + 1
    assert all(len(git("ls-tree", "-r", commit)) == FILES for commit in (commits[0], commits[-1]))
    assert len(git("diff", "--no-renames", "--name-only", "main~1", "main")) == 5
