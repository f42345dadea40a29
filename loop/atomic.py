"""Files that are either the old or the new content, never neither.

Limits: one writer a file; the caller holds the task's lock.
"""

import os
from pathlib import Path

PRIVATE_FILE = 0o600
PRIVATE_FOLDER = 0o700


def write_atomic(path: Path, data: bytes) -> None:
    """Replace `path` whole: temp file, fsync, rename, fsync of the folder.

    Raises:
        OSError: The disk is full or the folder is not writable; the old content stands.
    """
    temp = path.with_name(f".{path.name}.new")
    descriptor = os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, PRIVATE_FILE)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    temp.replace(path)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make a rename or a new file in `folder` survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
