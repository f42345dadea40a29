"""Finds the folders of tasks under the run folder.

Lists folders and reads `state.json`; writes nothing, takes no lock.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import platformdirs
from pydantic import ValidationError

from instrument.schema.state import TaskState

_OLD = re.compile(r"(?P<task>.+)\.old-(?P<n>[0-9]+)")
_BEGUN = ("state.json", "events.jsonl", "jobs")


@dataclass(frozen=True, slots=True)
class FoundTask:
    """One task's folders: earlier runs (`.old-N`, kept by a restart) first, the present one last."""

    task_id: str
    folders: tuple[Path, ...]
    """Never empty; the last one is an earlier run only where a restart was cut short."""


def find_home(environ: Mapping[str, str]) -> Path:
    """Give the run folder: `$FACTORY_HOME`, else the platform's user state folder; it may not exist."""
    value = environ.get("FACTORY_HOME")
    if value:
        return Path(value).expanduser().absolute()
    return platformdirs.user_state_path("factory-loop")


def find_tasks(home: Path) -> Iterator[FoundTask]:
    """Yield every task that ever began, in order of its id; nothing where `home` does not exist.

    A folder without state, events and jobs is left out: it holds only a lock, since an
    intent is written before anything is done that could cost.

    Raises:
        OSError: `home` cannot be listed, or is no folder.
    """
    root = home / "tasks"
    if not home.exists() or (home.is_dir() and not root.exists()):
        return
    named = sorted((_split(path.name), path) for path in root.iterdir() if _has_begun(path))
    for task_id, group in groupby(named, key=lambda pair: pair[0][0]):
        yield FoundTask(task_id, tuple(path for _, path in group))


def find_task(home: Path, task_id: str) -> FoundTask | None:
    """Find one task by its id without looking into any other folder's files; none: it never began."""
    return next((task for task in find_tasks(home) if task.task_id == task_id), None)


def read_state(folder: Path) -> tuple[TaskState | None, str]:
    """Read a task folder's state: the state and "", or none and a clause that says what is missing."""
    path = folder / "state.json"
    try:
        return TaskState.model_validate_json(path.read_bytes()), ""
    except FileNotFoundError:
        return None, "state.json is missing"
    except OSError as error:
        return None, f"state.json cannot be opened ({error.strerror})"
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        return None, f"state.json is damaged ({f'{where}: ' if where else ''}{first['msg']})"


def _split(name: str) -> tuple[str, float]:
    """Split a folder's name into task id and place among its runs; the present one sorts last."""
    if match := _OLD.fullmatch(name):
        return match["task"], int(match["n"])
    return name, float("inf")


def _has_begun(path: Path) -> bool:
    return path.is_dir() and any((path / name).exists() for name in _BEGUN)
