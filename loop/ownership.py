"""Whose a task is: the mark of a driver that carries it on over many processes.

Limits: one file in the task's folder; whoever writes or removes it holds the task's lock.
"""

from pathlib import Path

from pydantic import ValidationError

from instrument.schema.owner import OWNER_FILE, Owner
from loop.atomic import sync_folder, write_atomic
from loop.errors import BusyError


def write_owner(folder: Path, owner: Owner) -> None:
    """Mark the task as the driver's; may be called again.

    Args:
        folder: The task's.
        owner: The mark.
    """
    write_atomic(folder / OWNER_FILE, owner.model_dump_json().encode())


def remove_owner(folder: Path) -> None:
    """Make the task anybody's; no mark is no error."""
    (folder / OWNER_FILE).unlink(missing_ok=True)
    sync_folder(folder)


def driver_of(folder: Path) -> str:
    """Who drives the task; empty where nobody does, or the mark cannot be read."""
    try:
        return Owner.model_validate_json((folder / OWNER_FILE).read_bytes()).driver
    except (OSError, ValidationError):
        return ""


def check_owner(folder: Path, task_id: str, driver: str) -> None:
    """Let the task's own driver pass, and everybody where it has none.

    Raises:
        BusyError: It is another's, or the mark cannot be read.
    """
    file = folder / OWNER_FILE
    try:
        owner = Owner.model_validate_json(file.read_bytes())
    except FileNotFoundError:
        return
    except (OSError, ValidationError):
        raise BusyError(
            f"{task_id}: {file} says whose the task is and cannot be read; remove it if nobody drives it"
        ) from None
    if owner.driver != driver:
        raise BusyError(f"{task_id}: the {owner.driver} drives this task; to take it over:  {owner.command}")
