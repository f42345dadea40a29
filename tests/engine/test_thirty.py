"""Thirty tasks of three repositories on two hosts, a worker and the server killed in the middle."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from engine.server import FOLDER
from instrument.schema.events import JobEnded, ModelCallEnded
from instrument.schema.state import TaskState
from instrument.schema.vocabulary import Stage, StopReason
from jobs.engine import Engine
from loop.home import mark_of
from support.backlog import STORY, Factory, clearing, make_repo

pytestmark = [pytest.mark.docker, pytest.mark.slow]

SLOTS = 2
ASKING = (3, 7)
SHARED = (4, 5, 6)
REPOS = ("red", "green", "blue")
TASKS = 10
PATIENCE_S = 900
CALLS = {"coder": 4500, "reviewer": 6750}
"""Micro-dollars of one scripted call: 1,000 in and 100 out, 2,000 in and 50 out, at 3 and 15 dollars."""


@dataclass
class Watcher:
    """Looks at what runs, again and again, while the tasks are carried."""

    engine: Engine
    factory: Factory
    ended: threading.Event = field(default_factory=threading.Event)
    most: Counter[str] = field(default_factory=Counter)
    together: set[frozenset[str]] = field(default_factory=set)

    def watch(self) -> None:
        while not self.ended.is_set():
            jobs: Counter[str] = Counter()
            by_task: dict[str, set[str]] = {}
            ours = {"factory.part": "job", "factory.home": mark_of(self.factory.home)}
            for container in self.engine.containers.find(ours):
                if container.is_running and container.labels.get("factory.host") in ("a", "b"):
                    jobs[container.labels["factory.host"]] += 1
            for host, count in jobs.items():
                self.most[host] = max(self.most[host], count)
            for repo in REPOS:
                files = (self.factory.home / "running" / repo).glob("[!.]*.json")
                by_task[repo] = {file.stem for file in files}
                self.most[repo] = max(self.most[repo], len(by_task[repo]))
                shared = by_task[repo] & {f"{repo}-{n:03}" for n in SHARED}
                if len(shared) > 1:
                    self.together.add(frozenset(shared))
            time.sleep(0.2)


@dataclass
class Carried:
    """What came of all of them."""

    factory: Factory
    watcher: Watcher
    states: dict[str, TaskState]


@pytest.fixture(scope="module")
def carried(
    engine: Engine,
    job_image: str,  # noqa: ARG001 - built before it is needed
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Carried]:
    folder = tmp_path_factory.mktemp("thirty")
    factory = Factory(folder / "home")
    repos = [make_repo(folder, name, TASKS, has_model=True, asking=ASKING, shared=SHARED) for name in REPOS]
    story = folder / "story.yaml"
    story.write_text(STORY)
    with clearing(factory, engine):
        factory.engine("up", "--no-worker")
        control = factory.worker("--roles", "control")
        first = factory.worker("--roles", "jobs", "--host", "a", "--slots", str(SLOTS))
        factory.worker("--roles", "jobs", "--host", "b", "--slots", str(SLOTS))
        for repo in repos:
            words = ("--repo", str(repo.checkout), "--auto-merge", "--story", str(story))
            factory.engine("submit", str(repo.checkout / "tasks"), *words)
        watcher = Watcher(engine, factory)
        thread = threading.Thread(target=watcher.watch)
        thread.start()
        try:
            merged(factory, 4)
            factory.kill(first)
            factory.worker("--roles", "jobs", "--host", "a", "--slots", str(SLOTS))
            merged(factory, 8)
            os.kill(int((factory.home / FOLDER / "server.lock").read_text()), signal.SIGKILL)
            time.sleep(5)
            factory.engine("up", "--no-worker")
            factory.kill(control)
            factory.worker("--roles", "control")
            standing(factory)
        finally:
            watcher.ended.set()
            thread.join()
        yield Carried(factory, watcher, states(factory))


def states(factory: Factory) -> dict[str, TaskState]:
    ids = [f"{repo}-{n:03}" for repo in REPOS for n in range(1, TASKS + 1)]
    found = {task_id: factory.state(task_id) for task_id in ids}
    return {task_id: state for task_id, state in found.items() if state is not None}


def merged(factory: Factory, count: int) -> None:
    until = time.monotonic() + PATIENCE_S
    while sum(state.stage is Stage.DONE for state in states(factory).values()) < count:
        assert time.monotonic() < until, factory.engine("status")
        time.sleep(0.5)


def standing(factory: Factory) -> None:
    """Wait until every task is merged or waits for a person."""
    until = time.monotonic() + PATIENCE_S
    while True:
        found = states(factory).values()
        if len(found) == len(REPOS) * TASKS and all(state.stage.is_terminal for state in found):
            return
        assert time.monotonic() < until, factory.engine("status")
        time.sleep(0.5)


def test_all_are_merged_or_wait_with_the_right_brief(carried: Carried) -> None:
    asking = {f"{repo}-{n:03}" for repo in REPOS for n in ASKING}
    for task_id, state in carried.states.items():
        if task_id in asking:
            assert state.stop is not None
            assert state.stop.reason is StopReason.BLOCKED
            brief = (carried.factory.home / "tasks" / task_id / "brief.md").read_text()
            assert "Which line?" in brief
            assert f"python -m engine answer {task_id}" in brief
        else:
            assert (state.stage, state.stop) == (Stage.DONE, None), task_id
    assert len(carried.states) == len(REPOS) * TASKS


def test_no_two_that_overlap_went_at_once_and_no_repo_had_more_than_its_share(carried: Carried) -> None:
    assert carried.watcher.together == set()
    assert all(carried.watcher.most[repo] <= 2 for repo in REPOS)


def test_no_host_ran_more_jobs_than_it_has_slots(carried: Carried) -> None:
    assert carried.watcher.most["a"] in (1, 2)
    assert carried.watcher.most["b"] in (1, 2)


def test_nothing_was_charged_twice_and_the_report_adds_up(carried: Carried) -> None:
    total = 0
    for task_id, state in carried.states.items():
        events = carried.factory.events(task_id)
        calls = [event for event in events if isinstance(event, ModelCallEnded)]
        assert len({(call.key, call.call) for call in calls}) == len(calls)
        assert len({event.key for event in events if isinstance(event, JobEnded)}) == sum(
            isinstance(event, JobEnded) for event in events
        )
        assert sum(call.cost_microusd for call in calls) == state.spend.microusd
        # A coder that the kill took along is the one thing that may have cost more than once.
        rounds = (
            state.counters.coder_rounds * CALLS["coder"] + state.counters.review_rounds * CALLS["reviewer"]
        )
        lost = sum(event.cost_microusd for event in events if isinstance(event, JobEnded) and event.lost)
        assert state.spend.microusd == rounds + lost
        total += state.spend.microusd
    assert report(carried.factory)["cost_microusd"] == total


def test_an_answer_takes_the_waiting_ones_on(carried: Carried) -> None:
    factory = carried.factory
    said = factory.engine("status")
    assert said.startswith("Waiting for you: 6\n")
    assert "python -m engine ruling red-003" in said
    for repo in REPOS:
        for n in ASKING:
            assert "taken" in factory.engine("ruling", f"{repo}-{n:03}", "Write it so.")
    merged(factory, len(REPOS) * TASKS)


def report(factory: Factory) -> dict[str, int]:
    done = subprocess.run(
        [sys.executable, "-P", "-c", "from instrument.cli import main; main()", "report", "--json"],
        env=factory.environment,
        capture_output=True,
        check=True,
    )
    found: dict[str, int] = json.loads(done.stdout)
    return found
