"""The adapter of Claude Code, run in print mode.

Pure: no I/O. Flags, variables and the shape of its output were read from version 2.1.332 itself.
"""

import json
from collections.abc import Iterator
from typing import Any

from instrument.schema.job import AgentRun
from instrument.schema.vocabulary import RuntimeName
from jobs.errors import JobsError
from jobs.order import AgentWork
from jobs.pod import SOCKET
from jobs.runtimes.protocol import AgentCommand, ShellCalls

ERROR_CHARACTERS = 500
SYNTHETIC = "<synthetic>"
"""The model that the program names where it writes a message by itself, such as an error's text."""

QUIET = (
    "CLAUDE_CODE_DISABLE_AUTO_MEMORY",
    "CLAUDE_CODE_DISABLE_FEEDBACK_SURVEY",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
    "CLAUDE_CODE_DISABLE_NONSTREAMING_FALLBACK",
    "CLAUDE_CODE_DISABLE_OFFICIAL_MARKETPLACE_AUTOINSTALL",
    "DISABLE_AUTOUPDATER",
    "DISABLE_BUG_COMMAND",
    "DISABLE_ERROR_REPORTING",
    "DISABLE_FEEDBACK_COMMAND",
    "DISABLE_GROWTHBOOK",
    "DISABLE_TELEMETRY",
    "DISABLE_UPDATES",
)
"""Nothing but the socket is reachable: what else the program tries costs start time and noise.

Without the fallback's end, a stream that was cut is asked for again unstreamed, which a
ledger can only charge at its reservation when that is lost too.
"""

SHELL_CALLS = ShellCalls(
    line={"type": "assistant"},
    items="message.content",
    item={"type": "tool_use", "name": "Bash"},
    command="input.command",
)


class ClaudeRuntime:
    """The prompt comes by standard input, a line of JSON an event goes out."""

    name = RuntimeName.CLAUDE
    uses_model = True

    def command(self, work: AgentWork) -> AgentCommand:
        """Start it without questions: the container is the fence."""
        if not work.model:
            raise JobsError(
                "Runtime `claude` needs a model: name it in the task, in factory.toml or with --model."
            )
        argv = (
            "/usr/local/bin/claude",
            "--print",
            "--output-format",
            "stream-json",
            "--verbose",
            "--dangerously-skip-permissions",
            # Without `project` it does not read CLAUDE.md; the settings that come with it are the tree's too.
            "--setting-sources",
            "user,project",
            # The first has no network; the second is run, and billed by the search, at the provider,
            # where the ledger does not see it.
            "--disallowed-tools",
            "WebFetch,WebSearch",
            "--model",
            work.model,
        )
        env = {
            "ANTHROPIC_UNIX_SOCKET": SOCKET,
            "ANTHROPIC_BASE_URL": "http://localhost",
            # The proxy puts the real key in; without any the program asks for a login.
            "ANTHROPIC_API_KEY": "held-by-the-proxy",
            "ANTHROPIC_MODEL": work.model,
            # Side calls of a smaller model would need a second known price.
            "ANTHROPIC_SMALL_FAST_MODEL": work.model,
            "ANTHROPIC_DEFAULT_HAIKU_MODEL": work.model,
            # Behind a base URL of one's own it leaves its tool search out otherwise.
            "ENABLE_TOOL_SEARCH": "true",
            "CLAUDE_CODE_AUTO_COMPACT_WINDOW": str(work.context_limit_tokens),
        }
        return AgentCommand(argv, {**env, **dict.fromkeys(QUIET, "1")}, shell_calls=SHELL_CALLS)

    def parse(self, work: AgentWork, transcript: bytes, stderr: bytes) -> AgentRun:
        """Read its first and last message and the model that answered."""
        version = answered = error = None
        turns: int | None = None
        has_result = has_succeeded = False
        for message in _messages(transcript):
            match message.get("type"):
                case "system" if message.get("subtype") == "init":
                    version = _text(message.get("claude_code_version")) or version
                case "assistant":
                    inner = message.get("message")
                    model = _text(inner.get("model")) if isinstance(inner, dict) else None
                    answered = model if model and model != SYNTHETIC else answered
                case "result":
                    has_result = True
                    has_succeeded = message.get("subtype") == "success" and message.get("is_error") is False
                    said = _text(message.get("result")) or _text(message.get("subtype")) or "no text"
                    error = None if has_succeeded else said[:ERROR_CHARACTERS]
                    count = message.get("num_turns")
                    turns = count if isinstance(count, int) and count >= 0 else None
                case _:
                    pass
        if not has_result:
            tail = stderr.decode(errors="replace").strip()
            error = tail[-ERROR_CHARACTERS:] or "It ended without its last message."
        return AgentRun(
            runtime=self.name,
            version=version,
            model_asked=work.model,
            model_answered=answered,
            finished=has_succeeded,
            error=error,
            truncated=_is_truncated(transcript),
            turns=turns,
        )


def _text(value: object) -> str | None:
    """A text that can be written anywhere: JSON may hold half of a surrogate pair."""
    if not isinstance(value, str):
        return None
    return value.encode("utf-8", errors="replace").decode()


def _messages(transcript: bytes) -> Iterator[dict[str, Any]]:
    """The messages of all whole lines; a line that is no JSON object is left out."""
    start = 0
    while start < len(transcript):
        end = transcript.find(b"\n", start)
        end = len(transcript) if end < 0 else end
        message = _load(transcript[start:end])
        if message is not None:
            yield message
        start = end + 1


def _load(line: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _is_truncated(transcript: bytes) -> bool:
    """Whether the last line was cut: it has no end and cannot be read."""
    last = transcript[transcript.rfind(b"\n") + 1 :]
    return bool(last.strip()) and _load(last) is None
