import json
from dataclasses import replace
from typing import Any

import pytest

from instrument.schema.transcript import CallSeen, FileRead, ToolUse
from instrument.schema.vocabulary import AgentFault, RuntimeName
from jobs.order import AgentWork
from jobs.runtimes.claude import ClaudeRuntime

WORK = AgentWork(RuntimeName.CLAUDE, "claude-sonnet-4-5", b"do it", context_limit_tokens=90_000)
INIT = {"type": "system", "subtype": "init", "model": "claude-sonnet-4-5", "claude_code_version": "2.1.332"}
SAID = {"type": "assistant", "message": {"model": "claude-sonnet-4-5-20250929", "content": []}}
DONE = {"type": "result", "subtype": "success", "is_error": False, "num_turns": 3, "result": "Done."}


def lines(*messages: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(message).encode() + b"\n" for message in messages)


def test_it_gets_the_socket_and_no_key() -> None:
    command = ClaudeRuntime().command(WORK)
    assert command.env["ANTHROPIC_UNIX_SOCKET"] == "/run/factory/proxy.sock"
    assert command.env["ANTHROPIC_BASE_URL"] == "http://localhost"
    assert command.env["ENABLE_TOOL_SEARCH"] == "true"
    assert command.env["CLAUDE_CODE_AUTO_COMPACT_WINDOW"] == "90000"
    assert command.argv[command.argv.index("--model") + 1] == "claude-sonnet-4-5"
    assert command.stdin == "prompt"


def test_the_trees_settings_are_not_read_and_its_instructions_are() -> None:
    command = ClaudeRuntime().command(WORK)
    assert command.argv[command.argv.index("--setting-sources") + 1] == "user"
    assert "--strict-mcp-config" in command.argv
    assert command.env["CLAUDE_CONFIG_DIR"] == "/home/agent/.factory/claude"
    assert command.files == {"claude/CLAUDE.md": "@/repo/CLAUDE.md\n@/repo/AGENTS.md\n"}


def test_every_model_that_it_may_call_is_the_one_priced() -> None:
    env = ClaudeRuntime().command(WORK).env
    models = {value for name, value in env.items() if name.endswith("MODEL")}
    assert models == {"claude-sonnet-4-5"}


def test_case_07_the_variables_that_keep_it_off_the_network_are_set() -> None:
    env = ClaudeRuntime().command(WORK).env
    for name in ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "DISABLE_AUTOUPDATER", "DISABLE_TELEMETRY"):
        assert env[name] == "1"


def test_a_good_end() -> None:
    run = ClaudeRuntime().parse(WORK, lines(INIT, SAID, DONE), b"")
    assert run.finished
    assert run.error is None
    assert not run.truncated
    assert (run.version, run.model_asked, run.model_answered, run.turns) == (
        "2.1.332",
        "claude-sonnet-4-5",
        "claude-sonnet-4-5-20250929",
        3,
    )


def test_a_message_that_the_program_wrote_itself_names_no_model() -> None:
    own = {"type": "assistant", "message": {"model": "<synthetic>", "content": []}}
    assert ClaudeRuntime().parse(WORK, lines(INIT, SAID, own, DONE), b"").model_answered == (
        "claude-sonnet-4-5-20250929"
    )
    assert ClaudeRuntime().parse(WORK, lines(INIT, own, DONE), b"").model_answered is None


def test_nothing_keeps_it_alive_after_its_last_message() -> None:
    command = ClaudeRuntime().command(WORK)
    assert command.env["CLAUDE_CODE_DISABLE_BACKGROUND_TASKS"] == "1"
    assert "ScheduleWakeup" in command.argv[command.argv.index("--disallowed-tools") + 1].split(",")


def test_what_it_did_is_told() -> None:
    read = {"type": "tool_use", "id": "a", "name": "Read", "input": {"file_path": "/repo/a.py", "offset": 3}}
    bash = {"type": "tool_use", "id": "b", "name": "Bash", "input": {"command": "false"}}
    blocks = [
        {
            "type": "assistant",
            "request_id": "req_1",
            "message": {"id": "msg_1", "model": "m", "usage": {"input_tokens": 1200}, "content": [block]},
        }
        for block in (read, bash)
    ]
    ends = [
        {"type": "tool_result", "tool_use_id": "b", "is_error": True},
        {"type": "tool_result", "tool_use_id": "a"},
    ]
    told = ClaudeRuntime().parse(
        WORK, lines(INIT, *blocks, {"type": "user", "message": {"content": ends}}, DONE), b""
    )
    assert told.transcript.calls == (CallSeen(model="m", request_id="req_1", input_tokens=1200),)
    assert told.transcript.tools == (ToolUse(name="Read", is_ok=True), ToolUse(name="Bash", is_ok=False))
    assert told.transcript.reads == (FileRead(path="/repo/a.py", first_line=3),)


