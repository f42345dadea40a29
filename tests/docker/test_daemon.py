"""Jobs with a Docker daemon of their own, on an engine of the test's own.

Sysbox is not needed: a stand-in of that name gives a container what sysbox would and then runs the real runc
(tests/support/sysbox_stand_in.py). Our supervisor starts the real dockerd in a real user namespace and an
unprivileged agent runs real containers in it. It shows our side; sysbox's isolation is not shown.
"""

import gc
import tarfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from instrument.schema.vocabulary import Ended, Outcome, Role
from jobs.engine import Engine
from jobs.images import ImageShelf
from jobs.layers import is_below
from jobs.order import MIB, Command, Limits
from jobs.recipe import Recipe
from jobs.runner import DockerJobs
from loop.machine.guards import CODER_GUARDS, COMMANDS_GUARDS, first_match
from support.lives import new_state
from support.own_engine import OwnEngine, copy_images, open_own_engine
from support.pods import World, shell

# Where an engine went away, the SDK leaves the socket open that it could not connect.
pytestmark = [pytest.mark.docker, pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")]

LIMITS = Limits(memory_bytes=1024 * MIB, deadline_s=120, container_runtime="sysbox-runc", has_docker=True)
IMPORT = r"""
mkdir ~/root
set -- /bin/sh /bin/cat /bin/mkdir /bin/mkfifo /usr/bin/python3
cp -rL --parents "$@" /usr/lib/python3.* $(ldd "$@" | grep -o '/[^ ]* ') ~/root 2>/dev/null
tar -c -C ~/root . | docker import - tiny >/dev/null
"""
"""An image of the job's own making: it has no way to a registry."""


@pytest.fixture(scope="module")
def ready(engine: Engine) -> Iterator[tuple[OwnEngine, str]]:
    with open_own_engine(has_sysbox=True) as own:
        yield own, copy_images(engine, own, has_docker=True)


@pytest.fixture
def world(ready: tuple[OwnEngine, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    own, image = ready
    monkeypatch.setenv("DOCKER_HOST", own.address)
    engine = Engine.connect()
    jobs = DockerJobs(connect=lambda: engine)
    made = World(engine, jobs, tmp_path, image)
    yield made
    jobs.reap(made.run_id, keep=None)
    assert made.left() == 0
    assert engine.volumes.find({}) == ()
    jobs.close()
    engine.close()
    gc.collect()


def test_the_daemon_is_a_layer_of_its_own_on_the_image_of_other_jobs(engine: Engine) -> None:
    shelf = ImageShelf(engine)
    plain, more = (engine.images.inspect(shelf.job(has_docker=has_docker)) for has_docker in (False, True))
    assert plain is not None
    assert more is not None
    assert is_below(plain, more)


def test_an_agent_runs_containers_of_an_image_that_it_made(world: World) -> None:
    line = f"""{IMPORT}
docker build -q -t own - <<'FILE' >/dev/null
FROM tiny
RUN echo built > /said
FILE
docker run --rm own cat /said
docker run --rm -v "$PWD:/tree" tiny sh -c 'echo from inside > /tree/made.txt'
docker info --format '{{{{.Driver}}}}'
id -u
"""
    order = world.order("implement-1", agent=shell(line), limits=LIMITS)
    end = world.jobs.run(order, resumed=False)
    assert end.report is not None
    out = order.folder / "out"
    assert (end.report.ended, end.report.error) == (Ended.EXITED, None)
    said = (out / "transcript.jsonl").read_text().split()
    assert said == ["built", "overlay2", "10001"], (out / "agent-stderr.txt").read_text()
    assert b"+from inside" in (out / "diff.patch").read_bytes()
    assert first_match(CODER_GUARDS, new_state(), end) is None


def test_containers_reach_each_other_and_the_agent_reaches_them_but_nothing_beyond(world: World) -> None:
    """By name over a bridge of the job's own, and at a port of its loopback."""
    serve = "import socket; s = socket.create_server(('', 80)); [s.accept()[0].send(b'hello') for _ in '123']"
    ask = "import socket; print(socket.create_connection(('{}', {}), 5).recv(9).decode())"
    line = f"""{IMPORT}
docker network create inner >/dev/null
docker run -d --name back --network inner -p 8080:80 tiny python3 -c "{serve}" >/dev/null
until docker run --rm --network inner tiny python3 -c "{ask.format("back", 80)}"; do :; done
python3 -c "{ask.format("127.0.0.1", 8080)}"
docker run --rm tiny python3 -c "{ask.format("1.1.1.1", 443)}"; echo "code $?"
"""
    order = world.order("implement-4", agent=shell(line), limits=LIMITS)
    end = world.jobs.run(order, resumed=False)
    assert end.report is not None
    out = order.folder / "out"
    said = (out / "transcript.jsonl").read_text().split()
    assert said == ["hello", "hello", "code", "1"], (out / "agent-stderr.txt").read_text()


def test_what_containers_write_counts_as_the_jobs_disk(world: World) -> None:
    fill = "import time\nwhile True: open(str(time.time()), 'wb').write(bytes(10**7)); time.sleep(0.2)"
    line = f'{IMPORT}\ndocker run --rm tiny python3 -c "{fill}"'
    limits = replace(LIMITS, disk_bytes=150 * MIB)
    end = world.jobs.run(world.order("implement-5", agent=shell(line), limits=limits), resumed=False)
    assert end.report is not None
    assert (end.report.ended, end.report.error) == (Ended.DISK, None)
    assert first_match(CODER_GUARDS, new_state(), end) is Outcome.DISK_EXHAUSTED


def test_what_a_container_does_to_the_tree_is_over_before_the_capture(world: World) -> None:
    """One that runs on, as root, between folders and a FIFO that are root's as well."""
    count = "cd /tree; mkdir shut; mkfifo shut/pipe; n=0; while :; do n=$((n+1)); echo $n >>count; done"
    line = f"""{IMPORT}
docker run -d -v "$PWD:/tree" tiny sh -c '{count}' >/dev/null
while [ ! -s count ]; do :; done
"""
    order = world.order("implement-2", agent=shell(line), limits=LIMITS)
    end = world.jobs.run(order, resumed=False)
    assert end.report is not None
    assert (end.report.ended, end.report.error) == (Ended.EXITED, None)
    container = world.containers()["job"].id
    archive = world.engine.containers.get(container, "/repo/count", max_bytes=MIB)
    assert archive is not None
    with archive, tarfile.open(fileobj=archive) as tar:
        file = tar.extractfile("count")
        assert file is not None
        last = file.read().splitlines()[-1]
    assert b"\n+" + last + b"\n" in (order.folder / "out" / "diff.patch").read_bytes()
    world.jobs.release(world.run_id, order.identity.key)
    assert list(Path("/sys/fs/cgroup").rglob(container)) == []


@pytest.mark.parametrize("role", [Role.CHECK, Role.GATE])
def test_commands_work_with_what_the_set_up_saved(world: World, role: Role) -> None:
    save = Command("cached.1", f"set -e\n{IMPORT}\ndocker save -o ~/tiny.tar tiny")
    make = world.order("setup-1", role=Role.SETUP, commands=(save,), limits=LIMITS)
    made = world.jobs.run(make, resumed=False)
    assert made.report is not None
    assert (made.report.error, [c.has_passed for c in made.report.commands]) == (None, [True])
    image = world.jobs.keep_as_image(make, f"factory-loop/setup:{role}", ("LABEL factory-loop=1",))
    world.jobs.release(world.run_id, make.identity.key)
    order = world.order(
        f"{role}-1",
        role=role,
        image=image,
        limits=LIMITS,
        always=(Command("always.1", "docker load -i ~/tiny.tar"),),
        commands=(
            Command("unit", "docker run --rm tiny sh -c 'echo in a container'"),
            Command("fresh", 'test "$(docker ps -aq | wc -l)" = 0'),
        ),
    )
    end = world.jobs.run(order, resumed=False)
    assert end.report is not None
    assert (end.report.error, [c.has_passed for c in end.report.commands]) == (None, [True, True])
    kept = order.folder / "out" / "commands" / "1-unit.txt"
    assert kept.read_text() == "in a container\n"
    assert first_match(COMMANDS_GUARDS, new_state(), end) is None


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        ("rm $(command -v dockerd)", "exec dockerd failed: No such file or directory"),
        ("mkdir -p /etc/docker; echo '{' > /etc/docker/daemon.json", "unable to configure the Docker daemon"),
    ],
)
def test_a_daemon_that_does_not_start_is_named_and_nobody_is_charged(
    world: World, harm: str, said: str
) -> None:
    broken = Recipe("base", f"FROM {world.image}\nRUN {harm}\n")
    image = world.engine.images.build(broken.context(), broken.tag, args={}, network="none", log=print)
    coder = world.order("implement-3", image=image, agent=shell("echo new > c.txt"), limits=LIMITS)
    check = world.order("check-3", image=image, commands=(Command("unit", "true"),), limits=LIMITS)
    for order, guards, outcome in (
        (coder, CODER_GUARDS, Outcome.SETUP_FAILED),
        (check, COMMANDS_GUARDS, Outcome.OUTPUT_UNUSABLE),
    ):
        end = world.jobs.run(order, resumed=False)
        assert end.report is not None
        error = end.report.error or ""
        assert error.startswith("The job's Docker daemon did not start (exit code 1")
        assert said in error
        assert (end.report.tree, end.report.commands) == (None, ())
        assert first_match(guards, new_state(), end) is outcome
