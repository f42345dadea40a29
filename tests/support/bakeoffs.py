"""A bake-off on a person's desk: three tasks of one repo, several variants, a fake engine.

Limits: below a temporary folder only.
"""

import io
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from loop.bakeoff.begin import FOLDER
from loop.bakeoff.progress import BakeoffProgress
from loop.bakeoff.result import Result, load_result
from loop.bakeoff.typed import Typed, run_typed
from loop.run import World
from support.repos import TASK, TASK_TEXT, Desk, edited

SECOND, THIRD = "tasks/008-wait.md", "tasks/009-log.md"
TASKS = (TASK, SECOND, THIRD)
WITH = ("claude", "codex:gpt-5.5")
STORY = "rounds: [{role: coder, turns: [{finish: done}]}]\n"


def with_tasks(desk: Desk, *heads: str) -> Desk:
    """Two more tasks, committed; each of the three with these lines in its front matter."""
    text = edited(TASK_TEXT, "files:", "".join(f"{head}\n" for head in heads) + "files:")
    desk.commit(dict.fromkeys(TASKS, text), "three tasks")
    (desk.folder / "story.yaml").write_text(STORY)
    return desk


@dataclass
class Bakeoff:
    """The command, typed again and again."""

    desk: Desk
    said: io.StringIO = field(default_factory=io.StringIO)

    @property
    def folders(self) -> list[Path]:
        return sorted((self.desk.home / FOLDER).glob("*"))

    @property
    def folder(self) -> Path:
        (one,) = self.folders
        return one

    @property
    def result(self) -> Result:
        return load_result(self.folder)

    def result_of(self, folder: Path) -> Result:
        return load_result(folder)

    def typed(self, *names: str, **changes: Any) -> Typed:
        fields: dict[str, Any] = {
            "tasks": names,
            "replayed": (),
            "variants": WITH,
            "repeats": 1,
            "repo": self.desk.folder / "person",
            "resume": None,
            "rescore": None,
            "reviews": None,
            "budget_usd": None,
            "stories": (str(self.desk.folder / "story.yaml"),),
        }
        if {"resume", "rescore"} & set(changes):
            fields |= {"variants": (), "stories": ()}
        return Typed(**(fields | changes))

    def run(
        self, *names: str, world: World | None = None, as_json: bool = False, **changes: Any
    ) -> tuple[str, int]:
        """Text of stdout and exit code."""
        progress = BakeoffProgress(self.said)
        world = world or self.desk.world(progress=progress)
        return run_typed(self.typed(*names, **changes), world, progress, as_json=as_json)
