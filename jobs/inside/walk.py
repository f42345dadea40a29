"""Walks the tree that the agent left, without following a link, before git sees it.

Limits: reads folders only, never a file; stops at a number of entries.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from .leftovers import Leftovers
from .places import User
from .process import do_as

MOST_ENTRIES = 2_000_000
MOST_NAMES = 10_000


class WalkError(Exception):
    """The tree is beyond what can be looked at; the text is one sentence."""


@dataclass
class Survey:
    """Paths in the tree, as bytes, in no order."""

    special: list[bytes] = field(default_factory=list)
    """FIFOs, sockets and devices."""
    nested: list[bytes] = field(default_factory=list)
    """Folders below the top that hold something git takes for a repository's own folder."""
    unreadable: list[bytes] = field(default_factory=list)
    entries: int = 0


def survey(repo: bytes, left: Leftovers, most: int = MOST_ENTRIES) -> Survey:
    """Look at everything but the top's `.git` and what set-up left.

    Raises:
        WalkError: There are more entries or more special files than can be looked at.
    """
    found = Survey()
    waiting = [b""]
    while waiting:
        folder = waiting.pop()
        above = folder + b"/" if folder else b""
        try:
            with os.scandir(os.path.join(repo, folder)) as entries:
                for entry in entries:
                    path = above + entry.name
                    if path != b".git" and path not in left.paths:
                        _look(entry, folder, path, found, waiting)
        except OSError:
            found.unreadable.append(folder)
        if found.entries > most:
            raise WalkError(f"the tree has more than {most} entries")
        if max(len(found.special), len(found.nested), len(found.unreadable)) > MOST_NAMES:
            raise WalkError(f"the tree has more than {MOST_NAMES} entries that cannot be captured")
    return found


def _look(entry: os.DirEntry[bytes], folder: bytes, path: bytes, found: Survey, waiting: list[bytes]) -> None:
    found.entries += 1
    if is_git_name(entry.name):
        found.nested.append(folder)
    elif entry.is_file(follow_symlinks=False):
        return
    elif entry.is_dir(follow_symlinks=False):
        waiting.append(path)
    elif not entry.is_symlink():
        found.special.append(path)


def is_git_name(name: bytes) -> bool:
    """Whether git, on any file system, may take a path's part for a repository's own folder."""
    if name[:4].lower() not in (b".git", b"git~"):
        return False
    # `.git ` and `.git.` are `.git` on Windows, `git~1` is its short name; git refuses all of them.
    plain = name.lower().partition(b":")[0].rstrip(b" .")
    return plain in (b".git", b"git~1")


def clear_special(repo: bytes, special: list[bytes], user: User) -> None:
    """Remove special files: git opens a FIFO named `.gitignore` and waits for ever.

    Raises:
        ChildError: One of them cannot be removed.
    """

    def remove() -> None:
        for path in special:
            # From the top down: a folder in a shut folder cannot be opened before it.
            for end in [0] + [at for at, byte in enumerate(path) if byte == ord("/")]:
                os.chmod(os.path.join(repo, path[:end]), 0o700)
            os.unlink(os.path.join(repo, path))

    if special:
        do_as(user, remove)
