"""What a prompt is made of.

Pure: no I/O.
"""

from dataclasses import dataclass

from instrument.schema.job import CommandEnd, Decision
from instrument.schema.state import Finding, Ruling, Tried
from jobs.order import Command


@dataclass(frozen=True, slots=True)
class FailedCheck:
    """A command that failed on the coder's last work."""

    end: CommandEnd
    tail: str
    """The end of its output."""
    gate: bool = False
    """It failed after the rebase, on the commit that was to land."""


@dataclass(frozen=True, slots=True)
class SizedPath:
    """A changed path with what it weighs now; 0 where it was removed."""

    path: str
    """From the root of the repository; a lone surrogate stands for a byte that is no UTF-8."""
    size_bytes: int
    is_withheld: bool = False
    """Whether the reviewer's tree has the base's version: an instruction file for agents."""


@dataclass(frozen=True, slots=True)
class CoderMaterials:
    """For one coder round; tuples are oldest first and may be empty."""

    task: str
    """The task file's text in force."""
    round: int
    checks: tuple[Command, ...]
    """What the program will run on the result."""
    files: tuple[str, ...]
    allow: tuple[str, ...] = ()
    """What the task or a person allows beside `files`, protected or not."""
    protected: tuple[str, ...] = ()
    failed: tuple[FailedCheck, ...] = ()
    findings: tuple[Finding, ...] = ()
    """The open must-fixes, and what else the last review said."""
    rulings: tuple[Ruling, ...] = ()
    decisions: tuple[Decision, ...] = ()
    task_diff: str = ""
    """What changed in the task file since the round before."""
    conflict: str = ""
    """The coder's own earlier diff, which no longer fits the base: to be made again on this tree."""


@dataclass(frozen=True, slots=True)
class ReviewerMaterials:
    """For one review; tuples are oldest first and may be empty."""

    task: str
    round: int
    base: str
    """The commit that the candidate stands on."""
    token: str
    checks: tuple[CommandEnd, ...]
    """How each check ended on exactly this candidate."""
    diff: str
    """Of whole files only; what did not fit is in `left_out`."""
    paths: tuple[SizedPath, ...]
    """Every changed path."""
    left_out: tuple[str, ...] = ()
    """Changed paths whose difference is not in `diff`."""
    rulings: tuple[Ruling, ...] = ()
    closed: tuple[Finding, ...] = ()
    """Points that a ruling settled."""
    findings: tuple[Finding, ...] = ()
    """What the last review raised and no ruling closed."""
    fixed: tuple[Finding, ...] = ()
    """What earlier reviews raised, and the last one did not raise again."""
    changed_since: tuple[str, ...] = ()
    """From the second review on: what changed since the last one, a path with its lines each."""
    decisions: tuple[Decision, ...] = ()
    summary: str = ""
    """The coder's own."""
    task_diff: str = ""
    compared: tuple[str, ...] = ()
    """How the base's own tests ended on the candidate where it touches tests, a sentence each."""
    flaky: tuple[str, ...] = ()
    """Checks of this candidate that failed once and then passed, by name."""
    declared: str = ""
    """Why the coder says that no change is needed: then the tree is the base, and there is no diff."""


@dataclass(frozen=True, slots=True)
class ResolverMaterials:
    """For one look into a stop; tuples are oldest first and may be empty."""

    task: str
    base: str
    """The commit that the work stands on."""
    stop: tuple[str, ...]
    """The stop's name, who would have to act, and what is particular to it, a line each."""
    leads: str
    """Which stage a ruling leads to."""
    asked: str = ""
    """What the coder wrote when it ended, where it stopped the task by that."""
    failed: tuple[FailedCheck, ...] = ()
    findings: tuple[Finding, ...] = ()
    rulings: tuple[Ruling, ...] = ()
    decisions: tuple[Decision, ...] = ()
    tried: tuple[Tried, ...] = ()
    """At stops of this kind."""
