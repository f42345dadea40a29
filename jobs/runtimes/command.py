"""The adapter of any shell line as the agent.

Pure: no I/O.
"""

from instrument.schema.job import AgentRun
from instrument.schema.vocabulary import RuntimeName
from jobs.errors import JobsError
from jobs.order import AgentWork
from jobs.runtimes.claude import SHELL_CALLS
from jobs.runtimes.protocol import AgentCommand

SHELL = 'if command -v bash >/dev/null 2>&1; then exec bash -c "$1"; else exec sh -c "$1"; fi'


class CommandRuntime:
    """The line gets the prompt on its standard input and as the file $FACTORY_PROMPT."""

    name = RuntimeName.COMMAND
    provider = None
    uses_model = False

    def command(self, work: AgentWork) -> AgentCommand:
        """Start the line with bash where the image has it, else with sh."""
        if not work.line:
            raise JobsError(
                "Runtime `command` needs a shell line: write it in [agent.command] of factory.toml."
            )
        # Whatever the line is, what it prints in Claude Code's form is counted: it may well start that.
        return AgentCommand(("/bin/sh", "-c", SHELL, "factory-agent", work.line), shell_calls=SHELL_CALLS)

    def parse(self, work: AgentWork, transcript: bytes, stderr: bytes) -> AgentRun:  # noqa: ARG002
        """A shell line says nothing of itself in a known form: its exit code is in the report."""
        return AgentRun(runtime=self.name, model_asked=work.model, finished=True)
