"""What a report says: `Report` is the one object of `instrument report --json`.

Amounts are integer micro-dollars and times integer milliseconds; an unknown figure
is null, never 0. Pure: no I/O.
"""

from typing import Literal

from pydantic import NonNegativeInt

from instrument.schema.base import Frozen
from instrument.schema.state import Grants
from instrument.schema.usage import Usage
from instrument.schema.vocabulary import (
    DoneReason,
    EffectKind,
    NoticeKind,
    Purpose,
    Role,
    RuntimeName,
    Severity,
    Stage,
    StopReason,
)


class Agent(Frozen):
    """One program and model that worked on a task."""

    role: Role
    runtime: RuntimeName | None
    version: str | None
    version_pinned: str | None
    """The one that our images are made with, where another one ran."""
    model_asked: str | None
    model_answered: str | None
    differs: bool
    """Another model answered than was asked; an alias, and a date behind the id, are no difference."""


class JobLine(Frozen):
    """One job."""

    run: str
    """Name of the task's folder, such as `api-007` or `api-007.old-1`."""
    key: str
    folder: str | None
    effect: EffectKind | None
    role: Role
    round: NonNegativeInt
    collected: bool
    """False: its model calls are on record, its end is not."""
    lost: bool
    calls: NonNegativeInt
    usage: Usage
    cost_microusd: NonNegativeInt
    lower_bound: bool
    duration_ms: NonNegativeInt


class OpenFinding(Frozen):
    """A remark of the last review that nobody closed; a model's words, to be shown as text only."""

    id: str
    severity: Severity
    path: str
    line: int | None
    text: str


class Row(Frozen):
    """One task; an unknown figure is null, and `missing` says why."""

    task_id: str
    purpose: Purpose | None
    runs: NonNegativeInt
    """1, and one more for each restart; figures below are over all of them."""
    stage: Stage | None
    stop: StopReason | None
    done: DoneReason | None
    lead_ms: NonNegativeInt | None
    """From the commit that made the task ready to the merge; none until then."""
    coder_rounds: NonNegativeInt | None
    review_rounds: NonNegativeInt | None
    gates: NonNegativeInt | None
    """Gate jobs begun."""
    stops: tuple[StopReason, ...]
    """In order of time, those that a person has answered included."""
    flaky: tuple[str, ...]
    """Checks that failed and then passed on the same tree, each once; where a state is unreadable,
    its own are not among them."""
    notices: dict[NoticeKind, NonNegativeInt]
    """In how many jobs each was raised; none of a kind that was in no job."""
    interventions: NonNegativeInt | None
    """What persons did for it: rulings, grants, allowances, edits of the task file."""
    grants: Grants
    """The caps that a person set, of the present run."""
    open_findings: tuple[OpenFinding, ...]
    """Of the present run's last review, in order of id; a merged task's landed as they are."""
    usage: Usage
    usage_complete: bool
    cost_microusd: NonNegativeInt | None
    lower_bound: bool
    unmetered_parts: NonNegativeInt
    job_ms: NonNegativeInt | None
    """Run time of the jobs that count for a time budget: all but the set-up's, which is kept for others."""
    agents: tuple[Agent, ...]
    jobs: tuple[JobLine, ...]
    """In order of start, earlier runs first."""
    missing: tuple[str, ...]
    """What could not be read, a sentence's clause each; empty: the figures are whole."""


class Report(Frozen):
    """All tasks of one purpose, in order of their ids."""

    schema_version: Literal[1] = 1
    purpose: Purpose | None
    """None: of every purpose."""
    tasks: NonNegativeInt
    accepted: NonNegativeInt
    """Merged; a task found to be satisfied or upstream already is none."""
    done_unmerged: NonNegativeInt
    """Ended for good with nothing to merge: satisfied or upstream already."""
    cost_microusd: NonNegativeInt | None
    """Everything found, failed rounds and tasks included; none where no task's cost is known."""
    lower_bound: bool
    """Whether any part of the cost is unmetered."""
    unmetered_parts: NonNegativeInt
    cost_per_accepted_microusd: NonNegativeInt | None
    """The cost over `accepted`, rounded up to a micro-dollar; none where nothing was accepted."""
    usage: Usage
    usage_complete: bool
    """False: tokens are missing, each bucket is a lower bound."""
    not_shown: NonNegativeInt
    """Tasks of other purposes."""
    rows: tuple[Row, ...]
