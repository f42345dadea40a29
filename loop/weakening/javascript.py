"""Tests of jest, vitest, mocha and node's own runner, found by the calls that declare them.

Pure: no I/O.
"""

import re
from dataclasses import dataclass

from loop.weakening.cases import ALWAYS, Case, FileCases, number_repeats
from loop.weakening.masking import JAVASCRIPT, Masked, mask

_CALL = re.compile(
    r"(?<![\w.$])(?P<mark>[xf]?)(?P<kind>it|test|specify|describe|context|suite)(?P<more>(?:\s*\.\s*\w+)*)\s*(?=[(`])"
)
_GROUPS = frozenset({"describe", "context", "suite"})
_STEPS = frozenset(
    {"beforeEach", "afterEach", "beforeAll", "afterAll", "step", "use", "extend", "setTimeout"}
)
_OFF = frozenset({"skip", "todo", "fails", "failing", "fixme"})
_CONDITION = frozenset({"skipIf", "runIf"})
_LOOK = re.compile(r"\b(?:expect\w*|assert\w*|should|t\.\w+|fail|verify\w*|check\w*)\s*[.(`]")
_INLINE = re.compile(
    r"\b(?:this|t|ctx|context|test|it)\s*\.\s*(?:skip|todo|fixme)\s*\(|\b(?:pending|skip)\s*\("
)
_OPTION = re.compile(r"\{[^{}]*\b(?:skip|todo)\s*:\s*(?!false\b|undefined\b)")
MAX_NAME_CHARS = 200
MAX_OPTION_CHARS = 2000
MAX_DEPTH = 50


@dataclass(frozen=True, slots=True)
class _Call:
    start: int
    end: int
    name: str
    is_group: bool
    is_only: bool
    skips: tuple[str, ...]
    body: int
    """Where the arguments after the name begin."""


def read_javascript(text: str) -> FileCases:
    """Read the tests of one file."""
    masked = mask(text, JAVASCRIPT)
    cases, skips = [], []
    open_groups: list[_Call] = []
    for call in _calls(masked):
        while open_groups and open_groups[-1].end <= call.start:
            open_groups.pop()
        if call.is_only:
            skips.append(f"only {call.name}")  # every other test of the file is left out
        if call.is_group:
            open_groups = [*open_groups[1 - MAX_DEPTH :], call]
            continue
        code = masked.code[call.body : call.end]
        inline = ("inline",) * len(_INLINE.findall(code))
        marks = tuple(mark for group in open_groups for mark in group.skips)
        name = " > ".join([*(group.name for group in open_groups), call.name])
        cases.append(Case(name, call.name, (*marks, *call.skips, *inline), len(_LOOK.findall(code))))
    return FileCases(number_repeats(cases), tuple(skips))


def _calls(masked: Masked) -> list[_Call]:
    """The calls that declare something, in their order; within a test there are none."""
    found: list[_Call] = []
    until = 0
    for match in _CALL.finditer(masked.code):
        if match.start() < until:
            continue
        words = match["more"].replace(".", " ").split()
        opening, end = match.end(), _end(masked, match.end())
        skips = [ALWAYS] if match["mark"] == "x" or _OFF.intersection(words) else []
        if _STEPS.intersection(words):
            continue
        if {"each", "for"}.intersection(words) or _CONDITION.intersection(words):
            # Two calls in a row: the first has the table or the condition, the second the name.
            if _CONDITION.intersection(words):
                skips.append(f"{words[-1]} {masked.text[opening:end]}")
            elif not masked.text[opening + 1 : end - 1].strip(" \n\t[]"):
                skips.append(ALWAYS)
            after = re.compile(r"\s*(?=\()").match(masked.code, end)
            if after is None:
                continue
            opening, end = after.end(), _end(masked, after.end())
        if masked.code[opening] != "(":
            continue
        named = _name(masked, opening, end)
        if named is None:
            continue
        name, body = named
        if _OPTION.match(masked.code[body : min(end, body + MAX_OPTION_CHARS)].lstrip(" ,\n\t")):
            skips.append(ALWAYS)
        is_only = match["mark"] == "f" or "only" in words
        is_group = match["kind"] in _GROUPS
        until = until if is_group else end
        found.append(_Call(match.start(), end, name, is_group, is_only, tuple(skips), body))
    return found


def _end(masked: Masked, opening: int) -> int:
    """The place after a call's arguments or after a template."""
    if masked.code[opening] == "`":
        return masked.code.find("`", opening + 1) + 1 or len(masked.code)
    return masked.end_of(opening)


def _name(masked: Masked, opening: int, end: int) -> tuple[str, int] | None:
    """The first argument, a text without its quotes, and where it ends; none: there are no arguments."""
    stop = opening + 1
    while stop < end - 1 and masked.code[stop] != ",":
        stop = masked.end_of(stop) if masked.code[stop] in "([{" else stop + 1
    written = " ".join(masked.text[opening + 1 : stop].split())
    if not written:
        return None
    quoted = len(written) > 1 and written[0] in "'\"`" and written[0] == written[-1]
    return (written[1:-1] if quoted else written)[:MAX_NAME_CHARS], stop
