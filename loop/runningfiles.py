"""The files of the tasks under way on a repo, and which of them are valid.

Limits: files below `<home>/running`; everything but the names is done behind the repo's door.
"""

import json
from contextlib import AbstractContextManager
from pathlib import Path

from loop.home import make_private
from loop.leases import hold_briefly, try_lease

TIMEOUT_S = 30


def door(home: Path, repo: str) -> AbstractContextManager[None]:
    """One process at a time looks at a repo's running tasks.

    Raises:
        BusyError: Others did for half a minute.
    """
    what = f"other loops look at the running tasks of {repo}"
    return hold_briefly(home / "running" / f"{repo}.lock", TIMEOUT_S, what)


def file_of(home: Path, repo: str, task_id: str) -> Path:
    """Of a task; the folder is made."""
    return make_private(home / "running" / repo) / f"{task_id}.json"


def lock_of(file: Path) -> Path:
    """Not the task's own lock: a look takes a free one for a moment, and a loop that starts would see it."""
    return file.with_suffix(".lock")


def under_way(folder: Path) -> list[Path]:
    """The files that are valid, in order; those of dead processes are removed."""
    found = []
    for file in sorted(folder.glob("[!.]*.json")):
        lease = try_lease(lock_of(file))
        if lease is None:
            found.append(file)
            continue
        with lease:
            if driver_of(file):
                found.append(file)
            else:
                forget(file)
    return found


def driver_of(file: Path) -> str:
    """The driver of a durable claim, also where the rest of it is of another version; empty: it is none."""
    try:
        fields = json.loads(file.read_bytes())
    except (OSError, ValueError):
        return ""
    return str(fields.get("driver") or "") if isinstance(fields, dict) else ""


def forget(file: Path) -> None:
    """Remove a file, valid or not."""
    # The lock file too: everybody opens it behind the door, so that nobody holds the removed one.
    file.unlink(missing_ok=True)
    lock_of(file).unlink(missing_ok=True)
