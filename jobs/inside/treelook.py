"""Tells whether the tree changed between two looks, by what the kernel says of its files.

Limits: reads no file's content; a look takes two seconds at most, and looks a twentieth of the time.
"""

from __future__ import annotations

import hashlib
import os
import time
from typing import Callable, Iterable, Iterator

from .leftovers import Leftovers
from .places import Places
from .sealed import Git, GitError

LOOK_S = 2.0
REST_S = 0.5
_REST_FACTOR = 20
_ASK_EVERY = 512

Paths = Callable[[float], Iterable[bytes]]
"""The paths to look at, below the tree; gets the moment at which the look is over."""


class TreeLook:
    """Remembers the tree as it was at the last look; the first one is taken when this is made.

    A tree that cannot be looked at in time counts as changed: nobody is ended for what is not known.
    """

    def __init__(
        self,
        repo: str,
        paths: Paths,
        clock: Callable[[], float] = time.monotonic,
        look_s: float = LOOK_S,
    ) -> None:
        self._repo = os.fsencode(repo)
        self._paths = paths
        self._clock = clock
        self._look_s = look_s
        self._next = 0.0
        self._last = self._take()

    def has_changed(self) -> bool | None:
        """Whether it changed since the last look; none: that was just now, and nothing was looked at."""
        if self._clock() < self._next:
            return None
        before, self._last = self._last, self._take()
        return before is None or before != self._last

    def _take(self) -> bytes | None:
        began = self._clock()
        until = began + self._look_s
        try:
            return self._digest(self._paths(until), until)
        except (GitError, OSError):
            return None
        finally:
            now = self._clock()
            self._next = now + max(REST_S, _REST_FACTOR * (now - began))

    def _digest(self, paths: Iterable[bytes], until: float) -> bytes | None:
        digest = hashlib.blake2b()
        for number, path in enumerate(paths):
            if number % _ASK_EVERY == 0 and self._clock() > until:
                return None
            digest.update(path + b"\0" + _state(os.path.join(self._repo, path)) + b"\0")
        return digest.digest()


def _state(path: bytes) -> bytes:
    try:
        state = os.lstat(path)
    except OSError:
        return b"gone"
    return b"%d %d %d %d" % (state.st_mtime_ns, state.st_size, state.st_ino, state.st_mode)


def watched_paths(places: Places, left: Leftovers) -> Paths:
    """What a capture would take or find missing.

    Neither what set-up left nor what the repo ignores: a test's cache is new after every run.
    """

    def paths(until: float) -> Iterator[bytes]:
        git = Git(places.git, places.repo, until)
        for path in git.records("ls-files", "-z", "--cached", "--others", "--exclude-standard"):
            if not left.covers(path.rstrip(b"/")):
                yield path

    return paths
