"""Set-up images on the real engine: made once, made anew for changed inputs, removed when they are old."""

import io
import os
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from instrument.schema.vocabulary import DoneReason, EffectKind, Ended, Outcome, Role
from jobs.engine import Engine
from jobs.eviction import Fate, is_mark
from jobs.gc import look_at_images, make_room, mark_used, remove_image
from jobs.order import Command
from jobs.orphans import PodFate, look_at_pods, remove_pod
from jobs.runner import DockerJobs
from loop.git.seed import seed_repository
from support.lives import new_state
from support.own_engine import open_own_engine
from support.pods import World
from support.stand import Loop, clearing

pytestmark = pytest.mark.docker

SET_UP = """
import sys
from pathlib import Path
from jobs.engine import Engine
from jobs.order import Command
from jobs.runner import DockerJobs
from support.own_engine import open_own_engine
from support.pods import World
engine = Engine.connect()
jobs = DockerJobs(connect=lambda: engine, locks=Path(sys.argv[1]), say=print)
world = World(engine, jobs, Path(sys.argv[2]), "", sys.argv[3])
cached = (Command("prepare", "sleep 2; date +%s%N > .warm"),)
print("id", jobs.set_up(world.setup_order("setup-1", cached=cached, inputs_digest=sys.argv[4])))
jobs.close()
"""
SETTING_UP = "Setting up image factory-loop/setup:"
SET_UP_DONE = "Set up factory-loop/setup:"
TASK = "tasks/00{n}-say-more.md"
TEXT = """\
---
status: ready
files: [words*]
---
# Say more

One more line.
"""
CONFIG = """\
[repo]
name = "warm"
branch = "main"
remote = "origin"

[setup]
cached = ["cat words.txt && ! grep broken words.lock && cp words.lock .prepared # MARK"]
inputs = ["words.lock"]

[checks]
fast = ["warm"]
gate = ["warm"]

[checks.warm]
run = "cmp words.lock .prepared"
timeout_s = 60

[agent]
runtime = "command"

[reviewer]
runtime = "command"

[agent.command]
coder = '''
if test -e words.more; then echo and more >> words.more
elif grep broken words.lock; then echo mended > words.lock; touch words.more
else echo broken > words.lock; echo only the candidate has this > words.txt; fi
'''
reviewer = '''
token=$(grep -o 'verdict [0-9a-f]\\{16\\}' "$FACTORY_PROMPT" | tail -n 1)
mkdir -p "$(dirname "$FACTORY_REVIEW_FILE")"
printf '```%s\\n{"verdict": "approve", "covered": ["words.lock", "words.more", "words.txt"],'\\
' "findings": []}\\n```\\n' "$token" > "$FACTORY_REVIEW_FILE"
'''

[merge]
push = true
"""


@pytest.fixture
def repo(engine: Engine, job_image: str, tmp_path: Path) -> Iterator[Path]:  # noqa: ARG001 - built before it is needed
    """A repository with two tasks, whose set-up images go at the end."""
    source = tmp_path / "source"
    (source / "tasks").mkdir(parents=True)
    for n in (1, 2):
        (source / TASK.format(n=n)).write_text(TEXT)
    (source / "factory.toml").write_text(CONFIG.replace("MARK", str(tmp_path)))
    (source / "words.txt").write_text("some\n")
    (source / "words.lock").write_text("one\n")
    seed_repository(source, tmp_path / "clone", tmp_path / "origin.git")
    said: list[str] = []
    yield tmp_path
    for log in tmp_path.glob("said-*"):
        said += [line.split()[3] for line in log.read_text().splitlines() if SETTING_UP in line]
    for tag in said:
        engine.images.remove(engine.images.inspect(tag).id, force=True) if engine.images.inspect(
            tag
        ) else None


def carry(repo: Path, engine: Engine, n: int) -> tuple[Loop, str]:
    """One task of the repository to its merge; and what was said."""
    words = ("--purpose", "demo")
    loop = Loop(repo / "clone", repo / "origin.git", repo / "home", TASK.format(n=n), f"warm-00{n}", words)
    with clearing(loop, engine):
        loop.start()
        code = loop.finish()
        (repo / f"said-{n}").write_text(loop.outputs[-1])
        assert code == 0, loop.outputs[-1]
    return loop, loop.outputs[-1]


