"""What the supervisor does for an agent program before its start and after its last line, really run."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from instrument.schema.vocabulary import Ended
from jobs.engine import Engine
from support.gitkit import Repo, make_repo
from support.supervisor import Box, open_box, prove

pytestmark = pytest.mark.docker

LAST = {"line": {"type": "result"}}


@pytest.fixture(scope="module")
def box(engine: Engine, runs: set[str]) -> Iterator[Box]:
    with open_box(engine, runs) as opened:
        yield opened


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    made = make_repo(tmp_path / "repo")
    made.commit(
        {
            "README": b"read me\n",
            ".tool/settings.json": b"{}\n",
            ".tool/plugin/a.js": b"a\n",
            "tool.json": b"{}\n",
            "sub/.tool/kept": b"kept\n",
        },
        "first",
    )
    return made


def agent(run: str, **more: Any) -> dict[str, Any]:
    return {"argv": ["bash", "-c", run], "env": {}, "stdin": "null", "review_path": None, **more}


def test_hidden_paths_are_neither_there_nor_missing(box: Box, repo: Repo, tmp_path: Path) -> None:
    look = "ls -A > seen; git status --porcelain >> seen; git stash list; cat sub/.tool/kept >> seen"
    done = box.run(repo, repo.head(), agent=agent(look, hidden=[".tool", "tool.json"]))
    assert done.report.error is None
    tree = done.report.tree
    assert tree is not None
    assert tree.changed_paths == 1
    assert b"+.git\n+README\n+seen\n+sub\n+?? seen\n+kept\n" in done.diff
    assert prove(repo, done, tmp_path) == tree.tree


def test_what_the_agent_writes_at_a_hidden_path_is_captured(box: Box, repo: Repo, tmp_path: Path) -> None:
    write = "mkdir .tool; echo mine > .tool/new; echo other > tool.json"
    done = box.run(repo, repo.head(), agent=agent(write, hidden=[".tool", "tool.json"]))
    tree = done.report.tree
    assert tree is not None
    assert tree.changed_paths == 2
    assert b"+mine" in done.diff
    assert b"-{}\n+other" in done.diff
    assert b"settings.json" not in done.diff
    assert prove(repo, done, tmp_path) == tree.tree


def test_its_settings_are_laid_anew_in_a_folder_that_it_may_write(box: Box, repo: Repo) -> None:
    run = (
        "mkdir -p ~/.config/tool ~/.config/kept; cd ~/.factory && cat tool/config >> /repo/README"
        " && touch tool/more && ls tool >> /repo/README"
    )
    first = box.run(repo, repo.head(), agent=agent(run, files={"tool/config": "quiet = 1\n"}))
    assert b"+quiet = 1\n+config\n+more\n" in first.diff
    image = box.keep_as_image(first)
    line = "ls ~/.factory/tool ~/.config >> README"
    look = agent(line, files={"tool/other": ""}, cleared=[".config/tool", ".absent"])
    again = box.run(repo, repo.head(), image=image, agent=look)
    assert b"+other" in again.diff
    assert b"+config" not in again.diff
    assert b"+kept" in again.diff
    assert b"+tool" not in again.diff


def test_a_program_that_stays_after_its_last_line_is_ended_and_its_work_counts(box: Box, repo: Repo) -> None:
    line = json.dumps({"type": "result", "subtype": "success"})
    run = f"echo begun >> README; echo '{line}'; sleep 300"
    done = box.run(repo, repo.head(), agent=agent(run, last_lines=[LAST]))
    assert done.report.ended is Ended.HUNG_AT_END
    assert 5 < done.took_s < 20
    assert b"+begun" in done.diff
    assert json.loads(done.out["transcript.jsonl"]) == json.loads(line)
