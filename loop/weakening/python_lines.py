"""Tests in Python that does not parse, read line by line.

Pure: no I/O. Knows names, decorators and skipping calls, not what a test looks at.
"""

import re

from loop.weakening.cases import Case, FileCases, number_repeats

_CLASS = re.compile(r"class (\w+)")
_TEST = re.compile(r"(\s*)(?:async )?def (test\w*)")
_MARK = re.compile(r"\s*@[\w.]*\b(skip\w*|xfail)\b")
_CALL = re.compile(r"\s+(?:raise )?[\w.]*\b(skip|skipTest|SkipTest|xfail)\(")


def read_lines(text: str) -> FileCases:
    """Read the tests of a text that is no valid Python."""
    cases: list[Case] = []
    parent = ""
    marks: list[str] = []
    skips: list[str] = []
    for line in text.split("\n"):
        if held := _CLASS.match(line):
            parent, marks, skips = held[1], [], marks
        elif test := _TEST.match(line):
            inside = [parent] if test[1] and parent else []
            cases.append(Case("::".join([*inside, test[2]]), test[2], (*(skips if inside else []), *marks)))
            marks = []
        elif mark := _MARK.match(line):
            marks.append(mark[1])
        elif (call := _CALL.match(line)) and cases:
            last = cases.pop()
            cases.append(Case(last.name, last.bare, (*last.skips, call[1])))
        elif line and not line[0].isspace() and not line.startswith(("@", ")", "#")):
            marks = []
    return FileCases(number_repeats(cases))
