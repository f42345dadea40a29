"""Tests of `cargo test`, found by their attributes; they live among the code.

Pure: no I/O.
"""

import re
from dataclasses import dataclass

from loop.weakening.cases import ALWAYS, Case, FileCases, number_repeats
from loop.weakening.masking import RUST, Masked, mask

_ITEM = re.compile(
    r"\s*(?:pub(?:\s*\([^)]*\))?\s+)?(?:(?:async|unsafe|const)\s+|extern\s+\"[^\"]*\"\s+)*(?P<kind>fn|mod)\s+(?P<name>\w+)"
)
_ATTRIBUTE = re.compile(r"#\s*\[")
_PLAIN_MODULE = re.compile(r"(?<![\w#\]])mod\s+(?P<name>\w+)\s*\{")
_TEST = re.compile(r"(?:\w+\s*::\s*)*(?:test|rstest|test_case|quickcheck|test_log|wasm_bindgen_test)\b")
_LOOK = re.compile(
    r"\b\w*(?:assert|panic|unreachable)\w*\s*!|\.\s*(?:unwrap|expect)\w*\s*\(|\?\s*;|\bcheck\w*\s*\("
)

MAX_DEPTH = 50


@dataclass(frozen=True, slots=True)
class _Item:
    """A function or a module with its attributes."""

    start: int
    end: int
    kind: str
    name: str
    attributes: tuple[str, ...]


def read_rust(text: str) -> FileCases:
    """Read the tests of one file."""
    masked = mask(text, RUST)
    cases = []
    modules: list[_Item] = []
    until = 0
    for item in _items(masked):
        if item.start < until:
            continue  # within a test there are none
        while modules and modules[-1].end <= item.start:
            modules.pop()
        if item.kind == "mod":
            modules = [*modules[1 - MAX_DEPTH :], item]
        elif any(_TEST.match(attribute) for attribute in item.attributes):
            until, holders = item.end, [*modules, item]
            marks = tuple(mark for holder in holders for mark in _skips(holder))
            body = masked.code[item.start : item.end]
            looks = len(_LOOK.findall(body)) + sum(a.startswith("should_panic") for a in item.attributes)
            cases.append(Case("::".join(holder.name for holder in holders), item.name, marks, looks))
    return FileCases(number_repeats(cases))


def _items(masked: Masked) -> list[_Item]:
    """Functions that have attributes and all modules, in their order."""
    found = {}
    place = 0
    while first := _ATTRIBUTE.search(masked.code, place):
        attributes, place = _attributes(masked, first)
        item = _ITEM.match(masked.code, place)
        if item:
            end = _end(masked, item.end())
            found[first.start()] = _Item(first.start(), end, item["kind"], item["name"], attributes)
    attributed = {item.end for item in found.values() if item.kind == "mod"}
    for plain in _PLAIN_MODULE.finditer(masked.code):
        end = masked.end_of(plain.end() - 1)
        if end not in attributed:
            found[plain.start()] = _Item(plain.start(), end, "mod", plain["name"], ())
    return [found[start] for start in sorted(found)]


def _attributes(masked: Masked, first: re.Match[str]) -> tuple[tuple[str, ...], int]:
    """The attributes that stand in a row, without their brackets, and the place after the last."""
    attributes = []
    match: re.Match[str] | None = first
    place = first.end()
    blank = re.compile(r"\s*")
    while match:
        place = masked.end_of(match.end() - 1)
        attributes.append(" ".join(masked.text[match.end() : place - 1].split()))
        after = blank.match(masked.code, place)
        match = _ATTRIBUTE.match(masked.code, after.end() if after else place)
    return tuple(attributes), place


def _end(masked: Masked, place: int) -> int:
    """The end of an item: of its braces, or its semicolon."""
    stop = re.compile(r"[{;]").search(masked.code, place)
    if stop is None:
        return len(masked.code)
    return masked.end_of(stop.start()) if stop[0] == "{" else stop.end()


def _skips(item: _Item) -> list[str]:
    """`#[ignore]` always holds a test back, a condition other than `test` sometimes."""
    skips = []
    for attribute in item.attributes:
        word = re.match(r"\w*", attribute)
        name = word[0] if word else ""
        if name == "ignore":
            skips.append(ALWAYS)
        elif (name == "cfg_attr" and "ignore" in attribute) or (
            name == "cfg" and attribute.replace(" ", "") != "cfg(test)"
        ):
            skips.append(attribute)
    return skips
