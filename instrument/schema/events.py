"""The lines of `events.jsonl`, one JSON object each, discriminated by `kind`.

Names, numbers, paths and hashes only: never a prompt, a model's text, a check's
output or an environment value. Pure: no I/O.
"""

from typing import Annotated, Literal, get_args

from pydantic import AwareDatetime, ConfigDict, Field, NonNegativeInt, TypeAdapter

from instrument.schema.base import Frozen
from instrument.schema.usage import Usage
from instrument.schema.vocabulary import (
    DoneReason,
    EffectKind,
    Ended,
    LadderStep,
    NoticeKind,
    Outcome,
    Purpose,
    Role,
    RuntimeName,
    Stage,
    StopReason,
    WaitedFor,
)


class Event(Frozen):
    """What every line carries."""

    schema_version: Literal[1] = 1
    n: NonNegativeInt
    """Counts from 1 within the file."""
    at_utc: AwareDatetime
    task_id: str
    run_id: str
    purpose: Purpose


class RunStarted(Event):
    """A loop took the task's lock."""

    kind: Literal["run_started"] = "run_started"
    pid: int
    host: str
    version: str


class RunEnded(Event):
    """The loop left it, with this exit code; absent after a kill."""

    kind: Literal["run_ended"] = "run_ended"
    exit_code: int


class Waited(Event):
    """A run had to wait, and what it waited for came, changed or was given up; 0 ms: it did not wait."""

    kind: Literal["waited"] = "waited"
    what: WaitedFor
    duration_ms: NonNegativeInt
    who: str = ""
    """Who decided it, where a person did: a gate, a hold."""
    decided_utc: AwareDatetime | None = None
    """When they did, which may be before the wait began: a step had to end first."""
    released_by: str = ""
    """Who ended a hold."""
    released_utc: AwareDatetime | None = None
    ended_utc: AwareDatetime | None = None
    """When it was over, where that is not the time of this line: there was no record yet."""


class Notified(Event):
    """Services were told of the stop; the failed ones are tried again at the next run."""

    kind: Literal["notified"] = "notified"
    ok: NonNegativeInt
    failed: NonNegativeInt


class AttemptStarted(Event):
    """An effect was written down as intended, before anything was done."""

    kind: Literal["attempt_started"] = "attempt_started"
    key: str
    effect: EffectKind
    round: NonNegativeInt


class AttemptInterrupted(Event):
    """The machine lost the attempt; the agent is not charged."""

    kind: Literal["attempt_interrupted"] = "attempt_interrupted"
    key: str
    interruptions: NonNegativeInt


class AttemptCancelled(Event):
    """A person ended the attempt with a signal; it counts as nothing but its cost."""

    kind: Literal["attempt_cancelled"] = "attempt_cancelled"
    key: str
    signal: int


class JobEnded(Event):
    """A job was collected."""

    kind: Literal["job_ended"] = "job_ended"
    key: str
    effect: EffectKind
    role: Role
    round: NonNegativeInt
    folder: str
    lost: bool
    sidecar_lost: bool
    ended: Ended | None
    exit_code: int | None
    oom: bool
    duration_ms: NonNegativeInt
    peak_memory_bytes: NonNegativeInt | None
    peak_pids: NonNegativeInt | None = None
    """See `JobReport.peak_pids`; none: not told, as in lines from before it was."""
    cpu_ms: NonNegativeInt | None = None
    runtime: RuntimeName | None
    version: str | None
    model_asked: str | None
    model_answered: str | None
    calls: NonNegativeInt
    cost_microusd: NonNegativeInt
    lower_bound: bool


class AgentDiffered(Event):
    """The model that answered, or the program's version, is another than the configuration has."""

    kind: Literal["agent_differed"] = "agent_differed"
    key: str
    role: Role
    round: NonNegativeInt
    what: Literal["model", "version"]
    asked: str
    """The model that was asked for; the version that our images are made with."""
    found: str


class CheckEnded(Event):
    """One command of a baseline, check or gate job."""

    kind: Literal["check_ended"] = "check_ended"
    key: str
    name: str
    exit_code: int | None
    timed_out: bool
    duration_ms: NonNegativeInt


class ModelCallEnded(Event):
    """One row of a job's ledger, start and end joined; once, whatever crashed in between."""

    kind: Literal["model_call"] = "model_call"
    key: str
    call: NonNegativeInt
    role: Role
    round: NonNegativeInt
    model_asked: str | None
    model_answered: str | None
    status: int | None
    error_type: str | None
    usage: Usage
    cost_microusd: NonNegativeInt
    settled: bool
    estimated: bool
    unknown_price: bool
    duration_ms: NonNegativeInt
    host: str | None = None
    """The provider that was asked; none in lines from before there could be several."""


