"""Which tasks a person asks about, and what they are grouped by.

Pure: no I/O.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from instrument.figures import Agent, Row
from instrument.schema.vocabulary import DoneReason, Purpose, Role, RuntimeName, Stage
from instrument.window import Window, week_of

State = Literal["accepted", "done", "stopped", "open"]
"""Merged; ended for good, merged or not; waiting for a person; neither."""
GroupBy = Literal["week", "repo", "runtime", "model"]
UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked for; none of a field: all."""

    purpose: Purpose | None = Purpose.TASK
    repo: str | None = None
    window: Window = field(default_factory=Window)
    runtime: RuntimeName | None = None
    model: str | None = None
    state: State | None = None

    def has(self, row: Row) -> bool:
        """Whether a task is asked for.

        One whose purpose cannot be told is asked for whatever the purpose: it may belong there, and
        leaving it out would make the figures look whole.
        """
        return (
            (self.purpose is None or row.purpose in (self.purpose, None))
            and (self.repo is None or row.repo == self.repo)
            and self.window.has(row.at_utc)
            and (self.runtime is None or key_of("runtime")(row) == self.runtime)
            and (self.model is None or key_of("model")(row) == self.model)
            and (self.state is None or _is_in(row, self.state))
        )


def key_of(by: GroupBy) -> Callable[[Row], str]:
    """How a task's group is called; a task of several programs belongs to the first that wrote code."""
    match by:
        case "week":
            return lambda row: UNKNOWN if row.at_utc is None else week_of(row.at_utc)
        case "repo":
            return lambda row: row.repo or UNKNOWN
        case "runtime":
            return lambda row: _named(coder_of(row), lambda agent: agent.runtime)
        case "model":
            return lambda row: _named(coder_of(row), model_of)


def coder_of(row: Row) -> Agent | None:
    """The program that wrote code first; none where none did."""
    return next((agent for agent in row.agents if agent.role is Role.CODER), None)


def model_of(agent: Agent) -> str | None:
    """The model that answered; the one asked for where no answer named any."""
    return agent.model_answered or agent.model_asked


def _named(agent: Agent | None, name: Callable[[Agent], str | None]) -> str:
    return (name(agent) if agent else None) or UNKNOWN


def _is_in(row: Row, state: State) -> bool:
    match state:
        case "accepted":
            return row.done is DoneReason.MERGED
        case "done":
            return row.done is not None
        case "stopped":
            return row.stage is Stage.STOPPED
        case "open":
            return row.done is None and row.stage is not Stage.STOPPED
