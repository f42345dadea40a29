"""Secrets on the added lines of a diff, found by Kingfisher's rules for known kinds of keys.

Limits: reads its own rules from the package; no network. The compiled rules, and nothing else, are kept
in the user's cache folder. A value is compared in memory and never kept.

Of the detectors that install as a library: detect-secrets has had no release since May 2024, and its
living forks lack kinds that matter here (GitLab, Anthropic, fine-grained GitHub tokens) and need a
regular expression a line. Kingfisher is maintained, has some 490 rules, a wheel for every platform
this runs on, and reads 40 MB in a second (looked at on 2026-11-30).

Switched on: the rules of high and medium confidence, each bound to a known kind of key, also where the
key is encoded in Base64. Left off: low confidence, and helper rules that find ids beside keys. No rule
goes by entropy alone, so hashes and lock files are quiet. Comments that ask to be let off are not heard:
an agent can write one. Nor does a file's name excuse it.
"""

import re
from array import array
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import as_file, files
from itertools import groupby

from kingfisher_sdk import Rules, Scanner

from loop.diff_lines import read_lines

MAX_HITS = 100
WINDOW_BYTES = 64 * 1024
"""Some rules take a time that grows with the square of a hostile text, so texts are cut."""
OVERLAP_BYTES = 8 * 1024
"""Longer than any key that spans lines."""
WINDOW_TIMEOUT_S = 10.0
"""A hundred times what the worst known window takes."""
NOT_SCANNED = "not_scanned"
_HELPERS_THAT_COUNT = frozenset({"betterleaks.aws-secret-access-key"})
_SPACE = re.compile(rb"\s+")
_ESCAPE = re.compile(rb'\\[ntr"\\/]')
_LETTERS = re.compile(rb"[A-Za-z0-9+/=_.~-]")
"""What secrets are made of; quotes, commas and backslashes around and within them stay."""


@dataclass(frozen=True, slots=True, order=True)
class SecretHit:
    """Where a secret was added; never what it is."""

    path: str
    line: int
    """In the new file, from 1; where the secret begins, or its first added line."""
    kind: str
    """The rule's name, such as `github-pat`; `not_scanned` where the detector did not end in time."""


@dataclass(slots=True)
class _Text:
    """One side of some hunks as a text, with what is needed to find lines again."""

    path: str
    data: bytearray = field(default_factory=bytearray, repr=False)
    starts: "array[int]" = field(default_factory=lambda: array("Q"))
    numbers: "array[int]" = field(default_factory=lambda: array("Q"))
    counted: bytearray = field(default_factory=bytearray)

    def add(self, content: bytes, number: int, *, counts: bool) -> None:
        self.starts.append(len(self.data))
        self.numbers.append(number)
        self.counted.append(counts)
        self.data += content + b"\n"

    def counted_line(self, start: int, end: int) -> int | None:
        """The number of the first line between two offsets that counts; none: none does."""
        first = max(0, bisect_right(self.starts, start) - 1)
        last = max(first + 1, bisect_right(self.starts, max(start, end - 1)))
        return next((self.numbers[n] for n in range(first, last) if self.counted[n]), None)


def scan_added(diff: bytes) -> tuple[SecretHit, ...]:
    """The first 100 secrets on added lines, by path and line; empty: none.

    A key counts where at least one of its lines is added, so lines of context are read as well. A key
    that the diff takes away elsewhere is not new: a moved file would else stop a task. Git's binary
    parts cannot be read; a diff made with `--text` has none.
    """
    found: list[tuple[SecretHit, bytes]] = []
    for text in _texts(diff, b"+"):
        found += _scan(text, MAX_HITS - len(found))
        if len(found) >= MAX_HITS:
            break
    if not found:
        return ()
    there = {value for text in _texts(diff, b"-") for _, value in _scan(text, None) if value}
    return tuple(sorted({hit for hit, value in found if value not in there}))