@pytest.mark.parametrize(
    ("reason", "fault"),
    [
        ("max_turns", AgentFault.MAX_TURNS),
        ("prompt_too_long", AgentFault.CONTEXT_EXHAUSTED),
        ("api_error", AgentFault.PROVIDER_ERROR),
        ("something_new", AgentFault.AGENT_ERROR),
    ],
)
def test_why_it_did_not_finish_has_a_name(reason: str, fault: AgentFault) -> None:
    last = {**DONE, "is_error": True, "terminal_reason": reason}
    assert ClaudeRuntime().parse(WORK, lines(INIT, last), b"").fault is fault
    assert ClaudeRuntime().parse(WORK, lines(INIT, SAID), b"").fault is AgentFault.ENDED_EARLY
    assert ClaudeRuntime().parse(WORK, lines(INIT, DONE), b"").fault is None


def test_case_04_success_with_is_error_is_an_error() -> None:
    last = {**DONE, "is_error": True, "result": "API Error: Rate limit reached"}
    run = ClaudeRuntime().parse(WORK, lines(INIT, last), b"")
    assert not run.finished
    assert run.error == "API Error: Rate limit reached"


def test_an_end_without_success_names_its_subtype() -> None:
    last = {"type": "result", "subtype": "error_max_turns", "is_error": True}
    assert ClaudeRuntime().parse(WORK, lines(INIT, last), b"").error == "error_max_turns"
    unknown = {"type": "result", "subtype": "success"}
    assert not ClaudeRuntime().parse(WORK, lines(INIT, unknown), b"").finished


def test_without_a_last_message_stderr_speaks() -> None:
    run = ClaudeRuntime().parse(WORK, lines(INIT, SAID), b"x" * 900 + b"cannot start")
    assert not run.finished
    assert str(run.error).endswith("cannot start")
    assert len(str(run.error)) == 500
    assert ClaudeRuntime().parse(WORK, b"", b"").error == "It ended without its last message."


def test_case_18_a_line_of_3_mb_and_the_result_after_it_are_both_read() -> None:
    big = {"type": "assistant", "message": {"model": "claude-big", "content": "x" * 3_000_000}}
    run = ClaudeRuntime().parse(WORK, lines(INIT, big, DONE), b"")
    assert run.finished
    assert run.model_answered == "claude-big"


def test_case_18_an_output_cut_in_mid_string_is_truncated() -> None:
    whole = lines(INIT, {"type": "assistant", "message": {"model": "m", "content": "x" * 70_000}})
    run = ClaudeRuntime().parse(WORK, whole[:65_536], b"")
    assert run.truncated
    assert not run.finished


def test_a_last_line_without_an_end_is_whole_if_it_can_be_read() -> None:
    run = ClaudeRuntime().parse(WORK, lines(INIT, DONE).rstrip(b"\n"), b"")
    assert run.finished
    assert not run.truncated


def test_no_output_makes_it_raise() -> None:
    strange = [
        b"\xff\xfe\n",
        b"[" * 100_000 + b"\n",
        b"null\n1\n[]\n",
        lines({"type": "assistant", "message": 3}, {"type": ["x"]}, {"type": "result", "num_turns": -1}),
        b'{"type":"result","subtype":"success","is_error":true,"result":"\\ud800 half"}\n',
    ]
    for transcript in strange:
        run = ClaudeRuntime().parse(WORK, transcript, b"\xff")
        assert not run.finished
        assert run.model_dump_json()


def test_instructions_below_the_top_are_rules_of_the_users_for_what_lies_there() -> None:
    nested = {"pkg/CLAUDE.md": "Use tabs.", "a [b],c/d/AGENTS.md": "Use none."}
    files = ClaudeRuntime().command(replace(WORK, nested=nested)).files
    assert files["claude/rules/001.md"] == '---\npaths: ["pkg/**"]\n---\nUse tabs.\n'
    assert files["claude/rules/002.md"].startswith('---\npaths: ["a ?b??c/d/**"]\n---\n')
    assert set(ClaudeRuntime().command(WORK).files) == {"claude/CLAUDE.md"}
