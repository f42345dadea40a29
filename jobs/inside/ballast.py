"""Room on the disk that is kept for the job's own end: a full disk is then told, and not met in silence.

Limits: one small file in `/job`, which the agent cannot reach.
"""

from __future__ import annotations

import contextlib
import os

from .places import Places

BALLAST_BYTES = 1 << 20


def lay_ballast(places: Places) -> None:
    """Take the room, before anything foreign runs.

    Raises:
        OSError: The disk is full already.
    """
    with open(_path(places), "wb") as file:
        file.write(bytes(BALLAST_BYTES))


def drop_ballast(places: Places) -> bool:
    """Give the room back for the report; whether less than that was left on the disk before."""
    stat = os.statvfs(places.job)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(_path(places))
    return stat.f_bavail * stat.f_frsize < BALLAST_BYTES


def _path(places: Places) -> str:
    return os.path.join(places.job, "ballast")
