"""The seam to an agent program.

Pure: no I/O.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from instrument.schema.job import AgentRun
from instrument.schema.vocabulary import ProviderName, RuntimeName
from jobs.errors import JobsError
from jobs.order import AgentWork

RELAY_PORT = 17321
"""Below the range that a kernel gives out by itself."""
RELAY = f"http://127.0.0.1:{RELAY_PORT}"
"""Where the proxy is for whatever speaks TCP only. Never `localhost`: `::1` does not exist in a
job's container."""
REPO = "/repo"
SETTINGS = "/home/agent/.factory"
"""A folder of the job's own, made anew by the supervisor: nothing that a set-up left is in it."""


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
    last_lines: tuple[Mapping[str, str], ...] = ()
    """How its last line looks, path to text: one of these, after which it has to exit; none: unknown."""
    files: Mapping[str, str] = field(default_factory=dict)
    """What it reads by itself: path below `SETTINGS` to text."""
    cleared: tuple[str, ...] = ()
    """Paths in HOME that it would obey too: whatever a set-up command left there goes."""
    hidden: tuple[str, ...] = ()
    """Paths at the top of the tree that are not laid for it, where no setting keeps it from obeying them."""


class Runtime(Protocol):
    """`command` before the job, `parse` after it; both are pure and may be called again."""

    @property
    def name(self) -> RuntimeName:
        """Which row of the table it is."""
        ...

    @property
    def provider(self) -> ProviderName | None:
        """Whose protocol it speaks; none: that follows from the model."""
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


def model_of(work: AgentWork) -> str:
    """The model to work with, for a program that has to be told one.

    Raises:
        JobsError: The work names none.
    """
    if not work.model:
        raise JobsError(
            f"Runtime `{work.runtime}` needs a model: name it in the task, in factory.toml or with --model."
        )
    return work.model
