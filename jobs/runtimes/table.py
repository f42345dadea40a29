"""Which adapter stands for which runtime: one row each.

Pure: no I/O.
"""

from collections.abc import Mapping

from instrument.schema.vocabulary import RuntimeName
from jobs.runtimes.claude import ClaudeRuntime
from jobs.runtimes.codex import CodexRuntime
from jobs.runtimes.command import CommandRuntime
from jobs.runtimes.opencode import OpencodeRuntime
from jobs.runtimes.protocol import Runtime

RUNTIMES: Mapping[RuntimeName, Runtime] = {
    RuntimeName.CLAUDE: ClaudeRuntime(),
    RuntimeName.COMMAND: CommandRuntime(),
    RuntimeName.OPENCODE: OpencodeRuntime(),
    RuntimeName.CODEX: CodexRuntime(),
}
