import json
from typing import Any

import pytest

from jobs.inside.calls import Calls
from jobs.inside.lines import MOST_LINE_BYTES
from jobs.inside.order import ShellCalls
from jobs.runtimes.claude import SHELL_CALLS

CLAUDE = ShellCalls(SHELL_CALLS.line, SHELL_CALLS.command, SHELL_CALLS.items, SHELL_CALLS.item)


def said(*content: Any, **more: Any) -> bytes:
    """One line as Claude Code prints it."""
    return json.dumps({"type": "assistant", "message": {"content": list(content)}, **more}).encode() + b"\n"


def bash(command: Any, **more: Any) -> dict[str, Any]:
    return {"type": "tool_use", "name": "Bash", "input": {"command": command}, **more}


def test_shell_calls_are_found_among_everything_else() -> None:
    stream = b"".join(
        [
            b'{"type":"system","subtype":"init"}\n',
            said({"type": "text", "text": "I run Bash, a tool_use."}),
            said(bash(" make test\n"), {"type": "tool_use", "name": "Read", "input": {"command": "no"}}),
            said(bash("ls"), bash("pwd")),
            json.dumps({"type": "user", "message": {"content": [bash("not the agent's")]}}).encode() + b"\n",
        ]
    )
    assert Calls(CLAUDE).feed(stream) == ["make test", "ls", "pwd"]


@pytest.mark.parametrize("size", [1, 3, 64, 1000])
def test_a_line_may_come_in_pieces(size: int) -> None:
    stream = said(bash("one")) + said(bash("zwei ü")) + said(bash("never ended")).rstrip(b"\n")
    calls = Calls(CLAUDE)
    pieces = [stream[n : n + size] for n in range(0, len(stream), size)]
    assert [command for piece in pieces for command in calls.feed(piece)] == ["one", "zwei ü"]


def test_case_18_a_line_of_3_mb_is_read_and_so_is_the_one_after_it() -> None:
    stream = said(bash("big", note="x" * 3_000_000)) + said(bash("small"))
    calls = Calls(CLAUDE)
    pieces = [stream[n : n + 65_536] for n in range(0, len(stream), 65_536)]
    assert [command for piece in pieces for command in calls.feed(piece)] == ["big", "small"]


def test_a_line_without_an_end_is_let_go() -> None:
    calls = Calls(CLAUDE)
    chunk = b"x" * (MOST_LINE_BYTES // 4)
    for _ in range(8):
        assert calls.feed(chunk) == []
    assert calls._lines._pieces == []
    assert calls.feed(said(bash("lost with it")) + said(bash("next"))) == ["next"]


@pytest.mark.parametrize(
    "line",
    [
        b"\xff\xfe tool_use Bash assistant",
        b'{"type":"assistant", "tool_use" "Bash"}',
        b'["assistant","tool_use","Bash"]',
        b'{"a":"assistant tool_use Bash","n":' + b"[" * 100_000,
        said(bash(["ls"]), bash(None), bash(7), bash("  "), 3, "tool_use").rstrip(b"\n"),
        json.dumps({"type": "assistant", "message": "tool_use Bash"}).encode(),
        json.dumps({"type": ["assistant", "tool_use", "Bash"]}).encode(),
        b'{"type":"assistant","message":{"content":{"type":"tool_use","name":"Bash"}}}',
        b'{"type":"assistant","message":{"content":[{"type":"tool_use","name":"Bash","input":'
        + b"9" * 200_000
        + b"}]}}",
    ],
    ids=range(9),
)
def test_garbage_is_passed_by(line: bytes) -> None:
    assert Calls(CLAUDE).feed(line + b"\n" + said(bash("next"))) == ["next"]


def test_half_a_surrogate_pair_is_a_command_like_another() -> None:
    assert Calls(CLAUDE).feed(said(bash("echo \ud800"))) == ["echo \ud800"]


def test_other_programs_forms_can_be_told_too() -> None:
    flat = ShellCalls({"type": "item.completed", "item.type": "command_execution"}, "item.command")
    line = {"type": "item.completed", "item": {"type": "command_execution", "command": "ls"}}
    begun = {**line, "type": "item.started"}
    assert Calls(flat).feed(json.dumps(begun).encode() + b"\n" + json.dumps(line).encode() + b"\n") == ["ls"]
    deep = ShellCalls({"type": "tool_use", "part.tool": "bash"}, "part.state.input.command")
    line = {"type": "tool_use", "part": {"tool": "bash", "state": {"input": {"command": "ls"}}}}
    assert Calls(deep).feed(json.dumps(line).encode() + b"\n") == ["ls"]
