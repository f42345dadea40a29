"""Notices an agent that has printed its last line and does not exit.

Limits: sees only the output of a program whose last line the order describes; ends nothing.
"""

from __future__ import annotations

import time
from typing import Callable, Iterable, Mapping

from .lines import Lines, holds, load
from .report import HUNG_AT_END
from .watch import Limit

GRACE_S = 5.0
"""How long a program may take to exit after its last line."""


class LastLine:
    """A sink beside the transcript, and the limit that is asked about it.

    Any line after one that looks like the last shows that it was not.
    """

    def __init__(
        self,
        shapes: Iterable[Mapping[str, str]],
        grace_s: float = GRACE_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._shapes = tuple(shapes)
        self._grace_s = grace_s
        self._clock = clock
        self._lines = Lines()
        self._seen: float | None = None

    def write(self, data: bytes) -> None:
        """Take the next piece."""
        for line in self._lines.feed(data):
            value = load(line, ())
            is_last = any(holds(value, shape) for shape in self._shapes)
            self._seen = self._clock() if is_last else None

    def close(self) -> None:
        """Nothing is kept."""

    def as_limit(self) -> Limit:
        """To be asked often; passed once the grace is over."""
        return self._ask

    def _ask(self) -> str | None:
        is_over = self._seen is not None and self._clock() - self._seen >= self._grace_s
        return HUNG_AT_END if is_over else None
