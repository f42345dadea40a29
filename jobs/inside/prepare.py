"""Everything that has to be there before the work begins.

Limits: runs before anything foreign does; `tree` lays the tree itself.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import time

from .places import Places
from .process import ChildError, do_as

SOCKET_WAIT_S = 30.0
_LOOK_S = 0.02


def empty_out(places: Places) -> None:
    """Start with an empty folder for results: the image may hold those of the set-up job.

    Raises:
        OSError: The folder is not ours.
    """
    if os.path.isdir(places.out):
        shutil.rmtree(places.out)
    os.makedirs(os.path.join(places.out, "commands"), mode=0o700)


def place_prompt(places: Places, review_path: str | None) -> None:
    """Copy the prompt to where the agent reads it, and make room for a reviewer's file.

    Raises:
        OSError: The prompt is not there.
    """
    with contextlib.suppress(FileNotFoundError):
        os.unlink(places.prompt)
    shutil.copyfile(places.prompt_in, places.prompt)
    os.chmod(places.prompt, 0o444)
    if review_path is None:
        return
    review = os.path.join(places.repo, review_path)

    def make_room() -> None:
        os.makedirs(os.path.dirname(review), exist_ok=True)
        if os.path.lexists(review):
            os.unlink(review)

    # Only a convenience: an odd tree in the way shows as an absent review.
    with contextlib.suppress(ChildError):
        do_as(places.user, make_room)


def is_socket_there(path: str | None, deadline: float) -> bool:
    """Wait for the sidecar's socket, half a minute at most; true where none is named."""
    give_up = min(time.monotonic() + SOCKET_WAIT_S, deadline)
    while path is not None and not _is_socket(path):
        if time.monotonic() >= give_up:
            return False
        time.sleep(_LOOK_S)
    return True


def _is_socket(path: str) -> bool:
    try:
        return stat.S_ISSOCK(os.stat(path).st_mode)
    except OSError:
        return False
