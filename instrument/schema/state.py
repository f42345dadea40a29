"""`state.json`: the only thing that decides what happens next to a task.

Written whole after every transition by `loop.store`; read by the report.
Pure: no I/O.
"""

from typing import Literal

from pydantic import AwareDatetime, Field, NonNegativeInt

from instrument.schema.base import Frozen
from instrument.schema.grants import Grants
from instrument.schema.job import CommandEnd, Decision
from instrument.schema.vocabulary import (
    DoneReason,
    EffectKind,
    Escalation,
    LadderStep,
    Outcome,
    Purpose,
    RuntimeName,
    Severity,
    Stage,
    StopReason,
)


class Caps(Frozen):
    """How often something may happen before a person is asked."""

    check: NonNegativeInt = 3
    """Repairs after failed checks."""
    review: NonNegativeInt = 4
    """Reviews."""
    gate: NonNegativeInt = 2
    """Repairs after a failed gate."""
    main_moved: NonNegativeInt = 3
    """Rebases because the branch moved under the merge."""
    interruptions: NonNegativeInt = 3
    """Jobs that the machine lost."""


class AgentChoice(Frozen):
    """Which program works in a role, with which model."""

    runtime: RuntimeName
    model: str | None = None


class LadderTerms(Frozen):
    """Who meets a stop before a person does, and how often for one task."""

    steps: tuple[LadderStep, ...]
    """Those that there are; in order of cost."""
    small: AgentChoice | None = None
    """Who answers at that step; none: there is no such step."""
    strong: AgentChoice | None = None
    caps: dict[LadderStep, int] = Field(default_factory=dict)
    """How often each step may act for the task in all."""
    reasons: dict[StopReason, tuple[LadderStep, ...]] = Field(default_factory=dict)
    """Steps of single reasons, which go before the machine's own table; empty: straight to a person."""
    escalate_if: tuple[Escalation, ...] = ()
    risk_high: bool = False


class Terms(Frozen):
    """What the task file and `factory.toml` fix for the machine, read from the base commit."""

    caps: Caps = Caps()
    coder: AgentChoice
    reviewer: AgentChoice
    job_ms: NonNegativeInt = 1_800_000
    budget_ms: NonNegativeInt | None = None
    """Job run time of all rounds and attempts; none: no limit."""
    reserve_ms: NonNegativeInt = 0
    """Kept back from coder jobs for one review and one gate."""
    budget_microusd: NonNegativeInt | None = None
    reserve_microusd: NonNegativeInt = 0
    """Kept back from coder jobs for one review."""
    turns_green: tuple[str, ...] = ()
    has_setup: bool = False
    """Whether set-up commands are kept as an image: then a job runs them the first time."""
    ladder: LadderTerms | None = None
    """None: every stop waits for a person."""

    @property
    def agents(self) -> tuple[AgentChoice, ...]:
        """Everybody who may be asked to work."""
        helpers = (self.ladder.small, self.ladder.strong) if self.ladder else ()
        return (self.coder, self.reviewer, *(helper for helper in helpers if helper))


class Counters(Frozen):
    """What has happened so far; counted here and nowhere else."""

    coder_rounds: NonNegativeInt = 0
    review_rounds: NonNegativeInt = 0
    check_failures: NonNegativeInt = 0
    gate_failures: NonNegativeInt = 0
    main_moves: NonNegativeInt = 0
    interruptions: NonNegativeInt = 0
    verdict_misses: NonNegativeInt = 0
    """Of the present review round; a review without a verdict is asked again once."""
    first_call_misses: NonNegativeInt = 0
    """Of the present job; one free retry."""
    jobs: NonNegativeInt = 0
    """Jobs started, the number of the next job's folder less one."""
    interventions: NonNegativeInt = 0
    findings: NonNegativeInt = 0
    """The highest finding id given, `F3` is 3."""
    findings_dropped: NonNegativeInt = 0
    effects: dict[EffectKind, int] = Field(default_factory=dict)
    """Effects begun, by kind; the `n` of the next key less one."""


class Spend(Frozen):
    """What the task has cost so far, every round and attempt included."""

    microusd: NonNegativeInt = 0
    lower_bound: bool = False
    unmetered_jobs: NonNegativeInt = 0
    job_ms: NonNegativeInt = 0


class Attempt(Frozen):
    """An effect that was begun and has no outcome yet."""

    key: str
    kind: EffectKind
    folder: str | None = None
    """Of a job: its folder below the task's."""


class PendingDiff(Frozen):
    """A coder's diff that was collected and is not a candidate yet."""

    folder: str
    start_commit: str
    """The commit whose tree the job started from."""
    tree: str
    diff_bytes: NonNegativeInt
    diff_sha256: str


class Candidate(Frozen):
    """The one commit on the task's base that holds the accepted work so far."""

    commit: str
    tree: str
    base: str
    n: NonNegativeInt
    changes_tests: bool = False
    """Whether it changes or deletes test files of the base: the checks are then run with those, too."""


class Landing(Frozen):
    """The commit that lands: the candidate rebased, with the task's status line done."""

    commit: str
    tree: str
    onto: str


class Finding(Frozen):
    """A reviewer's remark; `id` is the program's own, such as `F3`."""

    id: str
    severity: Severity
    path: str
    line: int | None = None
    quote: str = ""
    text: str
    evidence: str = ""
    round: NonNegativeInt
    closed: bool = False
    """Ruled on by a person: it never sends the task back again."""


