"""What a set-up job leaves for later jobs, and what it must not leave in their image.

Limits: runs after every process of the agent's user has ended.
"""

from __future__ import annotations

import contextlib
import os
import shutil

from .capture import show
from .changes import touched_files, untracked_paths
from .leftovers import Leftovers, write_leftovers
from .places import Places
from .process import do_as
from .sealed import Git
from .walk import clear_special, survey


def touched_sentence(git: Git) -> str | None:
    """Names a tracked file that set-up changed; none where it changed none."""
    path = next(touched_files(git), None)
    return None if path is None else f"set-up changed tracked file {show(path)}"


def keep_leftovers(git: Git, places: Places) -> str | None:
    """List what lies beside the commit for later jobs; a sentence where set-up changed the commit's own.

    Raises:
        GitError: git failed, or the time was over.
    """
    clear_special(
        os.fsencode(places.repo), survey(os.fsencode(places.repo), Leftovers()).special, places.user
    )
    sentence = touched_sentence(git)
    if sentence is None:
        write_leftovers(places.leftovers, Leftovers().plus(untracked_paths(git)))
    return sentence


def scrub(places: Places) -> None:
    """Remove what would be committed into the image: order with its secrets, packs, both repositories."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(places.order)
    shutil.rmtree(places.inputs, ignore_errors=True)
    shutil.rmtree(places.git, ignore_errors=True)

    def remove() -> None:
        if os.path.isdir(places.agent_git) and not os.path.islink(places.agent_git):
            shutil.rmtree(places.agent_git)
        elif os.path.lexists(places.agent_git):
            os.unlink(places.agent_git)

    do_as(places.user, remove)
