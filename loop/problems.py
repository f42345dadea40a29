"""What is wrong with a file that a person wrote: sentences with file and line.

Pure: no I/O.
"""

import difflib
from collections.abc import Iterable
from dataclasses import dataclass

SHOWN_CHARS = 60


@dataclass(frozen=True, slots=True)
class Problem:
    """One sentence that says what is wrong and what to do."""

    file: str
    line: int | None
    """Counts from 1; none where no line can be blamed."""
    text: str

    def __str__(self) -> str:
        where = self.file if self.line is None else f"{self.file}:{self.line}"
        return f"{where}: {self.text}"


class Problems(Exception):  # noqa: N818 - a person reads this name: several at once, not one error
    """Everything that is wrong at once, in order of line; exit code 2 for whoever runs this."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(sorted(problems, key=lambda p: (p.file, p.line or 0)))
        super().__init__("\n".join(str(problem) for problem in self.problems))


def show(value: str) -> str:
    """Quote a person's text within a sentence: one line, escaped, cut at 60 characters.

    A value with line breaks or control characters would otherwise forge further problems.
    """
    cut = value if len(value) <= SHOWN_CHARS else value[: SHOWN_CHARS - 1] + "…"
    return f'"{"".join(c if c.isprintable() else ascii(c)[1:-1] for c in cut)}"'


def suggest(name: str, known: Iterable[str]) -> str:
    """Return the end of a sentence about an unknown name: the nearest known one, else all of them."""
    names = sorted(known)
    if near := difflib.get_close_matches(name[:SHOWN_CHARS], names, n=1, cutoff=0.6):
        return f'; did you mean "{near[0]}"?'
    return f"; known: {', '.join(names)}" if names else "; there are none"
