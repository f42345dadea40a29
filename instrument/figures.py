"""What a report says: `Report` is the one object of `instrument report --json`.

Amounts are integer micro-dollars and times integer milliseconds; an unknown figure
is null, never 0. Pure: no I/O.
"""

from typing import Literal

from pydantic import NonNegativeInt

from instrument.schema.base import Frozen
from instrument.schema.usage import Usage
from instrument.schema.vocabulary import DoneReason, EffectKind, Purpose, Role, RuntimeName, Stage, StopReason


class Agent(Frozen):
    """One program and model that worked on a task."""

    role: Role
    runtime: RuntimeName | None
    version: str | None
    model_asked: str | None
    model_answered: str | None
    differs: bool
    """Another model answered than was asked; the same id with a date behind it is no difference."""


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
    usage: Usage
    usage_complete: bool
    cost_microusd: NonNegativeInt | None
    lower_bound: bool
    unmetered_parts: NonNegativeInt
    job_ms: NonNegativeInt | None
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
    """Merged; a task found to be upstream already is none."""
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
