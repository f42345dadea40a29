import json
from dataclasses import replace
from typing import Any

import pytest

from instrument.schema.transcript import CallSeen, FileRead, ToolUse
from instrument.schema.vocabulary import AgentFault, ProviderName, RuntimeName
from jobs.errors import JobsError
from jobs.inside.calls import Calls
from jobs.inside.order import ShellCalls
from jobs.order import AgentWork
from jobs.runtimes.opencode import SHELL_CALLS, OpencodeRuntime

WORK = AgentWork(RuntimeName.OPENCODE, "claude-sonnet-4-5", b"do it", context_limit_tokens=90_000)
VERSION = {"type": "factory.version", "version": "1.18.18"}
BEGUN = {"type": "step_start", "part": {"type": "step-start"}}
TOKENS = {"total": 1280, "input": 1200, "output": 80, "reasoning": 0, "cache": {"write": 0, "read": 0}}
ASKED = {"type": "step_finish", "part": {"reason": "tool-calls", "tokens": TOKENS}}
DONE = {"type": "step_finish", "part": {"reason": "stop", "tokens": {**TOKENS, "output": 20}}}


def lines(*messages: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(message).encode() + b"\n" for message in messages)


def tool(name: str, call: str, status: str = "completed", **asked: Any) -> dict[str, Any]:
    state = {"status": status, "input": asked, "time": {"start": 1000, "end": 1250}}
    return {"type": "tool_use", "part": {"type": "tool", "tool": name, "callID": call, "state": state}}


def config(work: AgentWork = WORK) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(OpencodeRuntime().command(work).env["OPENCODE_CONFIG_CONTENT"])
    return value


def test_it_reaches_the_proxy_by_tcp_and_has_no_key() -> None:
    command = OpencodeRuntime().command(WORK)
    options = config()["provider"]["anthropic"]["options"]
    assert options == {"baseURL": "http://127.0.0.1:17321/v1", "apiKey": "held-by-the-proxy"}
    assert command.stdin == "prompt"


def test_it_speaks_the_protocol_of_whomever_the_model_is() -> None:
    work = replace(WORK, model="gpt-5.5", provider=ProviderName.OPENAI)
    found = config(work)
    assert found["model"] == found["small_model"] == "openai/gpt-5.5"
    assert found["enabled_providers"] == list(found["provider"]) == ["openai"]
    assert found["provider"]["openai"]["models"]["gpt-5.5"]["limit"]["context"] == 90_000
    assert OpencodeRuntime().provider is None


def test_every_model_that_it_may_call_is_the_one_priced() -> None:
    assert config()["model"] == config()["small_model"] == "anthropic/claude-sonnet-4-5"
    argv = OpencodeRuntime().command(WORK).argv
    assert argv[argv.index("--title") + 1] == "task"


def test_it_knows_where_its_context_ends() -> None:
    models = config()["provider"]["anthropic"]["models"]
    limits = {"context": 90_000, "input": 90_000, "output": 8192}
    assert models == {"claude-sonnet-4-5": {"limit": limits}}
    small = AgentWork(RuntimeName.OPENCODE, "m", b"", context_limit_tokens=16_000)
    assert config(small)["provider"]["anthropic"]["models"]["m"]["limit"]["output"] == 4000


def test_the_trees_settings_are_hidden_and_its_instructions_named() -> None:
    command = OpencodeRuntime().command(WORK)
    assert ".opencode" in command.hidden
    assert ".config/opencode" in command.cleared
    assert config()["instructions"] == ["/repo/AGENTS.md", "/repo/CLAUDE.md"]


def test_without_a_model_it_does_not_start() -> None:
    with pytest.raises(JobsError, match="`opencode` needs a model"):
        OpencodeRuntime().command(AgentWork(RuntimeName.OPENCODE, None, b""))


def test_a_good_end_with_all_that_was_done() -> None:
    read = tool("read", "b", filePath="/repo/a.py", offset=10, limit=5)
    run = OpencodeRuntime().parse(
        WORK, lines(VERSION, BEGUN, tool("bash", "a", command="ls"), read, ASKED, BEGUN, DONE), b""
    )
    assert (run.finished, run.error, run.fault, run.truncated) == (True, None, None, False)
    assert (run.version, run.model_asked, run.model_answered, run.turns) == (
        *("1.18.18", "claude-sonnet-4-5"),
        *(None, 2),
    )
    assert run.transcript.calls == (
        CallSeen(input_tokens=1200, output_tokens=80),
        CallSeen(input_tokens=1200, output_tokens=20),
    )
    assert run.transcript.tools == (
        ToolUse(name="bash", is_ok=True, duration_ms=250),
        ToolUse(name="read", is_ok=True, duration_ms=250),
    )
    assert run.transcript.reads == (FileRead(path="/repo/a.py", first_line=10, last_line=14),)


def test_a_tool_that_failed_is_no_error_of_the_run() -> None:
    run = OpencodeRuntime().parse(WORK, lines(BEGUN, tool("edit", "a", "error"), ASKED, BEGUN, DONE), b"")
    assert run.finished
    assert [use.is_ok for use in run.transcript.tools] == [False]
    assert run.transcript.errors == ()


def test_an_end_after_a_summary_is_not_the_end() -> None:
    assert not OpencodeRuntime().parse(WORK, lines(BEGUN, DONE, BEGUN), b"").finished
    asked_to_go_on = {"type": "text", "part": {"type": "text", "synthetic": True, "text": "Continue"}}
    assert not OpencodeRuntime().parse(WORK, lines(BEGUN, DONE, asked_to_go_on), b"").finished


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("APIError", AgentFault.PROVIDER_ERROR),
        ("ContextOverflowError", AgentFault.CONTEXT_EXHAUSTED),
        ("UnknownError", AgentFault.AGENT_ERROR),
    ],
)
def test_an_error_has_its_name_and_its_words(name: str, fault: AgentFault) -> None:
    error = {"type": "error", "error": {"name": name, "data": {"message": "no such thing"}}}
    run = OpencodeRuntime().parse(WORK, lines(BEGUN, ASKED, error), b"")
    assert (run.finished, run.fault, run.error) == (False, fault, "no such thing")
    assert run.transcript.errors == ("no such thing",)


def test_without_an_end_it_ended_early() -> None:
    run = OpencodeRuntime().parse(WORK, lines(BEGUN, ASKED), b"out of memory")
    assert (run.finished, run.fault, run.error) == (False, AgentFault.ENDED_EARLY, "out of memory")


def test_its_shell_calls_are_found() -> None:
    shape = ShellCalls(SHELL_CALLS.line, SHELL_CALLS.command, SHELL_CALLS.items, SHELL_CALLS.item)
    stream = lines(BEGUN, tool("bash", "a", command=" make test "), tool("read", "b", filePath="x"), ASKED)
    assert Calls(shape).feed(stream) == ["make test"]


def test_no_output_makes_it_raise() -> None:
    strange = [
        b"\xff\xfe\n",
        b"[" * 100_000 + b"\n",
        lines({"type": "step_finish"}, {"type": "tool_use", "part": 3}, {"type": "error", "error": []}),
        lines({"type": "step_finish", "part": {"reason": ["stop"], "tokens": {"input": -1, "output": True}}}),
        b'{"type":"error","error":{"name":"\\ud800 half"}}\n',
        lines(BEGUN, tool("read", "b", filePath=1, offset="x"))[:-9],
    ]
    for transcript in strange:
        run = OpencodeRuntime().parse(WORK, transcript, b"\xff")
        assert not run.finished
        assert run.model_dump_json()
