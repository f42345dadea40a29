"""Lengths of bars as shares of the room that they have, and what each says.

Pure: no I/O. Lengths are percents, so that a picture fits any width and its text keeps its size.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from instrument.overview import PART_NAMES
from instrument.parts import Part
from instrument.show import show_ms

_CUT = 2
"""A bar of more than so many 90th percentiles is cut, so that one task does not flatten all others."""


@dataclass(frozen=True, slots=True)
class Bar:
    """One rectangle, with its name in the style sheet."""

    kind: str
    x: str
    width: str
    title: str


@dataclass(frozen=True, slots=True)
class Stack:
    """Rectangles in one row; `is_cut`: the row is longer than the room."""

    bars: tuple[Bar, ...]
    is_cut: bool
    text: str
    """All of it in words."""


def percent(part: float, whole: float) -> str:
    """A share of the room, such as `12.5%`; 0 where there is no whole."""
    share = round(100 * part / whole, 3) if whole else 0
    return f"{share:g}%"


def scale_of(lengths: Iterable[int]) -> int:
    """What fills the room: the longest, unless few are far longer than the others."""
    ordered = sorted(lengths)
    if not ordered:
        return 0
    return min(ordered[-1], _CUT * ordered[-(-len(ordered) * 9 // 10) - 1] or ordered[-1])


def plain_stack(length: int | None, scale: int, kind: str, title: str) -> Stack:
    """One rectangle; none where the length is not known."""
    if length is None:
        return Stack((), is_cut=False, text=title)
    bar = Bar(kind, "0%", percent(min(length, scale), scale), title)
    return Stack((bar,), is_cut=length > scale, text=title)


def part_stack(times: Mapping[Part, int], scale: int) -> Stack:
    """The parts of a task's time one after the other, in the order of the report."""
    bars, at = [], 0
    for part, name in PART_NAMES.items():
        length = times.get(part, 0)
        shown = min(length, max(scale - at, 0))
        if shown:
            bars.append(Bar(part.value, percent(at, scale), percent(shown, scale), said(name, length)))
        at += length
    words = (said(name, times[part]) for part, name in PART_NAMES.items() if times.get(part))
    return Stack(tuple(bars), is_cut=at > scale, text=", ".join(words))


def said(name: str, length_ms: int) -> str:
    """A part and its length."""
    return f"{name} {show_ms(length_ms)}"