class NoticeRaised(Event):
    """The proxy noticed something while a job ran, each kind once a job; see the ledger's `Notice`."""

    kind: Literal["notice_raised"] = "notice_raised"
    key: str
    role: Role
    round: NonNegativeInt
    what: NoticeKind
    call: NonNegativeInt
    spent_microusd: NonNegativeInt
    budget_microusd: NonNegativeInt
    calls: NonNegativeInt = 0
    input_tokens: NonNegativeInt = 0


class RequestDenied(Event):
    """The proxy refused requests of a job, counted by reason, and by host where one was not let out to."""

    kind: Literal["request_denied"] = "request_denied"
    key: str
    reason: str
    count: NonNegativeInt
    host: str | None = None
    """As the job wrote it, with its port."""


class ReviewEnded(Event):
    """A reviewer's verdict in numbers; none given: `verdict` says why."""

    kind: Literal["review_ended"] = "review_ended"
    key: str
    round: NonNegativeInt
    verdict: str
    must_fix: NonNegativeInt
    should_fix: NonNegativeInt
    notes: NonNegativeInt
    dropped: NonNegativeInt


class Transition(Event):
    """The machine moved; `state_seq` is the sequence number of the state it led to."""

    kind: Literal["transition"] = "transition"
    state_seq: NonNegativeInt
    key: str
    from_stage: Stage
    outcome: Outcome
    to_stage: Stage
    stop: StopReason | None = None
    done: DoneReason | None = None
    spent_microusd: NonNegativeInt
    lower_bound: bool


class Continued(Event):
    """A person's command took a stopped task on."""

    kind: Literal["continued"] = "continued"
    state_seq: NonNegativeInt
    how: Literal["rerun", "ruling", "auto_merge", "task_edited", "restart", "grant", "allow"]
    stop: StopReason
    to_stage: Stage


class LadderStepped(Event):
    """A step of the ladder takes a stop up, before a person is asked."""

    kind: Literal["ladder_step"] = "ladder_step"
    state_seq: NonNegativeInt
    step: LadderStep
    stop: StopReason


class RulingRecorded(Event):
    """Somebody answered; the text stands in `rulings.md` and in the state."""

    kind: Literal["ruling_recorded"] = "ruling_recorded"
    stop: StopReason
    digest: str
    finding: str | None = None
    """None: it answers the stop as a whole."""
    by: LadderStep | None = None
    """None: a person."""
    model: str | None = None
    """Of a step: the model that was asked for."""


class Granted(Event):
    """A person set a cap."""

    kind: Literal["granted"] = "granted"
    counter: str
    cap: NonNegativeInt


class Allowed(Event):
    """A person let the task touch paths that it may not by itself."""

    kind: Literal["allowed"] = "allowed"
    glob: str


class CheckFlaky(Event):
    """A check failed and then passed on the same tree."""

    kind: Literal["check_flaky"] = "check_flaky"
    key: str
    name: str


class TaskEdited(Event):
    """The task file changed on the default branch and the new text was adopted at a stop."""

    kind: Literal["task_edited"] = "task_edited"
    old_blob: str
    new_blob: str


class TornTail(Event):
    """The last line of the file was cut; the fragment was set aside."""

    kind: Literal["torn_tail"] = "torn_tail"
    path: str
    size_bytes: NonNegativeInt


class RecordSetAside(Event):
    """The file held a line that could not be read; it was set aside whole and a new one begun."""

    kind: Literal["record_set_aside"] = "record_set_aside"
    path: str
    bad_line: NonNegativeInt


AnyEvent = Annotated[
    RunStarted
    | RunEnded
    | Waited
    | Notified
    | AttemptStarted
    | AttemptInterrupted
    | AttemptCancelled
    | JobEnded
    | AgentDiffered
    | CheckEnded
    | ModelCallEnded
    | NoticeRaised
    | RequestDenied
    | ReviewEnded
    | Transition
    | Continued
    | LadderStepped
    | RulingRecorded
    | Granted
    | Allowed
    | CheckFlaky
    | TaskEdited
    | TornTail
    | RecordSetAside,
    Field(discriminator="kind"),
]
EVENT: TypeAdapter[AnyEvent] = TypeAdapter(AnyEvent, config=ConfigDict(defer_build=True))
EVENTS: tuple[type[Event], ...] = get_args(get_args(AnyEvent)[0])
"""Every kind of line."""
