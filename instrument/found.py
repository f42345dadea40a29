"""Finds the folders of tasks under the run folder.

Lists folders; writes nothing, takes no lock.
"""

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import platformdirs

_OLD = re.compile(r"(?P<task>.+)\.old-(?P<n>[0-9]+)")
_BEGUN = ("events.jsonl", "state.json", "jobs")


@dataclass(frozen=True, slots=True)
class FoundTask:
    """One task's folders: earlier runs (`.old-N`, kept by a restart) first, the present one last."""

    task_id: str
    root: str
    names: tuple[str, ...]
    """Of folders below `root`, never empty; the last one is an earlier run only where a restart was cut
    short."""

    @property
    def folders(self) -> tuple[Path, ...]:
        """The folders in order of time."""
        return tuple(Path(self.root, name) for name in self.names)

    def begun(self) -> "FoundTask | None":
        """The same with those folders only in which something was begun; none where nothing ever was.

        A folder without state, events and jobs holds only a lock, since an intent is written before
        anything is done that could cost.
        """
        names = tuple(name for name in self.names if _has_begun(f"{self.root}/{name}"))
        return FoundTask(self.task_id, self.root, names) if names else None


class TaskNotFoundError(LookupError):
    """No task of this id ever began under the run folder; the text is one sentence."""


def find_home(environ: Mapping[str, str]) -> Path:
    """Give the run folder: `$FACTORY_HOME`, else the platform's user state folder; it may not exist."""
    value = environ.get("FACTORY_HOME")
    if value:
        return Path(value).expanduser().absolute()
    return platformdirs.user_state_path("factory-loop")


def find_tasks(home: Path) -> Iterator[FoundTask]:
    """Yield every task that ever began, in order of its id; nothing where `home` does not exist.

    Raises:
        OSError: `home` cannot be listed, or is no folder.
    """
    return (task for found in list_tasks(home) if (task := found.begun()) is not None)


def list_tasks(home: Path) -> Iterator[FoundTask]:
    """Yield what `find_tasks` does and tasks that never began, without a look into the folders.

    Raises:
        OSError: `home` cannot be listed, or is no folder.
    """
    root = home / "tasks"
    if not home.exists() or (home.is_dir() and not root.exists()):
        return
    # Texts and not paths, which are three times as slow: there may be ten thousand.
    place = str(root)
    runs: dict[str, list[tuple[float, str]]] = {}
    with os.scandir(root) as entries:
        for entry in entries:
            if entry.is_dir():
                task_id, number = _split(entry.name)
                runs.setdefault(task_id, []).append((number, entry.name))
    for task_id, named in sorted(runs.items()):
        yield FoundTask(task_id, place, tuple(name for _, name in sorted(named)))


def find_task(home: Path, task_id: str) -> FoundTask:
    """Find one task by its id without looking into any other folder's files.

    Raises:
        TaskNotFoundError: It never began under `home`.
        OSError: `home` cannot be listed.
    """
    named = next((task for task in list_tasks(home) if task.task_id == task_id), None)
    task = named and named.begun()
    if task is None:
        raise TaskNotFoundError(f"no task {task_id} has begun under {home}")
    return task


def _split(name: str) -> tuple[str, float]:
    """Split a folder's name into task id and place among its runs; the present one sorts last."""
    if ".old-" in name and (match := _OLD.fullmatch(name)):
        return match["task"], int(match["n"])
    return name, float("inf")


def _has_begun(folder: str) -> bool:
    return any(os.path.exists(f"{folder}/{name}") for name in _BEGUN)  # noqa: PTH110 - see find_tasks
