"""The canary: the demo's task, landed once for each new combination of image, agent and engine.

Costs nothing: the scripted provider answers. Limits: writes below `<home>/canary` only.
"""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from instrument.found import find_home
from instrument.schema.vocabulary import Purpose, Stage
from loop.atomic import write_atomic
from loop.demo import EXAMPLE, STORY, TASK, Stand, prepare
from loop.errors import Exit, RunError
from loop.home import make_private
from loop.request import Ending, RunRequest
from loop.run import World, run

SEEN_FILE = "landed.txt"


class CanaryError(RunError):
    """The canary did not land: nothing real is begun with this engine and these images."""

    exit_code = Exit.STOPPED


def run_canary(world: World) -> Ending:
    """Land the demo's task in a folder of its own, from nothing."""
    home = make_private(find_home(world.environment) / "canary")
    stand = Stand(home / "work")
    shutil.rmtree(stand.folder, ignore_errors=True)
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
    seen = find_home(world.environment) / "canary" / SEEN_FILE
    name = combination()
    landed = _read_lines(seen)
    if name in landed:
        return
    world.progress.note("canary: this engine, agent and images are new; a scripted task goes first")
    ending = run_canary(world)
    if ending.result.stage is not Stage.DONE:
        raise CanaryError(
            f"the canary stopped with {ending.result.stop_reason}: nothing was begun and nothing spent; "
            f"see {ending.result.run_folder}"
        )
    write_atomic(seen, "\n".join([*landed, name, ""]).encode())
    world.progress.note("canary: landed")


def _read_lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").split()
    except FileNotFoundError:
        return []
