"""A story's actions as calls of the tools on offer; the shell lines are run."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

from proxy.scripted.form import to_json
from proxy.scripted.story import EditFile, StoryError, Turn, WriteFile
from proxy.scripted.tools import Tool, ToolCall, call_for

BASH = {"name": "Bash", "input_schema": {"properties": {"command": {"type": "string"}}}}


def call_of(turn: Turn, *tools: dict[str, Any], context: str = "") -> ToolCall | None:
    offered = tuple(
        Tool.of(tool["name"], tool.get("description"), tool.get("input_schema")) for tool in tools
    )
    return call_for(turn, offered, context)


def shell_line(turn: Turn) -> str:
    call = call_of(turn, BASH)
    assert call is not None
    assert call.name == "Bash"
    command = call.arguments["command"]
    assert isinstance(command, str)
    return command


def run(turn: Turn, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", "-c", shell_line(turn)], cwd=folder, check=False, capture_output=True, text=True
    )


@pytest.mark.parametrize(
    ("tool", "expected"),
    [
        (
            {"name": "bash", "input_schema": {"properties": {"command": {"type": "string"}}}},
            {"command": "ls"},
        ),
        (
            {"name": "shell", "input_schema": {"properties": {"command": {"type": "array"}}}},
            {"command": ["sh", "-c", "ls"]},
        ),
        (
            {"name": "exec_command", "input_schema": {"properties": {"cmd": {"type": "string"}}}},
            {"cmd": "ls"},
        ),
        ({"name": "run_command"}, {"command": "ls"}),
    ],
)
def test_a_command_goes_to_whatever_shell_is_offered(tool: dict[str, Any], expected: dict[str, Any]) -> None:
    call = call_of(Turn(run="ls"), {"name": "Other"}, tool)
    assert call is not None
    assert (call.name, call.arguments) == (tool["name"], expected)


def test_without_a_shell_it_is_one_sentence() -> None:
    with pytest.raises(StoryError, match="tools: Read"):
        call_of(Turn(run="ls"), {"name": "Read"})


def test_speaking_needs_no_tool() -> None:
    assert call_of(Turn(finish="x")) is None


@pytest.mark.parametrize("content", ["", "a\n", "no newline", 'it\'s "$x" `y` \\n\n', "STORY_END\n", "ü\n\n"])
def test_a_file_is_written_through_the_shell_byte_for_byte(tmp_path: Path, content: str) -> None:
    path = "new folder/it's.txt"
    assert run(Turn(write=WriteFile(path=path, content=content)), tmp_path).returncode == 0
    assert (tmp_path / path).read_bytes() == content.encode()


def test_a_file_is_edited_through_the_shell_once(tmp_path: Path) -> None:
    (tmp_path / "x.py").write_text("a = 'ü'\nb = 1\n")
    edit = EditFile(path="x.py", old="a = 'ü'\n", new='a = "$HOME"\n')
    assert run(Turn(edit=edit), tmp_path).returncode == 0
    assert (tmp_path / "x.py").read_text() == 'a = "$HOME"\nb = 1\n'
    again = run(Turn(edit=edit), tmp_path)
    assert again.returncode == 1
    assert "0 times" in again.stderr


def test_file_tools_are_used_where_they_need_no_reading_first() -> None:
    write = {
        "name": "write_file",
        "description": "Makes a file.",
        "input_schema": {"properties": {"path": {}}},
    }
    edit = {
        "name": "edit",
        "description": "Replaces.",
        "input_schema": {"properties": {"filePath": {}, "oldString": {}, "newString": {}}},
    }
    context = to_json(["Primary working directory: /repo\n"])
    call = call_of(Turn(write=WriteFile(path="a/b", content="c")), BASH, write, edit, context=context)
    assert call is not None
    assert (call.name, call.arguments) == ("write_file", {"path": "/repo/a/b", "content": "c"})
    call = call_of(Turn(edit=EditFile(path="/x", old="o", new="n")), BASH, write, edit, context=context)
    assert call is not None
    assert call.arguments == {"filePath": "/x", "oldString": "o", "newString": "n"}
    picky = {**write, "description": "You must Read an existing file first."}
    call = call_of(Turn(write=WriteFile(path="a", content="c")), BASH, picky, context=context)
    assert call is not None
    assert call.name == "Bash"


def test_a_file_is_read_through_the_agents_own_tool_or_its_shell() -> None:
    read = {"name": "Read", "input_schema": {"properties": {"file_path": {"type": "string"}}}}
    place = to_json("Primary working directory: /repo\n")
    turn = Turn(read="a b.txt")
    assert call_of(turn, BASH, read, context=place) == ToolCall("Read", {"file_path": "/repo/a b.txt"})
    assert call_of(turn, BASH, context=place) == ToolCall("Bash", {"command": "cat 'a b.txt'"})
