"""`factory doctor` on the example with the real engine: healthy, and with faults planted in it."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import pytest

from jobs.engine import Engine
from jobs.images import ImageShelf
from jobs.order import MIB
from jobs.pod import OURS, ContainerSpec, select_labels
from jobs.recipe import Recipe
from loop.demo import TASK, TASK_ID, Stand, prepare
from loop.doctor.probes import look_at_programs
from loop.doctor.surroundings import Surroundings
from loop.home import task_folder
from loop.store import save_state
from support.answering import answering
from support.gitkit import Repo
from support.lives import new_state
from support.repos import edited, tree_of_folder
from support.stand import remove_all_of, wait_for

pytestmark = pytest.mark.docker

FACTORY = "from loop.cli import main; main(__import__('sys').argv[1:])"
DOCTORS = {OURS: "1", "factory.task": "doctor"}


@dataclass
class Practice:
    """The example in a checkout with its origin, and a provider that takes the key."""

    stand: Stand
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def person(self) -> Repo:
        return Repo(self.stand.checkout)

    def edit(self, name: str, old: str, new: str) -> None:
        """Commit an edit and push it."""
        text = edited((self.stand.checkout / name).read_text(), old, new)
        self.person.commit({name: text.encode()})
        self.person.git("push", "--quiet", "origin", "main")

    def start(self, *words: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-c", FACTORY, *words],
            cwd=self.stand.checkout,
            env=os.environ | {"FACTORY_HOME": str(self.stand.home), **self.environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def type(self, *words: str) -> tuple[int, str]:
        process = self.start(*words)
        out, err = process.communicate(timeout=180)
        assert "Traceback" not in err, err
        return process.returncode, out

    def examine(self) -> tuple[int, Mapping[str, dict[str, str]]]:
        """Exit code, and each check's object by its name."""
        code, out = self.type("doctor", "--json")
        return code, {each["name"]: each for each in map(json.loads, out.splitlines())}


@pytest.fixture
def practice(engine: Engine, job_image: str, tmp_path: Path) -> Iterator[Practice]:  # noqa: ARG001 - it is built
    ImageShelf(engine).sidecar()
    stand = Stand(tmp_path / "stand")
    prepare(stand)
    with answering({"/v1/models?limit=1": 200}) as (url, _):
        made = Practice(stand, {"ANTHROPIC_API_KEY": "sk-key"})
        made.edit("factory.toml", "[merge]", f'[provider.anthropic]\nbase_url = "{url}"\n\n[merge]')
        yield made


def of_doctors(engine: Engine) -> list[str]:
    names = [state.name for state in engine.containers.find(DOCTORS)]
    return names + [name for name, _ in engine.volumes.find(DOCTORS)]


def test_a_healthy_repo_is_all_well_and_nothing_is_changed(engine: Engine, practice: Practice) -> None:
    assert practice.type("lint", TASK)[0] == 0, "its set-up image is there from now on"
    before = tree_of_folder(practice.stand.folder)
    code, found = practice.examine()
    states = {name: each["state"] for name, each in found.items()}
    assert {name for name, state in states.items() if state != "ok"} == {"protection"}, found
    assert (code, states["protection"]) == (0, "skipped")
    assert found["baseline"]["found"].startswith("style, unit (red, as task 001 says), compile")
    assert found["programs"]["found"].startswith("claude ")
    assert re.search(r"storage \w+, cgroup [12], \d+ processors", found["engine"]["found"])
    assert tree_of_folder(practice.stand.folder) == before
    assert of_doctors(engine) == []


def test_a_red_baseline_and_a_promise_that_is_kept_already_are_found(practice: Practice) -> None:
    practice.edit(TASK, "turns_green: [unit]", "turns_green: [style]")
    practice.type("lint", TASK)
    code, found = practice.examine()
    assert (code, found["baseline"]["state"]) == (1, "failed")
    assert found["baseline"]["found"] == (
        f"style passes, but {TASK} says that it turns it green; unit fails: FAILED (failures=1)"
    )
    assert f"`factory lint {TASK}` keeps the whole output" in found["baseline"]["mend"]


