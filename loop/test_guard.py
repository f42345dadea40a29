"""Tests that a change deletes, skips or empties, told from both contents of each file.

Pure: no I/O. Knows pytest, unittest, jest, vitest, mocha, go test and cargo test; of other languages, that
a declared file is gone.
"""

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum

from loop.globs import compile_globs
from loop.weakening.cases import NOTHING, Case, FileCases, Reader, both, is_skipped_more
from loop.weakening.golang import read_go
from loop.weakening.javascript import read_javascript
from loop.weakening.python import read_python
from loop.weakening.rust import read_rust

_FOLDER = re.compile(r"(?:.*/)?(?:tests?|__tests__|__snapshots__)/.*")
_PYTHON = re.compile(r"(?:.*/)?(?:test[^/]*|[^/]*_tests?|conftest)\.py")
_JAVASCRIPT = re.compile(r"(?:.*/)?(?:[^/]*[._-](?:test|spec)|test|spec)\.[cm]?[jt]sx?")
_SCRIPT = re.compile(r".*\.[cm]?[jt]sx?")
_GO = re.compile(r".*_test\.go")
_RUST = re.compile(r".*\.rs")
MAX_CHARS = 2_000_000
"""Of a file is read; tests further down count as absent, so a file that grew beyond asks a person."""


class How(StrEnum):
    """What was done to a test."""

    DELETED = "deleted"
    SKIPPED = "skipped"
    EMPTIED = "emptied"
    """It runs and looks at nothing any more."""


@dataclass(frozen=True, slots=True)
class TestChange:
    """One changed file; none where it is absent on that side."""

    __test__ = False  # pytest would take the name for a class of tests

    path: str
    old: str | None = field(repr=False)
    new: str | None = field(repr=False)


@dataclass(frozen=True, slots=True)
class Weakened:
    """One test, or one file of tests where no name is given."""

    path: str
    name: str | None
    how: How


@dataclass(frozen=True, slots=True)
class _Side:
    path: str
    old: FileCases
    new: FileCases


def is_test_path(path: str, declared: Iterable[str] = ()) -> bool:
    """Whether a file belongs to the tests: by its name, its folder, or the patterns of `[paths] tests`.

    Helpers and data in a folder of tests belong to them.
    """
    named = (_FOLDER, _PYTHON, _JAVASCRIPT, _GO)
    return any(form.fullmatch(path) for form in named) or compile_globs(declared).match_file(path)


def may_hold_tests(path: str, declared: Iterable[str] = ()) -> bool:
    """Whether `find_weakened` wants to see a changed file: a test path, or any Rust file."""
    return bool(_RUST.fullmatch(path)) or is_test_path(path, declared)


def find_weakened(changes: Iterable[TestChange], declared: Iterable[str] = ()) -> tuple[Weakened, ...]:
    """Find tests that no longer do what they did, in the order of the changes.

    A test that another changed file gained under the same name has moved; it is then compared with
    that one. Nothing raises: what cannot be parsed is read by its lines.

    Args:
        changes: Every changed file for which `may_hold_tests` is true, once each.
        declared: The patterns of `[paths] tests`.
    """
    is_declared = compile_globs(declared)
    found: list[Weakened] = []
    sides: dict[str, list[_Side]] = defaultdict(list)
    order: dict[str, int] = {}
    for change in changes:
        order[change.path] = len(order)
        told = is_declared.match_file(change.path)
        known = _reader_of(change.path, is_declared=told)
        if known:
            language, read = known
            sides[language].append(_Side(change.path, *read(_cut(change.old), _cut(change.new))))
        elif told and change.old is not None and change.new is None:
            found.append(Weakened(change.path, None, How.DELETED))
    for held in sides.values():
        found += _compare(held)
    return tuple(sorted(dict.fromkeys(found), key=lambda weak: order[weak.path]))


def _reader_of(path: str, *, is_declared: bool) -> tuple[str, Reader] | None:
    """The convention of a file that can hold tests, by the language; none: its content is not read."""
    if path.endswith(".py"):
        return ("python", read_python) if is_declared or _PYTHON.fullmatch(path) else None
    if _SCRIPT.fullmatch(path):
        is_test = is_declared or _JAVASCRIPT.fullmatch(path) or _FOLDER.fullmatch(path)
        return ("javascript", both(read_javascript)) if is_test else None
    if _GO.fullmatch(path):
        return "go", both(read_go)
    return ("rust", both(read_rust)) if _RUST.fullmatch(path) else None


def _cut(text: str | None) -> str | None:
    return None if text is None else text[:MAX_CHARS]


def _compare(sides: list[_Side]) -> list[Weakened]:
    """Compare all files of one language: tests move between them."""
    fresh: dict[str, list[tuple[_Side, Case]]] = defaultdict(list)
    for side in sides:
        before = {case.name for case in side.old.cases}
        for case in side.new.cases:
            if case.name not in before:
                fresh[case.bare].append((side, case))
    return [weak for side in sides for weak in _compare_file(side, fresh)]


def _compare_file(side: _Side, fresh: dict[str, list[tuple[_Side, Case]]]) -> list[Weakened]:
    """Compare one file; what it takes from `fresh` is taken out there."""
    found = []
    if side.old.cases and side.new.cases and is_skipped_more(side.old.skips, side.new.skips):
        found.append(Weakened(side.path, None, How.SKIPPED))
    after = {case.name: case for case in side.new.cases}
    gone = []
    for case in side.old.cases:
        if case.name in after:
            found += _compare_case(case, side, after[case.name], side)
        elif fresh[case.bare]:
            place, moved = fresh[case.bare].pop(0)
            found += _compare_case(case, side, moved, place)
        else:
            gone.append(Weakened(side.path, case.name, How.DELETED))
    if len(gone) == len(side.old.cases) > 1 and side.new is NOTHING:
        gone = [Weakened(side.path, None, How.DELETED)]
    return found + gone


def _compare_case(old: Case, source: _Side, new: Case, place: _Side) -> list[Weakened]:
    """Compare a test with itself, where it is now."""
    before, after = old.skips, new.skips
    if place is not source:
        before, after = before + source.old.skips, after + place.new.skips
    if is_skipped_more(before, after):
        return [Weakened(place.path, new.name, How.SKIPPED)]
    if old.asserts and new.asserts == 0:
        return [Weakened(place.path, new.name, How.EMPTIED)]
    return []
