"""What an answer of the engine means for us.

Pure: no I/O. The wordings are those of Docker 20.10 to 28 (recorded in the tests).
"""

import re
from dataclasses import dataclass
from enum import Enum, auto

from jobs.errors import (
    EngineRefusedError,
    EngineUnavailableError,
    JobsError,
    NameTakenError,
    ObjectAbsentError,
)

NOT_FOUND = 404
CONFLICT = 409
NOT_MODIFIED = 304
TEXT_LIMIT = 400
SYSTEM_ERROR = re.compile(r"\w+Error\(\d+, '([^']+)'\)|\[Errno \d+\] ([\w ]+)")


class Meaning(Enum):
    """The few answers that are handled apart; all others are `REFUSED`."""

    ABSENT = auto()
    NAME_TAKEN = auto()
    REMOVAL_RUNNING = auto()
    NOT_RUNNING = auto()
    IN_USE = auto()
    DISK_FULL = auto()
    REFUSED = auto()
    UNREACHABLE = auto()
    SLOW = auto()


@dataclass(frozen=True, slots=True)
class DaemonAnswer:
    """One failed exchange: the HTTP status (none where no answer came) and its text."""

    status: int | None
    text: str
    timed_out: bool = False
    """No answer within the call's timeout; only where `status` is none."""


CONFLICTS = (
    ("is already in use", Meaning.NAME_TAKEN),
    ("already in progress", Meaning.REMOVAL_RUNNING),
    ("marked for removal", Meaning.REMOVAL_RUNNING),
    ("is not running", Meaning.NOT_RUNNING),
    ("in use", Meaning.IN_USE),
    ("is being used", Meaning.IN_USE),
    ("is using its referenced image", Meaning.IN_USE),
)


def classify(answer: DaemonAnswer) -> Meaning:
    """Say what the answer means; an unknown wording is `REFUSED`, never a success."""
    text = answer.text.lower()
    if answer.status is None:
        return Meaning.SLOW if answer.timed_out else Meaning.UNREACHABLE
    if answer.status == NOT_FOUND:
        return Meaning.ABSENT
    if answer.status == NOT_MODIFIED:
        return Meaning.NOT_RUNNING
    if answer.status == CONFLICT:
        for words, meaning in CONFLICTS:
            if words in text:
                return meaning
    return Meaning.DISK_FULL if "no space left on device" in text else Meaning.REFUSED


def _cause(text: str) -> str:
    """The system's own words out of a text that wraps them three times."""
    found = SYSTEM_ERROR.search(text)
    return next(group for group in found.groups() if group) if found else text


def to_error(answer: DaemonAnswer, doing: str) -> JobsError:
    """The exception for an answer; `doing` is what was asked, such as `create factory-1a-x`."""
    text = " ".join(answer.text.split())[:TEXT_LIMIT]
    match classify(answer):
        case Meaning.UNREACHABLE:
            return EngineUnavailableError(
                f"No Docker Engine answers ({_cause(text)}); start it, or point DOCKER_HOST at one."
            )
        case Meaning.SLOW:
            return EngineUnavailableError(
                f"The Docker Engine did not answer in time ({doing}); see whether it is overloaded."
            )
        case Meaning.ABSENT:
            return ObjectAbsentError(f"The Docker Engine knows no such object ({doing}): {text}")
        case Meaning.NAME_TAKEN:
            return NameTakenError(f"The name is taken by another object ({doing}): {text}")
        case Meaning.DISK_FULL:
            return EngineRefusedError(
                f"The disk of the Docker Engine is full ({doing}): free some of it, then run again."
            )
        case Meaning.REMOVAL_RUNNING | Meaning.NOT_RUNNING | Meaning.IN_USE | Meaning.REFUSED:
            return EngineRefusedError(f"The Docker Engine refused to {doing}: {text}")
