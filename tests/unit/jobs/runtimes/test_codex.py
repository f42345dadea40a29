import itertools
import json
import tomllib
from dataclasses import replace
from typing import Any

import pytest

from instrument.schema.transcript import CallSeen, ToolUse
from instrument.schema.vocabulary import AgentFault, ProviderName, RuntimeName
from jobs.errors import JobsError
from jobs.inside.calls import Calls
from jobs.inside.order import ShellCalls
from jobs.order import AgentWork
from jobs.runtimes.codex import KEY_NAME, SHELL_CALLS, CodexRuntime

WORK = AgentWork(RuntimeName.CODEX, "gpt-5.5", b"do it", context_limit_tokens=90_000)
VERSION = {"type": "factory.version", "version": "codex-cli 0.171.0"}
BEGUN = {"type": "turn.started"}
USAGE = {
    "input_tokens": 2000,
    "cached_input_tokens": 400,
    "output_tokens": 100,
    "reasoning_output_tokens": 10,
}
DONE = {"type": "turn.completed", "usage": USAGE}


def lines(*messages: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(message).encode() + b"\n" for message in messages)


def item(event: str, **fields: Any) -> dict[str, Any]:
    return {"type": f"item.{event}", "item": {"id": "item_1", "type": "command_execution", **fields}}


def failed(sentence: str) -> bytes:
    error = {"type": "error", "message": sentence}
    return lines(BEGUN, error, {"type": "turn.failed", "error": {"message": sentence}})


def settings() -> dict[str, Any]:
    argv = CodexRuntime().command(WORK).argv
    values = [argument for before, argument in itertools.pairwise(argv) if before == "-c"][1:]
    return tomllib.loads("\n".join(values))


def test_it_reaches_the_proxy_by_tcp_and_has_no_key() -> None:
    command = CodexRuntime().command(WORK)
    provider = settings()["model_providers"][settings()["model_provider"]]
    assert provider["base_url"] == "http://127.0.0.1:17321/v1"
    assert (provider["wire_api"], provider["supports_websockets"]) == ("responses", False)
    assert command.env[provider["env_key"]] == command.env[KEY_NAME] == "held-by-the-proxy"
    assert CodexRuntime().provider is ProviderName.OPENAI


def test_the_prompt_comes_by_standard_input() -> None:
    command = CodexRuntime().command(WORK)
    assert (command.stdin, command.argv[-1]) == ("prompt", "-")
    assert command.argv[command.argv.index("--model") + 1] == "gpt-5.5"


def test_it_summarises_before_its_context_ends() -> None:
    assert settings()["model_context_window"] == 90_000
    assert settings()["model_auto_compact_token_limit"] == 81_000


def test_neither_the_tree_nor_home_sets_it_up() -> None:
    command = CodexRuntime().command(WORK)
    assert "--ignore-user-config" in command.argv
    assert "--trust" not in command.argv
    assert settings()["skills"]["include_instructions"] is False
    assert settings()["project_doc_fallback_filenames"] == ["CLAUDE.md"]


def test_without_a_model_it_does_not_start() -> None:
    with pytest.raises(JobsError, match="`codex` needs a model"):
        CodexRuntime().command(AgentWork(RuntimeName.CODEX, None, b""))


def test_a_good_end_with_all_that_was_done() -> None:
    run = CodexRuntime().parse(
        WORK,
        lines(
            *(VERSION, BEGUN, item("started", status="in_progress", exit_code=None)),
            *(item("completed", status="completed", exit_code=0), DONE),
        ),
        b"",
    )
    assert (run.finished, run.error, run.fault, run.version) == (True, None, None, "0.171.0")
    assert run.transcript.calls == (CallSeen(input_tokens=2000, output_tokens=100),)
    assert run.transcript.tools == (ToolUse(name="command_execution", is_ok=True),)


def test_a_command_that_failed_is_told_and_one_without_an_end_is_not() -> None:
    bad = item("completed", id="a", status="failed", exit_code=1)
    begun = item("started", id="b", status="in_progress")
    run = CodexRuntime().parse(WORK, lines(bad, begun, DONE), b"")
    assert [use.is_ok for use in run.transcript.tools] == [False, None]
    assert run.finished


@pytest.mark.parametrize(
    ("sentence", "fault"),
    [
        ('{"error": {"message": "The budget of this job is used up."}}', AgentFault.PROVIDER_ERROR),
        ("unexpected status 401 Unauthorized: no", AgentFault.PROVIDER_ERROR),
        ("Quota exceeded. Check your plan and billing details.", AgentFault.PROVIDER_ERROR),
        (
            "Codex ran out of room in the model's context window. Start a new thread.",
            AgentFault.CONTEXT_EXHAUSTED,
        ),
        ("a tool went wrong", AgentFault.AGENT_ERROR),
    ],
)
def test_its_sentences_are_told_apart(sentence: str, fault: AgentFault) -> None:
    run = CodexRuntime().parse(WORK, failed(sentence), b"")
    assert (run.finished, run.fault, run.error) == (False, fault, sentence)
    assert run.transcript.errors == (sentence,)


def test_without_an_end_it_ended_early() -> None:
    run = CodexRuntime().parse(WORK, lines(BEGUN), b"no such flag")
    assert (run.finished, run.fault, run.error) == (False, AgentFault.ENDED_EARLY, "no such flag")


def test_its_shell_calls_are_found_when_they_begin() -> None:
    shape = ShellCalls(SHELL_CALLS.line, SHELL_CALLS.command, SHELL_CALLS.items, SHELL_CALLS.item)
    command = "/bin/bash -lc 'make test'"
    stream = lines(item("started", command=command), item("completed", command=command))
    assert Calls(shape).feed(stream) == [command]


def test_no_output_makes_it_raise() -> None:
    strange = [
        b"\xff\xfe\n",
        b"[" * 100_000 + b"\n",
        lines({"type": "item.completed"}, {"type": "item.started", "item": {"type": ["x"]}}),
        lines({"type": "turn.failed", "error": "none"}, {"type": "error", "message": 3}),
        b'{"type":"turn.failed","error":{"message":"\\ud800 half"}}\n',
        lines(item("completed", aggregated_output="x" * 3_000_000))[:-9],
    ]
    for transcript in strange:
        run = CodexRuntime().parse(WORK, transcript, b"\xff")
        assert not run.finished
        assert run.model_dump_json()


def test_instructions_below_the_top_are_the_users_with_the_place_that_they_are_for() -> None:
    nested = {"pkg/AGENTS.md": "Use tabs.", "lib/CLAUDE.md": "Use none."}
    files = CodexRuntime().command(replace(WORK, nested=nested)).files
    assert files["codex/AGENTS.md"] == (
        "# For what lies below pkg/, from pkg/AGENTS.md\n\nUse tabs.\n\n"
        "# For what lies below lib/, from lib/CLAUDE.md\n\nUse none.\n"
    )
    assert CodexRuntime().command(WORK).files == {"codex/AGENTS.md": ""}
