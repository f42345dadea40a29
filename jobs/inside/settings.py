"""Lays what an agent program reads before it works: its settings, and the tree without the tree's own.

Limits: runs before the agent does; writes as the agent's user.
"""

from __future__ import annotations

import os
import shutil
from typing import Iterable, Mapping

from .places import Places
from .process import do_as
from .sealed import Git


def lay_settings(places: Places, files: Mapping[str, str], cleared: Iterable[str]) -> None:
    """Make the folder of settings anew, and clear these paths in HOME: set-up may have left them.

    Raises:
        ChildError: It cannot be written.
    """

    def write() -> None:
        _remove(places.settings)
        for name in cleared:
            _remove(os.path.join(places.home, name))
        for name, text in files.items():
            path = os.path.join(places.settings, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)

    do_as(places.user, write)


def hide(agent_git: Git, places: Places, paths: Iterable[str]) -> None:
    """Keep these paths of the commit out of the tree; to the agent's git they are not missing.

    Before the index is taken over for the capture, which so passes by them too.

    Raises:
        GitError: git failed.
        ChildError: One of them cannot be removed.
    """
    names = list(paths)
    tracked = _tracked(agent_git, names)
    if tracked:
        agent_git.feed("update-index", "-z", "--skip-worktree", "--stdin", records=tracked)

    def remove() -> None:
        for name in names:
            _remove(os.path.join(places.repo, name))

    do_as(places.user, remove)


def unhide(git: Git, places: Places, paths: Iterable[str]) -> None:
    """Let the capture see those of the hidden paths that the agent wrote itself.

    Raises:
        GitError: git failed.
    """
    repo = os.fsencode(places.repo)
    there = [path for path in _tracked(git, list(paths)) if os.path.lexists(os.path.join(repo, path))]
    if there:
        git.feed("update-index", "-z", "--no-skip-worktree", "--stdin", records=there)


def _tracked(git: Git, names: list[str]) -> list[bytes]:
    return list(git.records("ls-files", "-z", "--", *names)) if names else []


def _remove(path: str) -> None:
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    elif os.path.lexists(path):
        os.unlink(path)
