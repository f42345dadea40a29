"""A history of every kind of commit, replayed in real containers: in one, and as whole jobs."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from jobs.engine import Engine
from jobs.pod import select_labels
from support.gitkit import Repo
from support.replays import commit_states, make_history, named_commits
from support.trees import State

pytestmark = pytest.mark.docker

REPLAY = "from loop.cli import main; main(['replay', *__import__('sys').argv[1:]])"


@dataclass(frozen=True)
class Stand:
    """A person's repository and a home; `words` say what becomes of each commit."""

    repo: Repo
    home: Path
    words: dict[str, str]
    engine: Engine

    def run(self, *args: str) -> subprocess.CompletedProcess[str]:
        with self.started(*args) as child:
            out, err = child.communicate(timeout=180)
        return subprocess.CompletedProcess(args, child.returncode, out, err)

    @contextmanager
    def started(self, *args: str) -> Iterator[subprocess.Popen[str]]:
        child = subprocess.Popen(
            [sys.executable, "-c", REPLAY, "--repo", str(self.repo.root), *args],
            env=os.environ | {"FACTORY_HOME": str(self.home)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        with child:
            try:
                yield child
            finally:
                child.kill()

    @property
    def folder(self) -> Path:
        (folder,) = (path for path in (self.home / "replay").iterdir() if path.is_dir())
        return folder

    def records(self) -> list[dict[str, Any]]:
        file = self.folder / "progress.jsonl"
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []

    def is_clean(self) -> bool:
        run_id = (self.folder / "run-id").read_text()
        return not self.engine.containers.find(select_labels(run_id))


@pytest.fixture
def stand(engine: Engine, job_image: str, tmp_path: Path) -> Stand:  # noqa: ARG001 - built before time counts
    repo, words = make_history(tmp_path / "history")
    # A job may hand back more than the test's own limit.
    told = ["travelled" if word == "patch_too_large" else word for word in words]
    return Stand(repo, tmp_path / "home", dict(zip(named_commits(repo), told, strict=True)), engine)


def told(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert done.returncode == 0, done.stdout + done.stderr
    summary: dict[str, Any] = json.loads(done.stdout)
    return summary


def test_each_kind_of_commit_in_one_container(stand: Stand) -> None:
    summary = told(stand.run("--json"))

    others = {line["commit"]: line["reason"] for line in summary["others"]}
    assert others == {commit: word for commit, word in stand.words.items() if word != "travelled"}
    assert summary["travelled"] == len(stand.words) - len(others)
    assert summary["carried"] == len(stand.words)
    assert stand.is_clean()
    left = {path.name for path in stand.folder.iterdir()}
    assert left == {"progress.jsonl", "run-id"}

    again = told(stand.run("--json"))
    assert (again["carried"], again["others"]) == (0, summary["others"])


def test_a_few_commits_as_whole_jobs(stand: Stand) -> None:
    # From CRLF under attributes to a submodule: each next one stands on what the one before it left.
    summary = told(stand.run("--jobs", "--json", "--range", "main~19..main~12"))

    wanted = stand.repo.ask("rev-list", "main~19..main~12").split()
    others = {line["commit"]: line["reason"] for line in summary["others"]}
    assert others == {c: stand.words[c] for c in wanted if stand.words[c] != "travelled"}
    assert summary["commits"] == len(wanted) == 7
    assert stand.is_clean()


def test_an_interrupted_replay_leaves_nothing_and_goes_on(stand: Stand) -> None:
    states: list[State] = [{b"a": ("100644", b"%d\n" % n)} for n in range(300)]
    commit_states(stand.repo, states)
    with stand.started("--last", "300") as child:
        deadline = time.monotonic() + 120
        while not (stand.home / "replay").is_dir() or len(stand.records()) < 3:
            assert time.monotonic() < deadline
            assert child.poll() is None, child.communicate()
            time.sleep(0.1)
        child.send_signal(signal.SIGINT)
        child.communicate(timeout=60)
    assert child.returncode == 130
    assert stand.is_clean()
    before = len(stand.records())
    assert 3 <= before < 300

    summary = told(stand.run("--last", "300", "--json"))

    assert (summary["carried"], summary["travelled"], summary["skipped"]) == (300 - before, 299, 1)