def redact(data: bytes) -> bytes:
    """The bytes with every secret starred out, of the same length; JSON stays JSON.

    What the detector cannot read in time is starred out whole.
    """
    out = bytearray(data)
    for begin in range(0, len(data), WINDOW_BYTES - OVERLAP_BYTES):
        window = data[begin : begin + WINDOW_BYTES]
        for start, stop in _spans(window):
            out[begin + start : begin + stop] = _LETTERS.sub(b"*", data[begin + start : begin + stop])
    return bytes(out)


def _spans(window: bytes) -> list[tuple[int, int]]:
    try:
        # JSON writes a line feed as two letters, the second of which would hide where a key begins.
        findings = _scanner().scan(b"\n" + _ESCAPE.sub(b"  ", window), timeout=WINDOW_TIMEOUT_S)
    except TimeoutError:
        return [(0, len(window))]
    return [
        (finding.location["start_offset"] - 1, finding.location["end_offset"] - 1)
        for finding in findings
        if finding.visible or finding.rule_id in _HELPERS_THAT_COUNT
    ]


@cache
def _scanner() -> Scanner:
    """Make the scanner, once a process: five seconds, or half a one with the library's cache of rules."""
    with as_file(files("loop") / "secret_rules.yml") as own:
        rules = Rules([own], confidence="medium")
    return Scanner(rules, redact=True)


def _texts(diff: bytes, sign: bytes) -> Iterator[_Text]:
    """One side of the diff, a text a path that has lines that count: those with `sign`."""
    for path, lines in groupby(read_lines(diff), key=lambda line: line.path):
        text, hunk = _Text(path), 0
        for line in lines:
            if line.hunk != hunk:
                text.add(b"", 0, counts=False)
                hunk = line.hunk
            if line.sign in (sign, b" "):
                text.add(line.content, line.number, counts=line.sign == sign)
        if any(text.counted):
            yield text


def _scan(text: _Text, most: int | None) -> list[tuple[SecretHit, bytes]]:
    """Hits with their values, white space aside; of several rules for one place, the surest."""
    best: dict[tuple[int, int], tuple[bool, SecretHit, bytes]] = {}
    for begin, end in _windows(text):
        try:
            # A byte order mark in front would make the detector see UTF-16: a line feed keeps it out.
            findings = _scanner().scan(b"\n" + text.data[begin:end], timeout=WINDOW_TIMEOUT_S)
        except TimeoutError:
            line = text.counted_line(begin, end)
            if line is not None:
                best[(begin, end)] = (True, SecretHit(text.path, line, NOT_SCANNED), b"")
            continue
        for finding in findings:
            start, stop = (begin - 1 + finding.location[side] for side in ("start_offset", "end_offset"))
            line = text.counted_line(start, stop)
            if line is None or not (finding.visible or finding.rule_id in _HELPERS_THAT_COUNT):
                continue
            hit = SecretHit(text.path, line, finding.rule_id.partition(".")[2])
            rank = (finding.confidence == "high", hit, _SPACE.sub(b"", text.data[start:stop]))
            best[(line, start)] = max(best.get((line, start), rank), rank)
        if most is not None and len(best) >= most:
            break
    return [(hit, value) for _, hit, value in best.values()][:most]


def _windows(text: _Text) -> Iterator[tuple[int, int]]:
    """Cuts of the text, which overlap; at the starts of lines where lines are short."""
    begin, size = 0, len(text.data)
    while begin + WINDOW_BYTES < size:
        end = _line_start(text, begin + WINDOW_BYTES)
        yield begin, end
        begin = _line_start(text, end - OVERLAP_BYTES)
    yield begin, size


def _line_start(text: _Text, offset: int) -> int:
    """The start of the line at an offset; the offset itself within a long line."""
    start = text.starts[bisect_right(text.starts, offset) - 1]
    return start if offset - start < OVERLAP_BYTES else offset