def test_images_that_are_not_there_are_named_and_not_made(engine: Engine, practice: Practice) -> None:
    practice.edit("factory.toml", "[setup]", '[image]\nbase = "factory-test/nowhere:1"\n\n[setup]')
    code, found = practice.examine()
    assert (code, found["images"]["state"]) == (1, "failed")
    assert "factory-test/nowhere:1 is not there" in found["images"]["found"]
    assert f"`factory lint {TASK}`" in found["images"]["mend"]
    assert found["request"]["found"] == "needs images, which failed"
    assert engine.images.inspect("factory-test/nowhere:1") is None


def test_a_set_up_that_was_not_run_yet_is_no_fault(practice: Practice) -> None:
    practice.edit("pyproject.toml", "[project]", f"# {practice.person.head()} {time.time_ns()}\n[project]")
    code, found = practice.examine()
    assert code == 0
    assert found["images"]["found"].endswith("the set-up image is made by the first run")
    assert (found["programs"]["state"], found["baseline"]["state"]) == ("ok", "skipped")
    assert "makes it and runs these checks" in found["baseline"]["mend"]


@pytest.fixture
def leftover(engine: Engine, practice: Practice, job_image: str) -> Iterator[str]:
    """A container and a volume of a task of this home that has gone on since; the container's id."""
    state = new_state(task_id=TASK_ID)
    save_state(task_folder(practice.stand.home, TASK_ID), state)
    labels = select_labels(state.run_id, "old-key") | {"factory.task": TASK_ID, "factory.part": "job"}
    engine.volumes.create(f"factory-test-{state.run_id}", labels)
    yield engine.containers.create(
        ContainerSpec(
            name=f"factory-test-{state.run_id}",
            image=job_image,
            labels=labels,
            entrypoint=("true",),
            network="none",
            memory_bytes=64 * MIB,
            pids=8,
        )
    )
    remove_all_of(engine, state.run_id)


def test_what_a_dead_run_left_is_found_and_left_there(
    engine: Engine, practice: Practice, leftover: str
) -> None:
    _, found = practice.examine()
    assert found["leftovers"]["state"] == "note"
    assert "1 container" in found["leftovers"]["found"]
    assert "volume" in found["leftovers"]["found"]
    assert f"interrupted: {TASK_ID}" in found["leftovers"]["found"]
    assert "`python -m jobs gc` removes them; `factory run " in found["leftovers"]["mend"]
    assert engine.containers.inspect(leftover) is not None


@dataclass(frozen=True, eq=False)
class Spoilt(Surroundings):
    """The same, its jobs made from another image."""

    image: str = ""

    @property
    def start_image(self) -> str:  # type: ignore[override]
        return self.image


def test_a_program_of_another_version_is_found(
    engine: Engine, practice: Practice, job_image: str, tmp_path: Path
) -> None:
    lines = (
        "ARG BASE",
        "FROM ${BASE}",
        "LABEL factory-loop=1 factory.image=test",
        "RUN printf '#!/bin/sh\\necho 0.0.1\\n' >/usr/local/bin/claude && rm /usr/local/bin/codex",
    )
    recipe = Recipe("test", "\n".join(lines), args={"BASE": job_image})
    image = ImageShelf(engine, locks=tmp_path / "locks").build(recipe)
    surroundings = Spoilt(practice.stand.checkout, dict(os.environ), tmp_path, datetime.now(UTC), image=image)
    try:
        finding = look_at_programs(surroundings)
    finally:
        surroundings.close()
        engine.images.remove(recipe.tag)
    assert finding.state == "failed"
    wrong, gone = finding.found.split("; ")
    assert wrong.startswith("claude says 0.0.1, not ")
    assert gone.startswith("codex fails and says ")
    assert "python -m jobs images" in finding.mend
    assert of_doctors(engine) == []


def test_a_signal_ends_the_job_that_runs_and_nothing_is_left(engine: Engine, practice: Practice) -> None:
    assert practice.type("lint", TASK)[0] == 0, "its set-up image is there from now on"
    practice.edit("factory.toml", 'run = "python3 scripts/style.py"', 'run = "sleep 150"')
    process = practice.start("doctor")
    try:
        wait_for(lambda: any("baseline" in name for name in of_doctors(engine)), "the baseline's job")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    assert (process.returncode, err) == (130, "")
    assert out.splitlines()[-1].split()[:2] == ["ok", "request"]
    assert of_doctors(engine) == []
