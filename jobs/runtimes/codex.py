"""The adapter of Codex, run once without a terminal.

Pure: no I/O. Flags, settings and the shape of its output were read from version 0.171.0 itself.
Limits: it knows no most of turns, so that it never ends by one.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from instrument.schema.job import AgentRun
from instrument.schema.transcript import CallSeen
from instrument.schema.vocabulary import AgentFault, ProviderName, RuntimeName
from jobs.order import AgentWork
from jobs.runtimes.jsonlines import Notes, count, dig, is_truncated, last_words, messages, text
from jobs.runtimes.protocol import RELAY, SETTINGS, AgentCommand, ShellCalls, model_of
from jobs.runtimes.versioned import versioned

KEY_NAME = "FACTORY_PLACEHOLDER_KEY"
FLAGS = (
    "--json",
    "--ephemeral",
    "--skip-git-repo-check",
    "--strict-config",
    "--ignore-user-config",
    "--ignore-rules",
    # The container is the fence.
    "--dangerously-bypass-approvals-and-sandbox",
)
COMPACT_PERCENT = 90
"""Of the context, as it does by itself: the summary needs room too."""
RETRIES = 4

SHELL_CALLS = ShellCalls(
    line={"type": "item.started", "item.type": "command_execution"}, command="item.command"
)
LAST_LINES = ({"type": "turn.completed"}, {"type": "turn.failed"})
TOOLS = ("command_execution", "file_change", "mcp_tool_call", "web_search")
OUT_OF_ROOM = "ran out of room in the model's context window"
PROVIDER_SAID = re.compile(
    r"unexpected status \d+|^\s*\{\s*\"error\"|[Qq]uota|high demand|stream disconnected"
)
"""How its errors look where the provider, or our proxy, refused or broke off."""


class CodexRuntime:
    """The prompt comes by standard input, a line of JSON an event goes out."""

    name = RuntimeName.CODEX
    provider = ProviderName.OPENAI
    uses_model = True

    def command(self, work: AgentWork) -> AgentCommand:
        """Start it without questions; a tree that it is not told to trust has no settings for it."""
        model = model_of(work)
        settings = [
            argument
            for name, value in _settings(work.context_limit_tokens).items()
            for argument in ("-c", f"{name}={value}")
        ]
        argv = versioned("codex", "exec", *FLAGS, *settings, "--model", model, "-")
        return AgentCommand(
            argv,
            # The proxy puts the real key in; without any the program does not start.
            {"CODEX_HOME": f"{SETTINGS}/codex", KEY_NAME: "held-by-the-proxy"},
            shell_calls=SHELL_CALLS,
            last_lines=LAST_LINES,
            # The folder has to exist; a configuration in it would not be read.
            files={"codex/AGENTS.md": _instructions(work.nested)},
        )

    def parse(self, work: AgentWork, transcript: bytes, stderr: bytes) -> AgentRun:
        """Read its events: what was done and how it ended; it never says which model answered."""
        said = _Said()
        for message in messages(transcript):
            said.take(message)
        error = None if said.has_finished else said.error or last_words(stderr)
        return AgentRun(
            runtime=self.name,
            version=said.version,
            model_asked=work.model,
            finished=said.has_finished,
            error=error,
            truncated=is_truncated(transcript),
            fault=None if said.has_finished else _fault(said.error),
            transcript=said.notes.taken(),
        )


def _instructions(nested: Mapping[str, str]) -> str:
    """The user's own instructions: of the tree's the program reads those at its top alone."""
    return "\n".join(
        f"# For what lies below {path.rpartition('/')[0]}/, from {path}\n\n{text}\n"
        for path, text in nested.items()
    )


def _settings(context_limit_tokens: int) -> dict[str, str]:
    """Settings by their dotted names, each value as TOML: what JSON writes of these is that too."""
    provider = {
        "name": "factory",
        "base_url": f"{RELAY}/v1",
        "env_key": KEY_NAME,
        "wire_api": "responses",
        "supports_websockets": False,
        "request_max_retries": RETRIES,
        "stream_max_retries": RETRIES,
    }
    values: dict[str, object] = {
        "model_provider": "factory",
        **{f"model_providers.factory.{name}": value for name, value in provider.items()},
        "model_context_window": context_limit_tokens,
        "model_auto_compact_token_limit": context_limit_tokens * COMPACT_PERCENT // 100,
        "project_doc_fallback_filenames": ["CLAUDE.md"],
        # Skills are found in a tree that is not trusted too.
        "skills.include_instructions": False,
        "skills.bundled.enabled": False,
        "check_for_update_on_startup": False,
        "analytics.enabled": False,
        "feedback.enabled": False,
        "otel.exporter": "none",
        "web_search": "disabled",
    }
    return {name: json.dumps(value) for name, value in values.items()}


class _Said:
    """What the events so far have told."""

    def __init__(self) -> None:
        self.version: str | None = None
        self.has_finished = False
        self.error: str | None = None
        self.notes = Notes()

    def take(self, message: dict[str, Any]) -> None:
        """Read the next event."""
        match message.get("type"):
            case "factory.version":
                found = re.search(r"\d[\w.-]*", text(message.get("version")) or "")
                self.version = found[0] if found else None
            case "item.started" | "item.completed":
                self._take_item(message["type"] == "item.completed", message.get("item"))
            case "turn.completed":
                self.has_finished = True
                usage = message.get("usage")
                tokens = [count(dig(usage, key)) for key in ("input_tokens", "output_tokens")]
                self.notes.call(CallSeen(input_tokens=tokens[0], output_tokens=tokens[1]))
            case "turn.failed":
                self.has_finished = False
                self.error = text(dig(message, "error", "message")) or "no text"
            case "error":
                self.notes.error(message.get("message"))
            case _:
                pass

    def _take_item(self, has_ended: bool, item: object) -> None:  # noqa: FBT001 - one of two events
        kind = dig(item, "type")
        if kind == "error":
            self.notes.error(dig(item, "message"))
        elif kind in TOOLS:
            is_good = dig(item, "status") == "completed" and dig(item, "exit_code") in (0, None)
            self.notes.tool(dig(item, "id"), kind, is_ok=is_good if has_ended else None)


def _fault(error: str | None) -> AgentFault:
    """It has no names for its errors, only sentences."""
    if error is None:
        return AgentFault.ENDED_EARLY
    if OUT_OF_ROOM in error:
        return AgentFault.CONTEXT_EXHAUSTED
    return AgentFault.PROVIDER_ERROR if PROVIDER_SAID.search(error) else AgentFault.AGENT_ERROR
