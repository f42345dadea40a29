"""A story's action as a call of whatever tools the agent offered.

Pure: no I/O.
"""

import base64
import re
from dataclasses import dataclass
from typing import Any

from proxy.scripted.story import EditFile, StoryError, Turn, WriteFile

SHELLS = (
    "bash",
    "shell",
    "local_shell",
    "run_command",
    "run_shell_command",
    "execute_command",
    "exec_command",
    "shell_command",
)
READERS = ("read", "read_file")
WRITERS = ("write", "write_file", "create_file")
EDITORS = ("edit", "edit_file", "str_replace")
_COMMAND_KEYS = ("command", "cmd", "script")
_PATH_KEYS = ("file_path", "filePath", "path")
_NEEDS_READ = re.compile(r"\bread\b", re.IGNORECASE)
_FOLDER = re.compile(r"working directory: (/\S*)", re.IGNORECASE)

_EDIT = """\
import base64, pathlib, sys
path, old, new = (base64.b64decode(part).decode() for part in sys.argv[1:])
text = pathlib.Path(path).read_text(encoding="utf-8")
if text.count(old) != 1:
    sys.exit(f"{path}: the text to replace is there {text.count(old)} times, not once")
pathlib.Path(path).write_text(text.replace(old, new), encoding="utf-8")"""


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that the agent offers."""

    name: str
    description: str
    properties: dict[str, Any]
    """The arguments that its schema declares; may be empty."""

    @classmethod
    def of(cls, name: object, description: object, schema: object) -> "Tool":
        """Read an offer; what is absent is empty."""
        found = schema.get("properties") if isinstance(schema, dict) else None
        return cls(str(name), str(description or ""), found if isinstance(found, dict) else {})


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call of an offered tool."""

    name: str
    arguments: dict[str, Any]


def call_for(turn: Turn, tools: tuple[Tool, ...], context: str) -> ToolCall | None:
    """The tool call of a turn; none where it only speaks.

    Files go through the agent's own tools where they are offered and need no reading first,
    else through its shell. The context, as JSON, may name the folder that the agent works in.

    Raises:
        StoryError: The agent offers no tool that could do it.
    """
    if turn.run is not None:
        return _shell_call(turn.run, tools)
    if turn.read is not None:
        return _read_call(turn.read, tools, context)
    if turn.write is not None:
        return _write_call(turn.write, tools, context)
    if turn.edit is not None:
        return _edit_call(turn.edit, tools, context)
    return None


def _shell_call(command: str, tools: tuple[Tool, ...]) -> ToolCall:
    """A shell line through the shell tool that is offered."""
    tool = _find(tools, SHELLS)
    if tool is None:
        offered = ", ".join(tool.name for tool in tools) or "none"
        raise StoryError(f"The agent offers no shell tool that the story could use (tools: {offered}).")
    keys = tool.properties
    key = next((key for key in _COMMAND_KEYS if key in keys), "command")
    is_list = isinstance(keys.get(key), dict) and keys[key].get("type") == "array"
    arguments: dict[str, Any] = {key: ["sh", "-c", command] if is_list else command}
    if "description" in keys:
        arguments["description"] = "Run a command of the story"
    return ToolCall(tool.name, arguments)


def _read_call(path: str, tools: tuple[Tool, ...], context: str) -> ToolCall:
    """A file through the reading tool, or through the shell."""
    tool = _find(tools, READERS)
    absolute = _absolute(path, context)
    if tool is None or absolute is None:
        return _shell_call(f"cat {_quote(path)}", tools)
    return ToolCall(tool.name, {_path_key(tool): absolute})


def _write_call(write: WriteFile, tools: tuple[Tool, ...], context: str) -> ToolCall:
    """A file through the writing tool, or through the shell."""
    tool = _find(tools, WRITERS)
    path = _absolute(write.path, context)
    if tool is not None and path is not None and not _NEEDS_READ.search(tool.description):
        key = _path_key(tool)
        return ToolCall(tool.name, {key: path, "content": write.content})
    mark = "STORY_END"
    while mark in write.content:
        mark += "_"
    target = _quote(write.path)
    if write.content and not write.content.endswith("\n"):
        # A heredoc always ends its text with a newline, which this content has not.
        command = f"printf %s {_quote(write.content)} > {target}"
    else:
        command = f"cat > {target} <<'{mark}'\n{write.content}{mark}"
    return _shell_call(f'mkdir -p "$(dirname {target})" && {command}', tools)


def _edit_call(edit: EditFile, tools: tuple[Tool, ...], context: str) -> ToolCall:
    """A replacement through the editing tool, or through python3 in the shell."""
    tool = _find(tools, EDITORS)
    path = _absolute(edit.path, context)
    if tool is not None and path is not None and not _NEEDS_READ.search(tool.description):
        keys = tool.properties
        names = ("old_string", "new_string") if "old_string" in keys else ("oldString", "newString")
        key = _path_key(tool)
        return ToolCall(tool.name, {key: path, names[0]: edit.old, names[1]: edit.new})
    parts = (base64.b64encode(part.encode()).decode() for part in (edit.path, edit.old, edit.new))
    return _shell_call(f"python3 -c {_quote(_EDIT)} {' '.join(parts)}", tools)


def _find(tools: tuple[Tool, ...], names: tuple[str, ...]) -> Tool | None:
    """The first offered tool of these names, in the order of the names."""
    by_name = {tool.name.lower(): tool for tool in tools}
    return next((by_name[name] for name in names if name in by_name), None)


def _path_key(tool: Tool) -> str:
    """What the tool calls a path."""
    return next((key for key in _PATH_KEYS if key in tool.properties), "path")


def _absolute(path: str, context: str) -> str | None:
    """The path below the folder that the agent says it works in; none where it does not say."""
    if path.startswith("/"):
        return path
    folder = _FOLDER.search(context)
    return f"{folder[1].partition(chr(92))[0].rstrip('/')}/{path}" if folder else None


def _quote(text: str) -> str:
    """A shell word that stands for this text."""
    return "'" + text.replace("'", "'\"'\"'") + "'"
