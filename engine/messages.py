"""What workflows, activities and commands tell each other: names, numbers and paths.

A diff, a prompt or a transcript never travels here: only where it lies. Pure: no I/O.
"""

from datetime import timedelta
from typing import Annotated

from pydantic import AwareDatetime, Field, NonNegativeInt, PositiveInt

from engine import queues
from instrument.schema.base import Frozen
from instrument.schema.state import TaskState
from instrument.schema.vocabulary import Outcome, Purpose, RuntimeName, WaitedFor
from loop.machine.effects import Effect
from loop.machine.facts import CancelledFacts, Facts


class TaskOrder(Frozen):
    """One task that a person handed over."""

    task_id: str
    repo: str
    """`[repo] name`."""
    checkout: str
    """The person's working copy, a path that every worker has."""
    task: str
    """The task file's path in the repository."""
    runtime: RuntimeName | None = None
    model: str | None = None
    auto_merge: bool = False
    story: str | None = None
    """Path of a scripted provider's story, for demos and tests."""
    purpose: Purpose = Purpose.TASK
    urgent: bool = False
    phase: str | None = None
    """The list of tasks that a person decides in one sitting; none: it may begin at once."""
    host: str | None = None
    """Where a job of it is under way; only of one that was taken over."""
    claimed: timedelta = queues.CLAIMED
    """How long a host may take to begin a job of it, before it is taken for dead."""
    build: str | None = None
    """The version of our code that alone may carry it: a canary; none: whichever is current."""
    restart_utc: AwareDatetime | None = None
    """What was begun before is set aside, its cost kept: a beginning from nothing."""


class Answer(Frozen):
    """What a person did about a task; nothing set: look again."""

    id: str
    """The same one counts once."""
    rulings: tuple[str, ...] = ()
    grants: tuple[tuple[str, int], ...] = ()
    allow: tuple[str, ...] = ()
    park: str | None = None
    auto_merge: bool = False

    @property
    def needs_a_stop(self) -> bool:
        """Whether it answers a question: a task in mid-round has asked none."""
        return bool(self.rulings) or self.park is not None


class Decision(Frozen):
    """Who decided what about a task, and when: a phase's gate, a hold, its release."""

    who: str
    at_utc: AwareDatetime
    is_go: bool = True
    why: str = ""


class TurnAsk(Frozen):
    """What a task may touch, for whoever decides which tasks of a repo go at once."""

    task_id: str
    n: PositiveInt
    """Counts the asks of one task: an answer to an old one is none to a new one."""
    asked_utc: AwareDatetime
    urgent: bool
    checkout: str
    task: str
    files: tuple[str, ...]
    generated: tuple[str, ...]
    must_pass: tuple[str, ...]
    """Checks of its baseline that a red branch fails; empty once it has begun."""
    count: PositiveInt
    """How many tasks the repo may have under way."""


class Turns(Frozen):
    """What came of one look: who may go, and why the others may not, by task id."""

    granted: tuple[str, ...] = ()
    lines: dict[str, str] = Field(default_factory=dict)


class Whose(Frozen):
    """Whose word a wait was, and who ended it; empty and none where nobody did."""

    who: str = ""
    decided_utc: AwareDatetime | None = None
    released_by: str = ""
    released_utc: AwareDatetime | None = None


class Wait(Whose):
    """A wait that is over, for the record."""

    what: WaitedFor
    duration_ms: NonNegativeInt
    ended_utc: AwareDatetime


class Opening(Frozen):
    """A task with what a person did about it."""

    order: TaskOrder
    answer: Answer | None = None
    n: PositiveInt
    """Of the ask for a turn that follows."""
    is_under_way: bool = False
    """Whether it is between two effects: then the record tells of no new beginning."""
    waits: tuple[Wait, ...] = ()
    """That are over and not recorded yet."""


class Opened(Frozen):
    """The task's state with that in effect, or one sentence that says why there is none."""

    state: TaskState | None = None
    ask: TurnAsk | None = None
    """None where the task has ended."""
    refused: str = ""
    """The answer does not fit; the task stands as it stood."""
    waits: str = ""
    """Another task has to be done first: there is no state yet."""


class Doing(Frozen):
    """One effect of one task."""

    order: TaskOrder
    begun: TaskState
    """The state with the effect as its attempt."""
    effect: Effect


AnyFacts = Annotated[Facts | CancelledFacts, Field(discriminator="kind")]


class Found(Frozen):
    """What doing it found out."""

    facts: AnyFacts


class Settling(Frozen):
    """A transition, to be written down."""

    order: TaskOrder
    before: TaskState
    effect: Effect | None = None
    """None where nothing was begun."""
    outcome: Outcome | None = None
    """None where a person cut the attempt short."""
    after: TaskState


class Closing(Frozen):
    """A task that stands still: its brief, whom to tell."""

    order: TaskOrder
    how: str = ""
    """As in `TaskEnd`, where the engine lets go of it."""


class Leaving(Frozen):
    """A task that stands in nobody's way any more."""

    order: TaskOrder


class Alert(Frozen):
    """What a person has to mend before anything of a repo goes on."""

    order: TaskOrder
    fault: str


class Asking(Frozen):
    """A task's ask, for its repo's workflow."""

    repo: str
    ask: TurnAsk
    build: str | None = None
    """As in `TaskOrder`."""


class Looking(Frozen):
    """The asks that a repo's workflow holds, in the order in which they are to be looked at."""

    repo: str
    waiting: tuple[TurnAsk, ...]


class Noting(Frozen):
    """Waits of a task that has a record."""

    order: TaskOrder
    waits: tuple[Wait, ...]


class Released(Frozen):
    """A job whose end is written down."""

    run_id: str
    key: str


class TaskEnd(Frozen):
    """How a task's workflow ended."""

    how: str
    """`done`, `no_go`, `cancelled` or `exported`."""
    detail: str = ""


class Memory(Frozen):
    """What a task's workflow begins with, and takes along where it begins its history anew."""

    order: TaskOrder
    state: TaskState | None = None
    seen: tuple[str, ...] = ()
    """Ids of answers and events that counted."""
    answers: tuple[Answer, ...] = ()
    told: dict[str, str] = Field(default_factory=dict)
    """By id of an answer: why it was refused; empty where it was taken."""
    gate: Decision | None = None
    hold: Decision | None = None
    asks: NonNegativeInt = 0
    host: str | None = None


class RepoMemory(Frozen):
    """The same of a repo's workflow."""

    repo: str
    waiting: tuple[TurnAsk, ...] = ()
