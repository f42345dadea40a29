"""What one check comes to, in words.

Pure: no I/O.
"""

from dataclasses import dataclass
from enum import StrEnum, unique


@unique
class State(StrEnum):
    """How a check ends."""

    OK = "ok"
    NOTE = "note"
    """A run works; here is something to know about it."""
    FAILED = "failed"
    """A run would not begin, or would stop."""
    SKIPPED = "skipped"
    """What it looks at is absent by choice, or something before it failed."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One check's end."""

    state: State
    found: str
    """What is there; of a skipped one the reason."""
    mend: str = ""
    """What to do about it; empty where there is nothing to do."""

    @property
    def is_passed(self) -> bool:
        """Whether a check that needs this one can be done."""
        return self.state in (State.OK, State.NOTE)


def ok(found: str) -> Finding:
    """All is well."""
    return Finding(State.OK, found)


def note(found: str, mend: str = "") -> Finding:
    """All is well enough for a run."""
    return Finding(State.NOTE, found, mend)


def failed(found: str, mend: str) -> Finding:
    """A run would not begin, or would stop."""
    return Finding(State.FAILED, found, mend)


def skipped(why: str, mend: str = "") -> Finding:
    """Not looked at, which is no fault."""
    return Finding(State.SKIPPED, why, mend)
