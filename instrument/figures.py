"""What a report says: `Report` is the one object of `instrument report --json`.

Amounts are integer micro-dollars and times integer milliseconds; an unknown figure
is null, never 0. Pure: no I/O.
"""

from typing import Literal

from pydantic import AwareDatetime, NonNegativeInt

from instrument.parts import Part
from instrument.planner.figures import Planning
from instrument.schema.base import Frozen
from instrument.schema.grants import Grants
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
    WaitedFor,
)

Intervention = Literal["ruling", "grant", "allow", "edit", "restart", "auto_merge"]
"""What a person did for a task."""
Kill = Literal[
    "lost", "memory", "deadline", "disk", "no_progress", "hung_at_end", "no_first_call", "sidecar_missing"
]
"""Why a job was ended, or gone: with the engine, by a limit, by the watch."""


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


class Held(Frozen):
    """A wait for a person's word: a phase's gate, or a hold and its release."""

    what: WaitedFor
    duration_ms: NonNegativeInt
    who: str
    decided_utc: AwareDatetime | None
    released_by: str
    released_utc: AwareDatetime | None


class Row(Frozen):
    """One task; an unknown figure is null, and `missing` says why."""

    task_id: str
    repo: str | None
    purpose: Purpose | None
    at_utc: AwareDatetime | None
    """When it belongs into a span of time: its end, else the last line of its record."""
    runs: NonNegativeInt
    """1, and one more for each restart; figures below are over all of them."""
    stage: Stage | None
    stop: StopReason | None
    done: DoneReason | None
    kept: bool | None
    """Whether what was merged has not been reverted since; none: nothing was merged, or nobody has looked."""
    lead_ms: NonNegativeInt | None
    """From the commit that made the task ready to the merge; none until then."""
    times: dict[Part, int]
    """Milliseconds by what they went to, without zeros: of a merged task they add up to `lead_ms`, of any
    other they end with its record."""
    answers_ms: tuple[NonNegativeInt, ...]
    """From each answered stop to what a person did about it."""
    held: tuple[Held, ...]
    """In order of time, those alone of which is known whose word they were."""
    coder_rounds: NonNegativeInt | None
    review_rounds: NonNegativeInt | None
    gates: NonNegativeInt | None
    """Gate jobs begun."""
    stops: tuple[StopReason, ...]
    """In order of time, those that a person has answered included."""
    kills: tuple[Kill, ...]
    """Jobs that did not end by themselves, each with its cause, in order of start."""
    flaky: tuple[str, ...]
    """Checks that failed and then passed on the same tree, each once; where a state is unreadable,
    its own are not among them."""
    notices: dict[NoticeKind, NonNegativeInt]
    """In how many jobs each was raised; none of a kind that was in no job."""
    interventions: NonNegativeInt | None
    """What persons did for it: rulings, grants, allowances, edits of the task file."""
    interventions_by_kind: dict[Intervention, int]
    """Of what is on record; merges that a person authorised and restarts too."""
    rulings_by_model: dict[str, int]
    """What models ruled in a person's stead, on record: no interventions."""
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
    peak_memory_bytes: NonNegativeInt | None
    """Of its biggest job; none where no job told."""
    peak_pids: NonNegativeInt | None
    agents: tuple[Agent, ...]
    missing: tuple[str, ...]
    """What could not be read, a sentence's clause each; empty: the figures are whole."""


class Bill(Frozen):
    """One task with its jobs: `instrument report TASK --json`."""

    schema_version: Literal[1] = 1
    row: Row
    jobs: tuple[JobLine, ...]
    """In order of start, earlier runs first."""


class Spread(Frozen):
    """A set of whole numbers; median and p90 are members of it (nearest rank), none where it is empty."""

    count: NonNegativeInt
    total: NonNegativeInt
    median: NonNegativeInt | None
    p90: NonNegativeInt | None


class Summary(Frozen):
    """A set of tasks, added up."""

    tasks: NonNegativeInt
    accepted: NonNegativeInt
    """Merged; a task found to be satisfied or upstream already is none."""
    kept: NonNegativeInt
    """Accepted tasks whose merge stood when the loop last looked at the branch."""
    reverted: NonNegativeInt
    """Accepted tasks whose merge was taken back; of the others nobody knows."""
    done_unmerged: NonNegativeInt
    """Ended for good with nothing to merge: satisfied or upstream already."""
    cost_microusd: NonNegativeInt | None
    """Everything found, failed rounds and tasks included; none where no task's cost is known."""
    lower_bound: bool
    """Whether any part of the cost is unmetered."""
    unmetered_parts: NonNegativeInt
    cost_per_accepted_microusd: NonNegativeInt | None
    """The cost over `accepted`, rounded up to a micro-dollar; none where nothing was accepted."""
    unmerged_microusd: NonNegativeInt
    """The part of the cost that is of tasks which have not merged."""
    usage: Usage
    usage_complete: bool
    """False: tokens are missing, each bucket is a lower bound."""
    lead_ms: Spread
    """Of accepted tasks, as `times_ms`."""
    times_ms: dict[Part, Spread]
    """Parts of the lead time; every accepted task counts in each, with 0 where it has none."""
    job_ms: NonNegativeInt
    """Run time of all jobs of all tasks."""
    untouched: NonNegativeInt
    """Accepted tasks for which no person did anything after they were ready."""
    first_attempt: NonNegativeInt
    """Accepted tasks with one coder round and no restart."""
    coder_rounds: NonNegativeInt
    review_rounds: NonNegativeInt
    interventions: NonNegativeInt
    interventions_by_kind: dict[Intervention, int]
    rulings_by_model: dict[str, int]
    """What models ruled in a person's stead: no interventions."""
    answers_ms: Spread
    """From stop to answer, of all tasks."""
    stops: dict[StopReason, int]
    kills: dict[Kill, int]
    peak_memory_bytes: NonNegativeInt | None
    peak_pids: NonNegativeInt | None


class Group(Frozen):
    """The tasks that have one week, repo, runtime or model in common."""

    key: str
    summary: Summary


class Comparison(Frozen):
    """Two spans of time: `instrument report --compare A B --json`."""

    schema_version: Literal[1] = 1
    first: Summary
    second: Summary


class Report(Summary):
    """What was asked for, in order of task ids; its own figures are those of all its tasks."""

    schema_version: Literal[1] = 1
    purpose: Purpose | None
    """None: of every purpose."""
    not_shown: NonNegativeInt
    """Tasks that were found and are of another purpose, or not what was asked for."""
    groups: tuple[Group, ...]
    """In order of their keys; empty where no grouping was asked for."""
    rows: tuple[Row, ...]
    """All of them, or the newest."""
    planner: Planning | None = None
    """The persons' own sessions in the repos of these tasks, in the same span of time; none: not told apart
    by what was asked for."""
