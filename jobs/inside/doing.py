"""Writes down what an agent does, for a person who looks on: the shell line that it began last.

Limits: one small file of root's, replaced whole, once a second at most; nothing is decided from it.
"""

from __future__ import annotations

import contextlib
import os
import time
from typing import Callable

from .calls import Calls
from .output import Masker
from .stalls import shown
from .watch import Limit

EVERY_S = 1.0


class Doing:
    """A sink beside the transcript, and what is asked often so that the file is written."""

    def __init__(
        self, path: str, calls: Calls, masker: Masker, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._path = path
        self._calls = calls
        self._masker = masker
        self._clock = clock
        self._last = ""
        self._written = ""
        self._next = clock()

    def write(self, data: bytes) -> None:
        """Take the next piece."""
        for command in self._calls.feed(data):
            self._last = command

    def close(self) -> None:
        """What was done last is in the transcript."""

    def as_limit(self) -> Limit:
        """To be asked often; never passed."""
        return self._ask

    def _ask(self) -> None:
        if self._last == self._written or self._clock() < self._next:
            return
        self._next = self._clock() + EVERY_S
        self._written = self._last
        # A full disk ends the job, but not by this.
        with contextlib.suppress(OSError):
            with open(self._path + ".new", "w", encoding="utf-8", errors="replace") as file:
                file.write(shown(self._last, self._masker))
            os.replace(self._path + ".new", self._path)