def test_two_loops_set_up_an_image_once(world: World, tmp_path: Path) -> None:
    other = World(world.engine, world.jobs, tmp_path / "2", "")
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    both = [
        subprocess.Popen(
            [sys.executable, "-c", SET_UP, str(tmp_path / "locks"), str(folder), run_id, world.run_id],
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )
        for folder, run_id in ((tmp_path / "a", world.run_id), (tmp_path / "b", other.run_id))
    ]
    texts = [child.communicate(timeout=120)[0] for child in both]
    (image,) = {text.rpartition("id ")[2].strip() for text in texts}
    world.engine.images.remove(image, force=True)
    assert [child.returncode for child in both] == [0, 0]
    assert sum(text.count(SETTING_UP) for text in texts) == 1
    assert world.left() == other.left() == 0


def test_a_changed_input_is_set_up_for_its_checks_and_found_by_the_next_task(
    repo: Path, engine: Engine
) -> None:
    loop, said = carry(repo, engine, 1)
    state = loop.state
    assert (state.done, state.counters.coder_rounds) == (DoneReason.MERGED, 2)
    outcomes = [event.outcome for event in loop.of_kind("transition")]
    assert outcomes.count(Outcome.CHECK_DOUBTED) == outcomes.count(Outcome.CHECK_FAILED) == 1
    # The base's, the broken one twice, the mended one; the gate finds that one.
    assert (said.count(SETTING_UP), said.count(SET_UP_DONE)) == (4, 2)
    (ran,) = [event for event in loop.of_kind("job_ended") if event.role is Role.SETUP]
    assert (ran.effect, ran.ended, ran.cost_microusd) == (EffectKind.SET_UP, Ended.EXITED, 0)
    assert ran.duration_ms > 0
    ends = [(e.name, e.exit_code) for e in loop.of_kind("check_ended")]
    assert ends == [("warm", 0), ("cached.1", 1), ("cached.1", 1), ("warm", 0), ("warm", 0)]

    failed = [event for event in loop.of_kind("job_ended") if event.key.startswith("warm-001-check-1")]
    (path,) = (loop.folder / failed[0].folder).glob("out/commands/*cached-1*")
    assert path.read_text() == "some\nbroken\n", "the set-up sees the base's tree with the change's inputs"
    (prompt,) = loop.folder.glob("jobs/*-coder-2/in/prompt.md")
    assert "cached.1" in prompt.read_text()
    assert loop.left(engine) == []

    _, said = carry(repo, engine, 2)
    assert (said.count(SETTING_UP), said.count("Building image")) == (0, 0)


@pytest.fixture
def old_images(world: World) -> Iterator[tuple[str, str]]:
    """Two set-up images of this test's own, the older one first."""
    images = []
    for n in (1, 2):
        cached = (Command("prepare", f"echo {n} > .warm"),)
        images.append(world.jobs.set_up(world.setup_order(f"setup-{n}", cached=cached)))
    yield images[0], images[1]
    for image in images:
        world.engine.images.remove(image, force=True)


def fate_of(engine: Engine, image: str, now: datetime) -> Fate:
    """What would become of it if there were no room at all."""
    fates = look_at_images(engine, cap_bytes=0, now=now)
    return next(fate for fate in fates if fate.image.id == image)


def test_an_image_that_nobody_used_for_a_day_goes_and_one_in_use_stays(
    world: World, old_images: tuple[str, str]
) -> None:
    image, _ = old_images
    now, later = datetime.now(UTC), datetime.now(UTC) + timedelta(days=2)
    fresh = fate_of(world.engine, image, now)
    assert (fresh.is_kept, fresh.why) == (True, "used within a day")
    assert len([tag for tag in fresh.image.tags if is_mark(tag)]) == 1
    assert 0 < fresh.own_bytes < 1_000_000 < fresh.image.size_bytes

    order = world.order("check-1", image=image, commands=(Command("look", "cat .warm"),))
    world.jobs.run(order, resumed=False)
    assert fate_of(world.engine, image, later).why == "a container uses it"
    world.jobs.release(world.run_id, order.identity.key)

    doomed = fate_of(world.engine, image, later)
    assert not doomed.is_kept
    assert remove_image(world.engine, doomed) == doomed
    assert world.engine.images.inspect(image) is None


