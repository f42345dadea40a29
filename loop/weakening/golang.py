"""Tests of `go test`, found by the functions that it runs.

Pure: no I/O.
"""

import re
from itertools import zip_longest

from loop.weakening.cases import ALWAYS, Case, FileCases, number_repeats
from loop.weakening.masking import GO, mask

_FUNCTION = re.compile(
    r"^func\s+(?:\(\s*\w*\s*\*?(?P<owner>\w+)[^)]*\)\s*)?(?P<name>(?:Test|Fuzz|Example|Benchmark)(?![a-z])\w*)\s*\(",
    re.MULTILINE,
)
_SKIP = re.compile(r"\.\s*(?:Skip|Skipf|SkipNow)\s*\(")
_LOOK = re.compile(
    r"\.\s*(?:Error|Errorf|Fatal|Fatalf|Fail|FailNow|Run|Fuzz)\s*\(|\b(?:assert|require|is|qt|suite|s)\.\w+\s*\("
    r"|\w\(\s*(?:t|tb|f|b)\b"
)
_TAG = re.compile(r"^//go:build\s+(.*)$|^// \+build\s+(.*)$", re.MULTILINE)
_PACKAGE = re.compile(r"^package\s", re.MULTILINE)


def read_go(text: str) -> FileCases:
    """Read the tests of one file; a build tag is a mark of all of them."""
    masked = mask(text, GO)
    cases = []
    found = list(_FUNCTION.finditer(masked.code))
    for match, after in zip_longest(found, found[1:]):
        stop = after.start() if after else len(masked.code)
        opening = masked.code.find("{", masked.end_of(match.end() - 1), stop)
        body = masked.code[opening : min(stop, masked.end_of(opening))] if opening >= 0 else ""
        name = f"{match['owner']}.{match['name']}" if match["owner"] else match["name"]
        # An example is checked by the comment that tells its output.
        looks = None if match["name"].startswith(("Example", "Benchmark")) else len(_LOOK.findall(body))
        cases.append(Case(name, match["name"], _skips(body), looks))
    package = _PACKAGE.search(masked.code)
    head = text[: package.start()] if package else ""
    return FileCases(number_repeats(cases), tuple(tag[0] or tag[1] for tag in _TAG.findall(head)))


def _skips(body: str) -> tuple[str, ...]:
    """A skip that no braces hold stops the test always; any other depends on something."""
    return tuple(
        ALWAYS if body.count("{", 0, call.start()) - body.count("}", 0, call.start()) == 1 else "skip"
        for call in _SKIP.finditer(body)
    )
