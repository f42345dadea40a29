"""The tests of one file, as every convention tells them.

Pure: no I/O.
"""

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass

ALWAYS = "always"
"""The mark of a test that is skipped whatever the circumstances."""


@dataclass(frozen=True, slots=True)
class Case:
    """One test."""

    name: str
    """Unique in its file; the parts that hold it come first: `TestRetry::test_twice`."""
    bare: str
    """Its name without what holds it, by which it is known again in another place."""
    skips: tuple[str, ...] = ()
    """Why it may not run, one entry a mark: `always`, or a text that stands for the condition."""
    asserts: int | None = None
    """How many things it looks at; none: not known."""


@dataclass(frozen=True, slots=True)
class FileCases:
    """What one side of a change holds."""

    cases: tuple[Case, ...] = ()
    skips: tuple[str, ...] = ()
    """Marks that hold for every test of the file."""


NOTHING = FileCases()
Reader = Callable[[str | None, str | None], tuple[FileCases, FileCases]]
"""Reads both sides of a change, so that both are read the same way; an absent side holds nothing."""


def both(read: Callable[[str], FileCases]) -> Reader:
    """Make a reader of what reads one text and never fails."""

    def reader(old: str | None, new: str | None) -> tuple[FileCases, FileCases]:
        return (NOTHING if old is None else read(old), NOTHING if new is None else read(new))

    return reader


def is_skipped_more(old: Iterable[str], new: Iterable[str]) -> bool:
    """Whether a mark was added; one that is always skipped cannot be skipped more."""
    before = Counter(old)
    return ALWAYS not in before and bool(Counter(new) - before)


def number_repeats(cases: Iterable[Case]) -> tuple[Case, ...]:
    """Tell apart tests of one name, in their order."""
    seen: Counter[str] = Counter()
    told = []
    for case in cases:
        seen[case.name] += 1
        count = seen[case.name]
        told.append(case if count == 1 else dataclasses.replace(case, name=f"{case.name} #{count}"))
    return tuple(told)
