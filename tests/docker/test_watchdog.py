"""The supervisor's watch on an agent that runs in circles or uses up its processes, in a real container."""

import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from instrument.schema.vocabulary import Ended, RuntimeName
from jobs.engine import Engine
from jobs.order import MIB, AgentWork, Limits, ProxyOrder
from jobs.runtimes.claude import SHELL_CALLS
from support.gitkit import Repo, make_repo
from support.pods import World, shell
from support.supervisor import SECRET, Box, command, open_box

pytestmark = pytest.mark.docker

BASH = """
said() { printf '{"type":"assistant","message":{"content":[{"type":"tool_use","name":"Bash",'
         printf '"input":{"command":"%s"}}]}}\\n' "$1"; }
"""
STORY = b"""
model: claude-sonnet-4-5
rounds:
  - role: coder
    turns:
TURNS
      - {finish: "Done.", usage: {input: 10, output: 1}}
"""
TURN = b'      - {say: "I look.", run: "true | cat", delay_ms: 700, usage: {input: 10, output: 1}}'


@pytest.fixture(scope="module")
def box(engine: Engine, runs: set[str]) -> Iterator[Box]:
    with open_box(engine, runs) as opened:
        yield opened


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    made = make_repo(tmp_path / "repo")
    made.commit({"README": b"read me\n", ".gitignore": b"*.cache\n"}, "first")
    return made


def agent(run: str) -> dict[str, Any]:
    argv = ["bash", "-c", BASH + run]
    return {"argv": argv, "env": {}, "stdin": "null", "review_path": None, "shell_calls": asdict(SHELL_CALLS)}


def test_the_same_command_again_and_again_ends_the_job(box: Box, repo: Repo) -> None:
    run = f"""
    echo start > new
    while :; do said '  X={SECRET} make test '; echo noise; date > t.cache; sleep 0.2; done
    """
    done = box.run(repo, repo.head(), agent=agent(run), same_command=3)
    assert done.report.ended is Ended.NO_PROGRESS
    assert (done.report.stalled_command, done.report.stalled_count) == ("X=*** make test", 4)
    assert done.report.signal == 9
    assert done.report.error is None
    assert done.took_s < 15
    assert done.report.tree is not None
    assert b"+start" in done.diff


def test_a_change_of_the_tree_in_between_is_progress(box: Box, repo: Repo) -> None:
    run = "for n in $(seq 12); do said 'make test'; sleep 0.1; echo $n >> README; sleep 0.1; done"
    done = box.run(repo, repo.head(), agent=agent(run), same_command=3)
    assert done.report.ended is Ended.EXITED
    assert (done.report.stalled_command, done.report.stalled_count) == (None, 0)
    assert done.out["transcript.jsonl"].count(b"make test") == 12


def test_runs_of_the_gate_are_known_among_other_words(box: Box, repo: Repo) -> None:
    run = 'for n in $(seq 40); do said "echo $n; make check 2>&1 | tail -n $n"; sleep 0.2; done'
    done = box.run(repo, repo.head(), agent=agent(run), same_command=3, gate_commands=["make check"])
    assert done.report.ended is Ended.NO_PROGRESS
    assert (done.report.stalled_command, done.report.stalled_count) == ("make check", 4)
    free = box.run(repo, repo.head(), agent=agent("for n in 1 2 3 4 5 6; do said ls; done"), same_command=0)
    assert free.report.ended is Ended.EXITED


def test_a_fork_bomb_is_counted_as_refused_processes(box: Box, repo: Repo) -> None:
    bomb = "bomb() { bomb | bomb & }; bomb 2>/dev/null; sleep 1; exit 0"
    done = box.run(repo, repo.head(), run=bomb)
    assert done.report.pids_refused > 0
    assert done.report.oom_kills == 0
    calm = box.run(repo, repo.head(), role="check", commands=[command("calm", "true")])
    assert calm.report.pids_refused == 0


def test_the_host_asks_for_the_watch_and_reads_its_end(world: World) -> None:
    run = BASH + "while :; do said ls; sleep 0.2; done"
    end = world.jobs.run(
        world.order("stall", agent=shell(run), limits=Limits(memory_bytes=512 * MIB, same_command=2)),
        resumed=False,
    )
    assert end.report is not None
    assert (end.report.ended, end.report.stalled_command) == (Ended.NO_PROGRESS, "ls")


def test_the_real_programs_calls_are_counted_once_each(world: World) -> None:
    story = STORY.replace(b"TURNS", b"\n".join([TURN] * 8))
    order = world.order(
        "claude",
        agent=AgentWork(RuntimeName.CLAUDE, "claude-sonnet-4-5", b"Look.", gate_commands=("true",)),
        proxy=ProxyOrder(
            "", secret="sk-x", budget_microusd=5_000_000, story=story, story_role="coder", story_round=1
        ),
        limits=Limits(memory_bytes=2048 * MIB, deadline_s=90, same_command=4),
    )
    end = world.jobs.run(order, resumed=False)
    assert end.report is not None
    ended = (end.report.ended, end.report.stalled_command, end.report.stalled_count)
    assert ended == (Ended.NO_PROGRESS, "true", 5)
    transcript = (order.folder / "out" / "transcript.jsonl").read_bytes().splitlines()
    calls = [line for line in map(json.loads, transcript) if line["type"] == "assistant"]
    assert sum("true | cat" in json.dumps(call) for call in calls) == 5
