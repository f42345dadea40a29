"""The folders of the record: one a task below the home, kept aside on a restart.

Limits: makes and moves folders, reads nothing; the caller holds the task's lock.
"""

import hashlib
import os
from pathlib import Path

from instrument.schema.owner import OWNER_FILE
from loop.atomic import PRIVATE_FOLDER
from loop.errors import UsageError

LOCK_FILE = "lock"


def make_private(folder: Path) -> Path:
    """Make a folder 0700 where it is absent; `mkdir` alone would leave the parents open to all."""
    for each in (*reversed(folder.parents), folder):
        if not each.exists():
            each.mkdir(mode=PRIVATE_FOLDER, exist_ok=True)
    return folder


def make_home(home: Path) -> Path:
    """Make the home where it is absent.

    Raises:
        UsageError: It cannot be made, or nothing can be written there.
    """
    try:
        make_private(home)
        why = "not a folder that can be written to"
        is_fit = home.is_dir() and os.access(home, os.W_OK | os.X_OK)
    except OSError as error:
        why, is_fit = f"{error.strerror}", False
    if not is_fit:
        raise UsageError(f"the run folder {home} cannot be used ({why}); set FACTORY_HOME to another folder")
    return home


def mark_of(home: Path) -> str:
    """12 hex digits that say of a container which home of this machine it belongs to."""
    return hashlib.sha256(os.fsencode(home.resolve())).hexdigest()[:12]


def task_folder(home: Path, task_id: str) -> Path:
    """The task's folder, made 0700 where it is absent."""
    return make_private(home / "tasks" / task_id)


def set_aside(folder: Path) -> Path:
    """Move what a task's folder holds to `<task-id>.old-N`, for a new beginning; lock and owner stay."""
    n = 1
    while (target := folder.with_name(f"{folder.name}.old-{n}")).exists():
        n += 1
    target.mkdir(mode=PRIVATE_FOLDER)
    for entry in folder.iterdir():
        if entry.name not in (LOCK_FILE, OWNER_FILE):
            entry.rename(target / entry.name)
    return target
