"""A loop is killed in a job: its container keeps its slot, and whoever adopts it needs no other."""

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import docker
import pytest

from instrument.schema.vocabulary import EffectKind, StopReason
from jobs.engine import Engine
from jobs.pod import OURS
from jobs.runner import DockerJobs
from loop.git.seed import seed_repository
from loop.home import mark_of
from support.stand import Loop, clearing, wait_for

pytestmark = pytest.mark.docker

TASK = """\
---
status: ready
files: [w{n}.txt]
---
# Ask about word {n}

It is not clear.
"""
CONFIG = """\
[repo]
name = "slots"
branch = "main"
tasks = 4

[checks]
fast = ["words"]
gate = ["words"]

[checks.words]
run = "test -s words.txt"

[limits]
memory = "256m"

[agent]
runtime = "command"

[reviewer]
runtime = "command"

[agent.command]
coder = '''
until test -e /tmp/told; do sleep 0.1; done
echo '{"outcome": "blocked", "summary": "unclear", "question": "Which word?"}' > "$FACTORY_RESULT"
'''
reviewer = "true"
"""
LOOKS = 8
"""Each half a second: how long those that wait are looked at."""


@dataclass
class Sampler:
    """How many jobs of one home ran at once, by the engine's own list."""

    home: Path
    counts: list[int] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)

    def follow(self) -> None:
        client = docker.from_env()
        labels = [f"{OURS}=1", "factory.part=job", f"factory.home={mark_of(self.home)}"]
        while not self.over.wait(0.1):
            self.counts.append(len(client.api.containers(filters={"label": labels})))
        client.close()


@contextmanager
def sampled(home: Path) -> Iterator[Sampler]:
    sampler = Sampler(home)
    thread = threading.Thread(target=sampler.follow)
    thread.start()
    try:
        yield sampler
    finally:
        sampler.over.set()
        thread.join()


@pytest.fixture
def loops(
    engine: Engine, job_image: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[list[Loop]]:
    """Four tasks of one repo that are in nobody's way, on a host with two slots."""
    assert job_image, "built before it is needed"
    monkeypatch.setenv("FACTORY_JOBS", "2")
    source = tmp_path / "source"
    (source / "tasks").mkdir(parents=True)
    for n in range(1, 5):
        (source / f"tasks/00{n}-word.md").write_text(TASK.format(n=n))
    (source / "factory.toml").write_text(CONFIG)
    (source / "words.txt").write_text("some\n")
    clone, origin = tmp_path / "clone", tmp_path / "origin.git"
    seed_repository(source, clone, origin)
    made = [
        Loop(clone, origin, tmp_path / "home", f"tasks/00{n}-word.md", f"slots-00{n}", ())
        for n in range(1, 5)
    ]
    with ExitStack() as stack:
        for loop in made:
            stack.enter_context(clearing(loop, engine))
        yield made


def coder(loop: Loop, engine: Engine) -> str | None:
    """The id of its coder's container, while that runs."""
    job = loop.pod(engine, EffectKind.IMPLEMENT).get("job")
    return job.id if job and job.is_running else None


def at_work(loops: list[Loop], engine: Engine) -> tuple[Loop, str] | None:
    """The first whose coder runs."""
    return next(((loop, job) for loop in loops if (job := coder(loop, engine))), None)


def tell(container: str) -> None:
    client = docker.from_env()
    done = client.containers.get(container).exec_run(["touch", "/tmp/told"])
    client.close()
    assert done.exit_code == 0, done.output


def asks(loop: Loop) -> None:
    assert loop.finish() == 3, loop.outputs[-1]
    assert loop.state.stop is not None
    assert loop.state.stop.reason is StopReason.BLOCKED


def is_before_its_first_job(loop: Loop) -> bool:
    path = loop.folder / "state.json"
    return path.exists() and loop.state.base is not None and loop.state.attempt is None


def test_never_more_jobs_than_slots_after_a_kill_and_the_adopter_needs_none(
    loops: list[Loop], engine: Engine
) -> None:
    first, second, *others = loops
    with sampled(first.home) as sampler:
        first.start()
        second.start()
        wait_for(lambda: coder(second, engine), "the second's coder")
        kept = wait_for(lambda: coder(first, engine), "the first's coder")
        assert first.process is not None
        first.process.kill()
        assert first.finish() < 0

        for loop in others:
            loop.start()
        wait_for(lambda: all(map(is_before_its_first_job, others)), "the others' wait")
        seen = len(sampler.counts)
        wait_for(lambda: len(sampler.counts) >= seen + 5 * LOOKS, "a few looks of theirs")
        assert all(map(is_before_its_first_job, others)), "both wait, and nothing of theirs was begun"

        jobs = DockerJobs()
        load = jobs.load(mark_of(first.home), "")
        jobs.close()
        keys = {loop.state.attempt.key for loop in (first, second) if loop.state.attempt}
        assert load.jobs == keys
        assert dict(load.own_bytes) == dict.fromkeys(keys, 256 * 2**20)
        assert load.total_bytes > 2**30

        first.start()
        wait_for(lambda: len(first.of_kind("run_started")) == 2, "the adopter")
        tell(kept)
        asks(first)
        assert "going on with it" in first.outputs[-1]

        going = [second, *others]
        while going:
            loop, container = wait_for(partial(at_work, going, engine), "a coder")
            tell(container)
            asks(loop)
            going.remove(loop)
    assert max(sampler.counts) == 2
    assert [loop.state.counters.interruptions for loop in loops] == [0] * 4
