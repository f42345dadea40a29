"""The effects that `plan` can ask for, one class a kind.

Pure: no I/O.
"""

from typing import Annotated, Literal

from pydantic import Field, NonNegativeInt, TypeAdapter

from instrument.schema.base import Frozen
from instrument.schema.state import AgentChoice, Candidate, Landing, PendingDiff
from instrument.schema.vocabulary import EffectKind, LadderStep, Role


class EffectBase(Frozen):
    """What every effect has: the key under which performing twice finds what is there."""

    key: str


class FindBase(EffectBase):
    """Fetch the branch's tips and choose the task's base commit."""

    kind: Literal[EffectKind.FIND_BASE] = EffectKind.FIND_BASE


class SetUp(EffectBase):
    """Build or find the image that jobs on this base start from."""

    kind: Literal[EffectKind.SET_UP] = EffectKind.SET_UP
    base: str


class CommandsEffect(EffectBase):
    """A job of shell commands on one commit."""

    round: NonNegativeInt
    commit: str
    image: str
    deadline_ms: NonNegativeInt
    only: tuple[str, ...] = ()
    """Names of the checks to run once more; empty: all of them."""


class Baseline(CommandsEffect):
    """Run every check once on the base: facts before money."""

    kind: Literal[EffectKind.BASELINE] = EffectKind.BASELINE


class Check(CommandsEffect):
    """Run the task's checks on the candidate."""

    kind: Literal[EffectKind.CHECK] = EffectKind.CHECK


class CompareTests(CommandsEffect):
    """Run the checks on the candidate with the base's test files restored."""

    kind: Literal[EffectKind.COMPARE_TESTS] = EffectKind.COMPARE_TESTS
    base: str


class Gate(CommandsEffect):
    """Run the repo's gate and the task's acceptance on the very commit that lands."""

    kind: Literal[EffectKind.GATE] = EffectKind.GATE


class AgentEffect(EffectBase):
    """A job in which an agent works."""

    round: NonNegativeInt
    start: str
    """The commit whose tree the agent gets."""
    image: str
    agent: AgentChoice
    deadline_ms: NonNegativeInt
    budget_microusd: NonNegativeInt | None
    """What is left for this job; none: no limit."""


class Implement(AgentEffect):
    """A coder's round."""

    kind: Literal[EffectKind.IMPLEMENT] = EffectKind.IMPLEMENT


class Review(AgentEffect):
    """A reviewer's round."""

    kind: Literal[EffectKind.REVIEW] = EffectKind.REVIEW
    base: str
    token: str
    """Marks the verdict block; 16 hex digits that nobody but this review's prompt knows."""


class Resolve(AgentEffect):
    """Ask a model once, in a person's stead, what becomes of a stop."""

    kind: Literal[EffectKind.RESOLVE] = EffectKind.RESOLVE
    base: str
    step: LadderStep


class CommitCandidate(EffectBase):
    """Prove a coder's diff and make it the candidate."""

    kind: Literal[EffectKind.COMMIT_CANDIDATE] = EffectKind.COMMIT_CANDIDATE
    base: str
    n: NonNegativeInt
    pending: PendingDiff


class Rebase(EffectBase):
    """Make the commit that lands, on the branch's present tip."""

    kind: Literal[EffectKind.REBASE] = EffectKind.REBASE
    n: NonNegativeInt
    candidate: Candidate


class Merge(EffectBase):
    """Move the branch to exactly the gated commit."""

    kind: Literal[EffectKind.MERGE] = EffectKind.MERGE
    landing: Landing


Effect = Annotated[
    FindBase
    | SetUp
    | Baseline
    | Implement
    | CommitCandidate
    | Check
    | CompareTests
    | Review
    | Rebase
    | Gate
    | Merge
    | Resolve,
    Field(discriminator="kind"),
]
EFFECT: TypeAdapter[Effect] = TypeAdapter(Effect)

ROLES: dict[EffectKind, Role] = {
    EffectKind.SET_UP: Role.SETUP,
    EffectKind.BASELINE: Role.CHECK,
    EffectKind.IMPLEMENT: Role.CODER,
    EffectKind.CHECK: Role.CHECK,
    EffectKind.COMPARE_TESTS: Role.CHECK,
    EffectKind.REVIEW: Role.REVIEWER,
    EffectKind.GATE: Role.GATE,
    EffectKind.RESOLVE: Role.RESOLVER,
}
"""The role of each job effect."""

FOLDER_LABELS: dict[EffectKind, str] = {
    EffectKind.SET_UP: "setup",
    EffectKind.BASELINE: "baseline",
    EffectKind.IMPLEMENT: "coder",
    EffectKind.CHECK: "check",
    EffectKind.COMPARE_TESTS: "compare",
    EffectKind.REVIEW: "reviewer",
    EffectKind.GATE: "gate",
    EffectKind.RESOLVE: "resolver",
}
"""The word in a job's folder name, such as `0002-coder-1`."""
