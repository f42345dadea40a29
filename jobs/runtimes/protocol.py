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
class AgentCommand:
    """How the supervisor starts the program.

    The prompt is never in `argv` or `env`: one string of either is limited to 128 KiB by Linux.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    stdin: Literal["prompt", "null"] = "prompt"


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
