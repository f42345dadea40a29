"""`make run`: the main job on a copy of the example package, with everything real but the provider.

Limits: writes below the folder it is given.
"""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from instrument.schema.vocabulary import ProviderName, Purpose, Stage
from loop.git.seed import seed_repository
from loop.store import StateCorruptError, load_state

ROOT = Path(__file__).resolve().parent.parent
EXAMPLE = ROOT / "examples" / "durations"
STORY = ROOT / "examples" / "durations-story.yaml"
TASK = "tasks/001-carry-rounded-seconds.md"
TASK_ID = "durations-001"


@dataclass(frozen=True, slots=True)
class Stand:
    """The folders of one demo."""

    folder: Path

    @property
    def checkout(self) -> Path:
        """The person's working copy."""
        return self.folder / "durations"

    @property
    def origin(self) -> Path:
        """The bare repository that is pushed to."""
        return self.folder / "origin.git"

    @property
    def home(self) -> Path:
        """`$FACTORY_HOME` of the demo."""
        return self.folder / "home"


def prepare(stand: Stand) -> str:
    """Continue an unfinished demo, move a finished one away, begin a new one; say which."""
    said = "A new demo begins."
    if stand.folder.exists():
        if _is_unfinished(stand):
            return "An unfinished demo is there: it goes on."
        said = f"The finished demo is kept in {_move_away(stand)}; a new one begins."
    stand.folder.mkdir(parents=True, exist_ok=True)
    seed_repository(EXAMPLE, stand.checkout, stand.origin)
    return said


def _is_unfinished(stand: Stand) -> bool:
    try:
        state = load_state(stand.home / "tasks" / TASK_ID)
    except StateCorruptError:
        return True
    if state is None:
        return False
    return state.stage is not Stage.DONE


def _move_away(stand: Stand) -> Path:
    old = stand.folder / "old"
    old.mkdir(exist_ok=True)
    n = 1
    while (target := old / str(n)).exists():
        n += 1
    target.mkdir()
    for entry in stand.folder.iterdir():
        if entry != old:
            entry.rename(target / entry.name)
    return target


def arguments(environment: Mapping[str, str], *, purpose: Purpose) -> list[str]:
    """The `factory run` arguments: the story answers, unless PROVIDER names a real provider."""
    args = [TASK, "--auto-merge", "--purpose", purpose.value]
    provider = environment.get("PROVIDER") or "scripted"
    runtime = environment.get("RUNTIME") or ("codex" if provider == ProviderName.OPENAI else "")
    if provider == "scripted":
        args += ["--story", str(STORY)]
    if runtime:
        args += ["--runtime", runtime]
    if environment.get("MODEL"):
        args += ["--model", environment["MODEL"]]
    return args


def main(folder: Path = ROOT / "build" / "demo", purpose: Purpose = Purpose.DEMO) -> None:
    """Prepare the demo and run it as a person would, in its working copy."""
    stand = Stand(folder)
    sys.stderr.write(f"{prepare(stand)}\n")
    os.environ["FACTORY_HOME"] = str(stand.home)
    os.chdir(stand.checkout)
    from loop.cli import run  # noqa: PLC0415 - the command reads the environment set just above

    run(arguments(os.environ, purpose=purpose), prog_name="factory run")


if __name__ == "__main__":
    main()