def test_an_image_that_is_used_while_it_is_looked_at_stays(world: World, old_images: tuple[str, str]) -> None:
    image, _ = old_images
    later = datetime.now(UTC) + timedelta(days=2)
    doomed = fate_of(world.engine, image, later)
    mark_used(world.engine, image, later)
    assert remove_image(world.engine, doomed).why == "the engine does not give it up"
    found = world.engine.images.inspect(image)
    assert found is not None
    assert [is_mark(tag) for tag in found.tags] == [True]


def test_the_command_shows_each_image_and_removes_none_in_a_dry_run(old_images: tuple[str, str]) -> None:
    arguments = [sys.executable, "-m", "jobs", "gc", "--dry-run", "--cap", "0"]
    done = subprocess.run(arguments, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[0].split() == ["image", "MB", "alone", "last", "used", "why"]
    assert "used within a day" in done.stdout
    engine = Engine.connect()
    assert all(engine.images.inspect(image) for image in old_images)
    engine.close()


@pytest.fixture
def own() -> Iterator[tuple[Engine, dict[str, str]]]:
    """An engine on which nothing is anybody else's, with four images of 5 MB; its environment and they."""
    with open_own_engine("256m") as found, pytest.MonkeyPatch.context() as patch:
        patch.setenv("DOCKER_HOST", found.address)
        engine = Engine.connect()
        images = {}
        for name in "abcd":
            tag = f"factory-loop/setup:{name}"
            engine.images.import_tar(five_megabytes(), tag, ["LABEL factory-loop=1 factory.image=setup"])
            made = engine.images.inspect(tag)
            assert made is not None
            images[name] = made.id
        yield engine, images
        engine.close()


def five_megabytes() -> io.BytesIO:
    """A file system of one file that no other has."""
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w") as tar:
        entry = tarfile.TarInfo("file")
        entry.size = 5_000_000
        tar.addfile(entry, io.BytesIO(os.urandom(entry.size)))
    target.seek(0)
    return target


def test_past_the_cap_the_least_recently_used_go_and_only_they(own: tuple[Engine, dict[str, str]]) -> None:
    engine, images = own
    later = datetime.now(UTC) + timedelta(days=3)
    mark_used(engine, images["a"], datetime.now(UTC) + timedelta(hours=3))

    def left() -> str:
        return "".join(sorted(name for name, image in images.items() if engine.images.inspect(image)))

    for cap_mb, expected in ((20, "abcd"), (19, "acd"), (10, "ad"), (9, "d"), (0, "d")):
        make_room(engine, cap_bytes=cap_mb * 1_000_000, now=later)
        assert left() == expected, cap_mb
    done = subprocess.run(
        [sys.executable, "-m", "jobs", "gc", "--cap", "0"], capture_output=True, text=True, check=True
    )
    (row,) = done.stdout.splitlines()[1:]
    assert row.startswith("factory-loop/setup:d  5   5      ")
    assert row.endswith("kept  used within a day")


def pods_of(world: World, home: Path, now: datetime) -> list[PodFate]:
    return [fate for fate in look_at_pods(world.engine, home, now) if fate.pod.run_id == world.run_id]


def test_a_pod_stays_for_as_long_as_a_task_or_a_day_wants_it(world: World, tmp_path: Path) -> None:
    order = world.order("check-1")
    DockerJobs(connect=lambda: world.engine).run(order, resumed=False)
    now, later = datetime.now(UTC), datetime.now(UTC) + timedelta(days=2)
    (fate,) = pods_of(world, tmp_path / "home", now)
    assert (fate.is_kept, fate.why) == (True, "of no task of this home, but of the last day")

    folder = tmp_path / "home" / "tasks" / "demo-001"
    folder.mkdir(parents=True)
    state = new_state(run_id=world.run_id, task_id="demo-001")
    (folder / "state.json").write_text(state.model_dump_json())
    (fate,) = pods_of(world, tmp_path / "home", now)
    assert (fate.is_kept, fate.why) == (False, "its task has gone on")

    (fate,) = pods_of(world, tmp_path / "nobody", later)
    assert not fate.is_kept
    remove_pod(world.engine, fate.pod)
    assert world.left() == 0
