"""The adapter of Claude Code, run in print mode.

Pure: no I/O. Flags, variables and the shape of its output were read from version 2.1.332 itself.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from instrument.schema.job import AgentRun
from instrument.schema.transcript import CallSeen
from instrument.schema.vocabulary import AgentFault, ProviderName, RuntimeName
from jobs.order import AgentWork
from jobs.pod import SOCKET
from jobs.runtimes.jsonlines import Notes, count, dig, is_truncated, last_words, messages, text
from jobs.runtimes.protocol import REPO, SETTINGS, AgentCommand, ShellCalls, model_of

SYNTHETIC = "<synthetic>"
"""The model that the program names where it writes a message by itself, such as an error's text."""

QUIET = (
    "CLAUDE_CODE_DISABLE_AUTO_MEMORY",
    "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS",
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
ledger can only charge at its reservation when that is lost too. With background tasks of its own
it goes on after its last message, for as long as one of them runs.
"""

DISALLOWED = ("CronCreate", "Monitor", "ScheduleWakeup", "WebFetch", "WebSearch")
"""The first three let it wait after its last message. WebFetch has no network; WebSearch is run, and
billed by the search, at the provider: a way out that no list of hosts holds."""

SHELL_CALLS = ShellCalls(
    line={"type": "assistant"},
    items="message.content",
    item={"type": "tool_use", "name": "Bash"},
    command="input.command",
)
LAST_LINES = ({"type": "result"},)
MEMORY = f"@{REPO}/CLAUDE.md\n@{REPO}/AGENTS.md\n"
"""The user's own instructions, which take in the tree's: one that is absent is passed by."""
UNPLAIN = r"[^\w./@+ -]"

FAULTS = {
    "api_error": AgentFault.PROVIDER_ERROR,
    "max_turns": AgentFault.MAX_TURNS,
    "prompt_too_long": AgentFault.CONTEXT_EXHAUSTED,
}


class ClaudeRuntime:
    """The prompt comes by standard input, a line of JSON an event goes out."""

    name = RuntimeName.CLAUDE
    provider = ProviderName.ANTHROPIC
    uses_model = True

    def command(self, work: AgentWork) -> AgentCommand:
        """Start it without questions: the container is the fence."""
        model = model_of(work)
        argv = (
            "/usr/local/bin/claude",
            "--print",
            "--output-format",
            "stream-json",
            "--verbose",
            "--dangerously-skip-permissions",
            # With `project` it would apply the tree's settings, hooks, agents, skills and commands too.
            "--setting-sources",
            "user",
            "--strict-mcp-config",
            "--disallowed-tools",
            ",".join(DISALLOWED),
            "--model",
            model,
        )
        env = {
            "ANTHROPIC_UNIX_SOCKET": SOCKET,
            "ANTHROPIC_BASE_URL": "http://localhost",
            # The proxy puts the real key in; without any the program asks for a login.
            "ANTHROPIC_API_KEY": "held-by-the-proxy",
            "ANTHROPIC_MODEL": model,
            # Side calls of a smaller model would need a second known price.
            "ANTHROPIC_SMALL_FAST_MODEL": model,
            "ANTHROPIC_DEFAULT_HAIKU_MODEL": model,
            # Behind a base URL of one's own it leaves its tool search out otherwise.
            "ENABLE_TOOL_SEARCH": "true",
            "CLAUDE_CODE_AUTO_COMPACT_WINDOW": str(work.context_limit_tokens),
            "CLAUDE_CONFIG_DIR": f"{SETTINGS}/claude",
        }
        return AgentCommand(
            argv,
            {**env, **dict.fromkeys(QUIET, "1")},
            shell_calls=SHELL_CALLS,
            last_lines=LAST_LINES,
            files={"claude/CLAUDE.md": MEMORY, **_rules(work.nested)},
        )

    def parse(self, work: AgentWork, transcript: bytes, stderr: bytes) -> AgentRun:
        """Read its messages: who answered, what was done, how it ended."""
        said = _Said()
        for message in messages(transcript):
            said.take(message)
        has_finished = said.result is not None and (
            said.result.get("subtype") == "success" and said.result.get("is_error") is False
        )
        return AgentRun(
            runtime=self.name,
            version=said.version,
            model_asked=work.model,
            model_answered=said.answered,
            finished=has_finished,
            error=None if has_finished else _error(said.result, stderr),
            truncated=is_truncated(transcript),
            turns=count(dig(said.result, "num_turns")),
            fault=None if has_finished else _fault(said.result),
            transcript=said.notes.taken(),
        )


def _rules(nested: Mapping[str, str]) -> dict[str, str]:
    """The user's rules, each for what lies below a folder: shown once a file there is read.

    They hold the text itself: what a rule takes in by its path is shown from the start.
    """
    return {
        f"claude/rules/{number:03}.md": f"---\npaths: [{json.dumps(_glob(path))}]\n---\n{text}\n"
        for number, (path, text) in enumerate(nested.items(), 1)
    }


def _glob(path: str) -> str:
    """All below the file's folder; a letter that may mean something in a pattern stands for any."""
    return re.sub(UNPLAIN, "?", path.rpartition("/")[0]) + "/**"


class _Said:
    """What the messages so far have told."""

    def __init__(self) -> None:
        self.version: str | None = None
        self.answered: str | None = None
        self.result: dict[str, Any] | None = None
        self.notes = Notes()
        self._last_id: object = None

    def take(self, message: dict[str, Any]) -> None:
        """Read the next message."""
        content = dig(message, "message", "content")
        items = content if isinstance(content, list) else []
        match message.get("type"):
            case "system" if message.get("subtype") == "init":
                self.version = text(message.get("claude_code_version")) or self.version
            case "assistant":
                self._take_answer(message, items)
            case "user":
                self._take_tool_ends(items)
            case "result":
                self.result = message
            case _:
                pass

    def _take_answer(self, message: dict[str, Any], items: list[Any]) -> None:
        model = text(dig(message, "message", "model"))
        if model == SYNTHETIC:
            self.notes.error(dig(items[0], "text") if items else None)
            return
        self.answered = model or self.answered
        identity = dig(message, "message", "id")
        # A message comes in as many lines as it has blocks; its output is not counted whole in any.
        if identity is None or identity != self._last_id:
            tokens = count(dig(message, "message", "usage", "input_tokens"))
            request_id = text(message.get("request_id"))
            self.notes.call(CallSeen(model=model, request_id=request_id, input_tokens=tokens))
        self._last_id = identity
        for item in items:
            if dig(item, "type") != "tool_use":
                continue
            self.notes.tool(dig(item, "id"), dig(item, "name"))
            if dig(item, "name") == "Read":
                asked = dig(item, "input")
                self.notes.read(dig(asked, "file_path"), dig(asked, "offset"), dig(asked, "limit"))

    def _take_tool_ends(self, items: list[Any]) -> None:
        for item in items:
            if dig(item, "type") == "tool_result":
                self.notes.tool(dig(item, "tool_use_id"), None, is_ok=dig(item, "is_error") is not True)


def _error(result: dict[str, Any] | None, stderr: bytes) -> str:
    if result is None:
        return last_words(stderr)
    return text(result.get("result")) or text(result.get("subtype")) or "no text"


def _fault(result: dict[str, Any] | None) -> AgentFault:
    if result is None:
        return AgentFault.ENDED_EARLY
    return FAULTS.get(str(result.get("terminal_reason")), AgentFault.AGENT_ERROR)
