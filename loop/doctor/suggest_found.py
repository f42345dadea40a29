"""What the files of a repository say about how it is set up and checked: the words of `--suggest`.

Pure: no I/O.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum, IntEnum

MAX_RUN_CHARS = 600


class Part(Enum):
    """What a command is for; the value is the name of its check."""

    SETUP = "setup"
    BUILD = "build"
    """Before the tests of the same CI job."""
    QUICK = "quick"
    """The part of the tests that a working person runs."""
    TEST = "test"
    LINT = "lint"
    FORMAT = "format"
    TYPES = "types"
    WHOLE = "check"
    """A target that runs several of the others."""


class Rank(IntEnum):
    """Whose word it is; the lowest one found decides."""

    CI = 0
    TARGET = 1
    """A name that people type: of a Makefile, of package.json."""
    GUESS = 2
    """What is usual where such a file lies."""
    NEEDED = 3
    """What another command cannot do without."""


@dataclass(frozen=True, slots=True)
class Found:
    """One command and where it comes from."""

    part: Part
    run: str
    file: str
    line: int
    rank: Rank
    inputs: tuple[str, ...] = ()
    """Of a set-up command: the files that it reads."""

    @property
    def where(self) -> str:
        """`Makefile:12`."""
        return f"{self.file}:{self.line}"


@dataclass(frozen=True, slots=True)
class Image:
    """The base that a repository's language needs."""

    name: str
    file: str
    line: int


@dataclass(frozen=True, slots=True)
class Note:
    """A sentence for the person, for what no command of ours can do."""

    text: str


Fact = Found | Image | Note
Files = Mapping[str, str]
"""Paths of the repository to texts; a file that is there but cannot be read has an empty one."""
Reader = Callable[[Files], Iterable[Fact]]


def line_of(text: str, wanted: str) -> int:
    """The first line that holds `wanted`, from 1; 1 where none does."""
    index = text.find(wanted)
    return 1 if index < 0 else 1 + text.count("\n", 0, index)
