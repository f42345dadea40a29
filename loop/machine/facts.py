"""What performing an effect found out; facts carry the key that they answer.

Pure: no I/O.
"""

from enum import StrEnum, unique
from typing import Annotated, Literal

from pydantic import AwareDatetime, Field, TypeAdapter

from instrument.schema.base import Frozen
from instrument.schema.job import JobEnd
from instrument.schema.state import Candidate, Finding, Landing, Terms


class FactsBase(Frozen):
    """What all facts have."""

    key: str


class BaseFacts(FactsBase):
    """The base that was chosen, or what speaks against spending anything."""

    kind: Literal["base"] = "base"
    base: str
    terms: Terms
    ready_utc: AwareDatetime | None = None
    unpriced: tuple[str, ...] = ()
    """Model ids without a known price; empty: all known."""
    provider: Literal["ok", "limited", "denied", "failed"] = "ok"
    detail: str = ""


class SetupFacts(FactsBase):
    """The image, or why there is none."""

    kind: Literal["setup"] = "setup"
    image: str | None
    detail: str = ""
    folder: str | None = None
    end: JobEnd | None = None
    """Of the job that ran the commands; none where none had to run."""


class JobFacts(FactsBase):
    """How a job with commands, or a coder's, ended."""

    kind: Literal["job"] = "job"
    end: JobEnd


class ReviewFacts(FactsBase):
    """How a review ended and what it says."""

    kind: Literal["review"] = "review"
    end: JobEnd
    fault: str | None = None
    """Why there is no verdict; none where there is one."""
    findings: tuple[Finding, ...] = ()
    """Of the verdict, with the program's ids, less what was dropped."""
    dropped: int = 0
    """Must-fixes that repeat a ruled point without new evidence."""


class ResolveFacts(FactsBase):
    """How a model's answer to a stop ended: with a ruling, or handed up."""

    kind: Literal["resolve"] = "resolve"
    end: JobEnd
    ruling: str = ""
    """Empty: it ruled nothing that can be used."""
    handed_up: str = ""
    """Why not, in a few lines; empty where it ruled."""


@unique
class CandidateProblem(StrEnum):
    """Why a proven or unproven diff is no candidate."""

    OUT_OF_SCOPE = "out_of_scope"
    PROTECTED = "protected"
    NESTED = "nested"
    UNPROVEN = "unproven"
    EMPTY = "empty"
    WEAKENED = "weakened"
    SECRET = "secret"  # noqa: S105 - a problem's name
    SUBMODULE = "submodule"
    FILTER = "filter"


class CandidateFacts(FactsBase):
    """The candidate, or what is wrong with the diff."""

    kind: Literal["candidate"] = "candidate"
    candidate: Candidate | None = None
    problem: CandidateProblem | None = None
    details: tuple[str, ...] = ()


class RebaseFacts(FactsBase):
    """The landing commit, or why there is none."""

    kind: Literal["rebase"] = "rebase"
    onto: str
    """The branch's tip that the rebase was tried on."""
    landing: Landing | None = None
    candidate: Candidate | None = None
    """The candidate on the new base; the same one where the base has not moved."""
    terms: Terms | None = None
    """Of the new base; none where it has not moved."""
    conflicts: tuple[str, ...] = ()


class MergeFacts(FactsBase):
    """What became of the push and the local branch."""

    kind: Literal["merge"] = "merge"
    result: Literal["merged", "moved", "refused"]
    details: tuple[str, ...] = ()


class EngineFacts(FactsBase):
    """Our side could not do the effect: nothing is known of the agent's work."""

    kind: Literal["engine"] = "engine"
    detail: str


class CancelledFacts(FactsBase):
    """A person ended the attempt; only what it had cost is known."""

    kind: Literal["cancelled"] = "cancelled"
    end: JobEnd | None
    signal: int


Facts = Annotated[
    BaseFacts
    | SetupFacts
    | JobFacts
    | ReviewFacts
    | ResolveFacts
    | CandidateFacts
    | RebaseFacts
    | MergeFacts
    | EngineFacts,
    Field(discriminator="kind"),
]
FACTS: TypeAdapter[Facts] = TypeAdapter(Facts)