class ReviewMark(Frozen):
    """Where a review stood: what came after it is new to the next one."""

    commit: str
    """The candidate that it judged."""
    jobs: NonNegativeInt
    """How many jobs had begun; a later check has a higher number."""
    approved: bool = False
    """Whether it let the candidate pass; false in marks from before this was told."""
    findings: NonNegativeInt = 0
    """The highest finding id that was given by then; 0 in such marks, too."""


class CheckFailure(Frozen):
    """A failed check or gate that the next coder round is told of."""

    gate: bool
    folder: str
    command: CommandEnd


class Resolver(Frozen):
    """The model that answered a stop in a person's stead."""

    step: LadderStep
    model: str | None = None
    """As it was asked for; none: a shell line without one."""


class Ruling(Frozen):
    """An answer to a stop, verbatim."""

    stop: StopReason
    digest: str
    """SHA-256 of the text, hex."""
    text: str
    finding: str | None = None
    """The one that it is about, such as `F3`; none: everything that it answers."""
    by: Resolver | None = None
    """None: a person."""


class Stop(Frozen):
    """Why the task waits."""

    reason: StopReason
    stage: Stage
    """Where it stood, and where a rerun looks again."""
    outcome: Outcome
    details: tuple[str, ...] = ()
    """Paths, names and numbers of this stop, each a line of the brief; at most 20."""
    folder: str | None = None
    """The job's folder with the evidence."""
    choices: tuple[str, ...] = ()
    """Answers to the question that the coder offered."""
    retry_at_utc: AwareDatetime | None = None
    """When the provider said that its limit resets."""


class Climb(Frozen):
    """A stop that a step of the ladder looks into, before a person is asked."""

    stop: Stop
    step: LadderStep


class Tried(Frozen):
    """What a step of the ladder did at a stop."""

    step: LadderStep
    stop: StopReason
    said: str = ""
    """Why it handed the stop up, or its ruling; of the machine nothing, it ran again."""
    ruled: bool = False


class TaskState(Frozen):
    """One task, whole: `plan(state)` needs nothing else."""

    schema_version: Literal[1] = 1
    machine_version: Literal[1] = 1
    seq: NonNegativeInt = 0
    run_id: str
    nonce: str
    """Random, 32 hex digits: review tokens are made of it."""
    task_id: str
    purpose: Purpose
    created_utc: AwareDatetime
    repo: str
    task_path: str
    task_blob: str
    """Blob id of the task file's text in force."""
    previous_task_blob: str | None = None
    """The text before the last edit, for the next prompts' difference."""
    terms: Terms
    authorised: bool = False
    """Whether a gated commit may be merged without asking."""
    asked_runtime: RuntimeName | None = None
    """`--runtime`, which overrides the task's and the repo's."""
    asked_model: str | None = None
    """`--model`, likewise."""
    stage: Stage = Stage.READY
    stop: Stop | None = None
    parked: Stop | None = None
    """The stop that a person parked the task at."""
    climb: Climb | None = None
    """At stage `resolve`, and at a stop of its job: the stop that is looked into."""
    tried: tuple[Tried, ...] = ()
    """What the ladder did for this task; oldest first."""
    grants: Grants = Grants()
    allowed: tuple[str, ...] = ()
    """Globs of `--allow`: in scope, and not protected; behind `secret:`, paths that hold no secret."""
    done: DoneReason | None = None
    counters: Counters = Counters()
    spend: Spend = Spend()
    attempt: Attempt | None = None
    base: str | None = None
    image: str | None = None
    """Image id that jobs start from; for `base`."""
    baseline_passed: bool = False
    pending: PendingDiff | None = None
    candidate: Candidate | None = None
    first_run: tuple[CommandEnd, ...] = ()
    """All commands of a check, gate or baseline with failures that are being run once more."""
    flaky: tuple[str, ...] = ()
    """Names of checks that failed and then passed on the same tree; each once."""
    declared: str = ""
    """The coder's claim that the base needs no change, for the reviewer to judge; empty: none."""
    compared: tuple[str, ...] = ()
    """How the checks end on the candidate with the base's test files; facts for the reviewer."""
    compared_commit: str | None = None
    """The candidate that `compared` is about."""
    reviews: tuple[ReviewMark, ...] = ()
    """One a verdict, in order of rounds."""
    conflict_commit: str | None = None
    """The candidate that conflicted with main and is being made again; none: no conflict round."""
    checked: tuple[CommandEnd, ...] = ()
    """The passed checks of the candidate, for the reviewer's table."""
    failures: tuple[CheckFailure, ...] = ()
    findings: tuple[Finding, ...] = ()
    """All that were raised, in order of id; the open ones are the last review's."""
    rulings: tuple[Ruling, ...] = ()
    decisions: tuple[Decision, ...] = ()
    summary: str = ""
    """The coder's own, of its last round."""
    could_not_verify: tuple[str, ...] = ()
    """What the coder says it could not try out, in its last round."""
    seen_tip: str | None = None
    """The branch's tip at the last rebase, whatever came of it."""
    landing: Landing | None = None
    gated: str | None = None
    """The landing commit that the gate passed; only this one is merged."""
    merged: str | None = None
    ready_utc: AwareDatetime | None = None
    """When the commit that made the task ready was made: lead time begins here."""
    ended_utc: AwareDatetime | None = None
    """When `stage` last became terminal."""
