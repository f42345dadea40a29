"""The canary: the demo's task, landed once for each new combination of image, agent and engine.

Costs nothing: the scripted provider answers. Limits: writes below `<home>/canary` only; the run's folder
stays where it did not land, and where a person typed `factory canary`.
"""

import shutil
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from pathlib import Path

from instrument.found import find_home
from instrument.schema.vocabulary import Purpose, Stage
from jobs.errors import JobsError
from loop.atomic import write_atomic
from loop.demo import EXAMPLE, STORY, TASK, TASK_ID, Stand, prepare
from loop.errors import Exit, RunError
from loop.home import LOCK_FILE, make_home, make_private
from loop.leases import hold_briefly
from loop.request import Ending, RunRequest
from loop.run import World, run
from loop.store import StateCorruptError, load_state

SEEN_FILE = "landed.txt"
WAIT_S = 900
"""For another canary: it may have to build the images first."""


class CanaryError(RunError):
    """The canary did not land: nothing real is begun with this engine and these images."""

    exit_code = Exit.STOPPED


def run_canary(world: World) -> Ending:
    """Land the demo's task in a folder of its own, from nothing; a second one at a time waits.

    Raises:
        BusyError: Another one did not end in time.
    """
    home = _home(world)
    with _alone(home):
        return _land(home, world)


def _home(world: World) -> Path:
    return make_private(make_home(find_home(world.environment)) / "canary")


def _alone(home: Path) -> AbstractContextManager[None]:
    """Hold the canary's folder: two loops that begin together would take it away from each other."""
    return hold_briefly(home / LOCK_FILE, WAIT_S, "another canary has been under way")


def _stand(home: Path) -> Stand:
    return Stand(home / "work")


def _clear(stand: Stand, world: World) -> None:
    """Nothing of an earlier canary stays; one that was killed has left its pod on the engine."""
    with suppress(StateCorruptError, JobsError):
        old = load_state(stand.home / "tasks" / TASK_ID)
        if old is not None:
            world.jobs.reap(old.run_id, keep=None)
    shutil.rmtree(stand.folder, ignore_errors=True)


def _land(home: Path, world: World) -> Ending:
    stand = _stand(home)
    _clear(stand, world)
    prepare(stand)
    request = RunRequest(
        task=TASK,
        repo=stand.checkout,
        auto_merge=True,
        story=STORY.read_bytes(),
        purpose=Purpose.CANARY,
    )
    environment = {**world.environment, "FACTORY_HOME": str(stand.home)}
    return run(request, replace(world, environment=environment))


def ensure_canary(world: World, combination: Callable[[], str]) -> None:
    """Run the canary unless it has landed with this combination before.

    Raises:
        CanaryError: It did not land.
    """
    if not EXAMPLE.is_dir():
        world.progress.note("no canary: the examples folder is not installed")
        return
    home, name = _home(world), combination()
    seen = home / SEEN_FILE
    if name in _read_lines(seen):
        return
    with _alone(home):
        landed = _read_lines(seen)  # another loop may have run it while this one waited
        if name in landed:
            return
        world.progress.note("canary: this engine, agent and images are new; a scripted task goes first")
        ending = _land(home, world)
        if ending.result.stage is not Stage.DONE:
            raise CanaryError(
                f"the canary stopped with {ending.result.stop_reason}: nothing was begun and nothing spent; "
                f"see {ending.result.run_folder}"
            )
        write_atomic(seen, "\n".join([*landed, name, ""]).encode())
        shutil.rmtree(_stand(home).folder, ignore_errors=True)
    world.progress.note("canary: landed")


def _read_lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").split()
    except FileNotFoundError:
        return []
