"""The seam to an agent program.

Pure: no I/O.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from instrument.schema.job import AgentRun
from instrument.schema.vocabulary import RuntimeName
from jobs.order import AgentWork


@dataclass(frozen=True, slots=True)
class ShellCalls:
    """How a shell call looks in what the program prints, a JSON object a line.

    A path is keys joined by dots. The supervisor reads it, which knows no program by name.
    """

    line: Mapping[str, str]
    """What the line's object holds: path to text."""
    command: str
    """Where the command is, in each item."""
    items: str | None = None
    """Where the line has a list of items, each of which may be a call; none: the line is the item."""
    item: Mapping[str, str] = field(default_factory=dict)
    """What an item that is a call holds: path to text."""


@dataclass(frozen=True, slots=True)
class AgentCommand:
    """How the supervisor starts the program.

    The prompt is never in `argv` or `env`: one string of either is limited to 128 KiB by Linux.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    stdin: Literal["prompt", "null"] = "prompt"
    shell_calls: ShellCalls | None = None
    """None: it does not tell them, and nothing is counted."""


class Runtime(Protocol):
    """`command` before the job, `parse` after it; both are pure and may be called again."""

    @property
    def name(self) -> RuntimeName:
        """Which row of the table it is."""
        ...

    @property
    def uses_model(self) -> bool:
        """Whether it calls a model, so that a pod needs a proxy and a first call is waited for."""
        ...

    def command(self, work: AgentWork) -> AgentCommand:
        """What to start in the tree.

        Raises:
            JobsError: The work lacks what this program needs; one sentence.
        """
        ...

    def parse(self, work: AgentWork, transcript: bytes, stderr: bytes) -> AgentRun:
        """Read facts from its output, whatever that holds; never raises."""
        ...
