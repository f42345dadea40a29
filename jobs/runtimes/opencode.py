"""The adapter of opencode, run once without a terminal.

Pure: no I/O. Flags, variables and the shape of its output were read from version 1.18.18 itself.
Limits: it never ends by a most of turns: the `steps` of an agent of its own only ask the model to.
"""

import json
from typing import Any

from instrument.schema.job import AgentRun
from instrument.schema.transcript import CallSeen
from instrument.schema.vocabulary import AgentFault, ProviderName, RuntimeName
from jobs.order import AgentWork
from jobs.runtimes.jsonlines import Notes, count, dig, is_truncated, last_words, messages, text
from jobs.runtimes.protocol import RELAY, REPO, AgentCommand, ShellCalls, model_of
from jobs.runtimes.versioned import versioned

QUIET = (
    "OPENCODE_DISABLE_AUTOUPDATE",
    "OPENCODE_DISABLE_CLAUDE_CODE_SKILLS",
    "OPENCODE_DISABLE_DEFAULT_PLUGINS",
    "OPENCODE_DISABLE_EXTERNAL_SKILLS",
    "OPENCODE_DISABLE_LSP_DOWNLOAD",
    "OPENCODE_DISABLE_MODELS_FETCH",
    "OPENCODE_DISABLE_PROJECT_CONFIG",
    "OPENCODE_DISABLE_SHARE",
    "OPENCODE_PURE",
)
HIDDEN = (".opencode", "opencode.json", "opencode.jsonc")
"""In spite of all the variables, its newer half runs the plug-ins that it finds below the first."""
CLEARED = (".config/opencode", ".opencode", ".claude")

OUTPUT_TOKENS = 8192
"""The most of one answer; it compacts where the context has no more room for as much."""

SHELL_CALLS = ShellCalls(line={"type": "tool_use", "part.tool": "bash"}, command="part.state.input.command")
LAST_LINES = ({"type": "step_finish", "part.reason": "stop"},)


class OpencodeRuntime:
    """The prompt comes by standard input, a line of JSON an event goes out."""

    name = RuntimeName.OPENCODE
    provider = None
    uses_model = True

    def command(self, work: AgentWork) -> AgentCommand:
        """Start it without questions: the container is the fence."""
        model = model_of(work)
        # Without a title it asks the model for one.
        argv = versioned("opencode", "run", "--format", "json", "--auto", "--title", "task")
        env = {
            **dict.fromkeys(QUIET, "1"),
            "OPENCODE_CONFIG_CONTENT": json.dumps(_config(work.provider, model, work.context_limit_tokens)),
        }
        return AgentCommand(
            argv,
            env,
            shell_calls=SHELL_CALLS,
            last_lines=LAST_LINES,
            cleared=CLEARED,
            hidden=HIDDEN,
        )

    def parse(self, work: AgentWork, transcript: bytes, stderr: bytes) -> AgentRun:
        """Read its events: what was done and how it ended; it never says which model answered."""
        said = _Said()
        for message in messages(transcript):
            said.take(message)
        return AgentRun(
            runtime=self.name,
            version=said.version,
            model_asked=work.model,
            finished=said.has_finished,
            error=None if said.has_finished else said.error or last_words(stderr),
            truncated=is_truncated(transcript),
            turns=said.turns,
            fault=None if said.has_finished else said.fault,
            transcript=said.notes.taken(),
        )


def _config(provider: ProviderName, model: str, context_limit_tokens: int) -> dict[str, object]:
    """Its whole configuration; it knows the model, so that it asks for no list of them."""
    known = f"{provider}/{model}"
    limits = {
        "context": context_limit_tokens,
        # Its own list has one for some models, and that would count instead of the context.
        "input": context_limit_tokens,
        "output": min(OUTPUT_TOKENS, context_limit_tokens // 4),
    }
    return {
        "autoupdate": False,
        "share": "disabled",
        # Its own undo would copy the tree into HOME.
        "snapshot": False,
        "lsp": False,
        "formatter": False,
        "model": known,
        # Side calls of a smaller model would need a second known price.
        "small_model": known,
        "enabled_providers": [provider],
        "provider": {
            provider: {
                # The proxy puts the real key in; without any the program offers no model.
                "options": {"baseURL": f"{RELAY}/v1", "apiKey": "held-by-the-proxy"},
                "models": {model: {"limit": limits}},
            }
        },
        # With the tree's settings left out, its instructions have to be named: those at its top.
        # Others it finds by itself where it reads a file.
        "instructions": [f"{REPO}/AGENTS.md", f"{REPO}/CLAUDE.md"],
        "permission": {"*": "allow", "webfetch": "deny", "websearch": "deny"},
    }


class _Said:
    """What the events so far have told."""

    def __init__(self) -> None:
        self.version: str | None = None
        self.has_finished = False
        self.error: str | None = None
        self.fault = AgentFault.ENDED_EARLY
        self.turns: int | None = None
        self.notes = Notes()

    def take(self, message: dict[str, Any]) -> None:
        """Read the next event; any after the last step shows that it was not the last."""
        self.has_finished = False
        part = message.get("part")
        match message.get("type"):
            case "factory.version":
                self.version = text(message.get("version"))
            case "step_finish":
                self._take_step(part)
            case "tool_use":
                self._take_tool(part)
            case "error":
                self._take_error(message.get("error"))
            case _:
                pass

    def _take_step(self, part: object) -> None:
        self.turns = (self.turns or 0) + 1
        self.has_finished = dig(part, "reason") == "stop"
        tokens = dig(part, "tokens")
        self.notes.call(
            CallSeen(input_tokens=count(dig(tokens, "input")), output_tokens=count(dig(tokens, "output")))
        )

    def _take_tool(self, part: object) -> None:
        state = dig(part, "state")
        began, ended = (count(dig(state, "time", key)) for key in ("start", "end"))
        took = max(0, ended - began) if began is not None and ended is not None else None
        is_ok = dig(state, "status") == "completed"
        self.notes.tool(dig(part, "callID"), dig(part, "tool"), is_ok=is_ok, duration_ms=took)
        if dig(part, "tool") == "read":
            asked = dig(state, "input")
            self.notes.read(dig(asked, "filePath"), dig(asked, "offset"), dig(asked, "limit"))

    def _take_error(self, error: object) -> None:
        name = text(dig(error, "name")) or "error"
        self.error = text(dig(error, "data", "message")) or name
        self.fault = FAULTS.get(name, AgentFault.AGENT_ERROR)
        self.notes.error(self.error)


FAULTS = {
    "APIError": AgentFault.PROVIDER_ERROR,
    "ProviderAuthError": AgentFault.PROVIDER_ERROR,
    "ContextOverflowError": AgentFault.CONTEXT_EXHAUSTED,
    "MessageOutputLengthError": AgentFault.CONTEXT_EXHAUSTED,
}
