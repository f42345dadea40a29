"""Where the record lies: `$FACTORY_HOME`, else the platform's user state folder.

Limits: makes folders, reads nothing.
"""

from collections.abc import Mapping
from pathlib import Path

from platformdirs import user_state_path

from loop.atomic import PRIVATE_FOLDER


def home_folder(environment: Mapping[str, str]) -> Path:
    """The home's path; nothing is made."""
    configured = environment.get("FACTORY_HOME")
    return Path(configured).expanduser().absolute() if configured else user_state_path("factory-loop")


def task_folder(home: Path, task_id: str) -> Path:
    """The task's folder, made 0700 where it is absent."""
    folder = home / "tasks" / task_id
    for each in (home, home / "tasks", folder):
        each.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
    return folder


def set_aside(folder: Path) -> Path | None:
    """Move a task's folder to `<task-id>.old-N`, for a new beginning; none where there was none."""
    if not folder.exists():
        return None
    n = 1
    while (target := folder.with_name(f"{folder.name}.old-{n}")).exists():
        n += 1
    folder.rename(target)
    return target
