"""Time along a line, with long breaks folded to a fixed length.

Pure: no I/O. A task that waited a weekend for a person would else show nothing of its minutes of work.
"""

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass

from instrument.html.bars import percent

_LONG = 5
"""A break of more than this part of all busy time is folded …"""
_FOLDED = 25
"""… to this one."""


@dataclass(frozen=True, slots=True)
class Fold:
    """A break that is shorter in the picture than it was."""

    x: str
    middle: str
    width: str
    length_ns: int


class Scale:
    """Places on the line for times between the first beginning and the last end."""

    def __init__(self, busy: Iterable[tuple[int, int]]) -> None:
        """Take the spans in which something went on, in nanoseconds; any order, at least one."""
        spans = _joined(busy)
        total = sum(end - start for start, end in spans) or 1
        self._starts: list[int] = []
        self._places: list[float] = []
        breaks: list[tuple[float, float, int]] = []
        at = 0.0
        before = spans[0][0]
        for start, end in spans:
            length = start - before
            is_folded = length * _LONG > total
            room = total / _FOLDED if is_folded else length
            if is_folded:
                breaks.append((at, room, length))
            if length:
                self._put(before, at)
            at += room
            self._put(start, at)
            at += end - start
            before = end
        self._put(before, at)
        self._whole = at
        self.folds = tuple(
            Fold(self._percent(x), self._percent(x + room / 2), self._percent(room), length)
            for x, room, length in breaks
        )

    def at(self, time_ns: int) -> str:
        """The place of a time; one outside of the line is at its nearer end."""
        return self._percent(self.place(time_ns))

    def between(self, start_ns: int, end_ns: int) -> str:
        """The length from one time to another."""
        return self._percent(self.place(end_ns) - self.place(start_ns))

    def place(self, time_ns: int) -> float:
        """The place in units of the whole line, which `share` turns into a share."""
        last = len(self._starts) - 1
        index = min(max(bisect_right(self._starts, time_ns) - 1, 0), last)
        start, place = self._starts[index], self._places[index]
        if time_ns <= start or index == last:
            return place
        length = self._starts[index + 1] - start
        return place + (self._places[index + 1] - place) * (time_ns - start) / length

    def share(self, place: float) -> float:
        """A length of `place` as a share of the whole line."""
        return place / self._whole if self._whole else 0

    def _put(self, time_ns: int, place: float) -> None:
        if not self._starts or time_ns > self._starts[-1]:
            self._starts.append(time_ns)
            self._places.append(place)

    def _percent(self, place: float) -> str:
        return percent(place, self._whole)


def _joined(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """In order of time, those that meet as one."""
    joined: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined
