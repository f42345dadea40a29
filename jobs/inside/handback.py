"""Takes the two files that an agent may hand back.

Limits: a path of the agent's is opened part by part, no link is followed, regular files only, capped.
"""

from __future__ import annotations

import os
import stat

from .output import Masker

RESULT_BYTES = 64 * 1024
REVIEW_BYTES = 256 * 1024

ABSENT, KEPT, NOT_REGULAR, TOO_LARGE = "absent", "kept", "not_regular", "too_large"


def take(folder: str, path: str, target: str, cap_bytes: int, masker: Masker) -> str:
    """Copy `path` below `folder`, which is not the agent's to replace, to `target`; the state of it.

    A folder on the way that is a link counts as `not_regular`: root reads here, and the link
    could lead to the order or to the image's secrets.
    """
    try:
        file = _open(folder, path)
    except (FileNotFoundError, NotADirectoryError) as error:
        return ABSENT if isinstance(error, FileNotFoundError) else NOT_REGULAR
    except OSError:
        return NOT_REGULAR
    try:
        state = os.fstat(file)
        if not stat.S_ISREG(state.st_mode) or state.st_nlink != 1:
            return NOT_REGULAR
        data = _read(file, cap_bytes)
    finally:
        os.close(file)
    if len(data) > cap_bytes:
        return TOO_LARGE
    with open(target, "wb") as copy:
        copy.write(masker.all(data))
    return KEPT


def _open(folder: str, path: str) -> int:
    """O_NONBLOCK: opening a FIFO would wait for a writer."""
    *folders, name = path.split("/")
    here = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    for part in folders:
        try:
            below = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=here)
        finally:
            os.close(here)
        here = below
    try:
        return os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=here)
    finally:
        os.close(here)


def _read(file: int, cap_bytes: int) -> bytes:
    data = b""
    while len(data) <= cap_bytes:
        chunk = os.read(file, cap_bytes + 1 - len(data))
        if not chunk:
            break
        data += chunk
    return data
