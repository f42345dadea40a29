"""`order.json`, what the host asks of this job, checked before anything else happens.

Limits: reads one file; every error is one sentence naming the key.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any, Mapping

AGENT_ROLES = ("coder", "reviewer", "resolver")
COMMAND_ROLES = ("setup", "check", "gate")
SCHEMA_VERSION = 1


class OrderError(Exception):
    """The order cannot be read; the text is one sentence."""


@dataclass(frozen=True)
class Command:
    """One shell line, its own time limit in seconds and its own variables."""

    name: str
    run: str
    timeout_s: float
    env: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ShellCalls:
    """How a shell call looks in an agent's output, a JSON object a line; a path is keys joined by dots."""

    line: Mapping[str, str]
    """What the line's object holds: path to text."""
    command: str
    """Where the command is, in each item."""
    items: str | None = None
    """Where the line has a list of items, each of which may be a call; none: the line is the item."""
    item: Mapping[str, str] = field(default_factory=dict)
    """What an item that is a call holds: path to text."""


@dataclass(frozen=True)
class Agent:
    """The agent program; `review_path` is a path in the tree, for a reviewer only."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    reads_prompt: bool
    review_path: str | None
    shell_calls: ShellCalls | None = None
    last_lines: tuple[Mapping[str, str], ...] = ()
    """What its last line holds, path to text: one of these; none: it is waited for."""
    files: Mapping[str, str] = field(default_factory=dict)
    """Its settings: path below their folder to text."""
    cleared: tuple[str, ...] = ()
    """Paths in HOME that go before it starts."""
    hidden: tuple[str, ...] = ()
    """Paths in the tree that are not laid for it."""


@dataclass(frozen=True)
class Order:
    """The whole order; paths are absolute in the container."""

    key: str
    role: str
    commit: str
    pack: str
    deadline_s: float
    first_call_s: float
    disk_bytes: int
    patch_bytes: int
    patch_files: int
    env: Mapping[str, str] = field(default_factory=dict)
    secrets: tuple[str, ...] = ()
    always: tuple[Command, ...] = ()
    commands: tuple[Command, ...] = ()
    agent: Agent | None = None
    socket: str | None = None
    first_call_marker: str | None = None
    same_command: int = 0
    """How often the agent may run one command without a change of the tree; 0: that is not looked at."""
    gate_commands: tuple[str, ...] = ()
    """The gate's shell lines."""
    alternates: str | None = None
    """A folder of git objects beside the pack; none: all are in the pack."""
    relay_port: int | None = None
    """Where 127.0.0.1 shall lead to the proxy, for what speaks TCP only; none: nowhere."""
    docker: bool = False
    """Whether a Docker daemon of its own runs beside the work."""


def read_order(path: str) -> Order:
    """Read and check the file.

    Raises:
        OrderError: It is absent, is no JSON, or a key is missing or of the wrong kind.
    """
    try:
        with open(path, "rb") as file:
            document = json.loads(file.read())
    except OSError as error:
        raise OrderError(f"{path} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise OrderError(f"{path} is not JSON: {error}") from error
    return parse_order(document)


def parse_order(document: Any) -> Order:  # noqa: ANN401 - a foreign payload
    """Check every key that is used; keys that are not known here are left alone.

    Raises:
        OrderError: A key is missing or of the wrong kind.
    """
    order = _Reader(document, "order.json")
    version = order.number("schema_version")
    if version != SCHEMA_VERSION:
        raise OrderError(f"order.json: schema_version is {version}, this supervisor reads {SCHEMA_VERSION}")
    role = order.text("role")
    if role not in AGENT_ROLES + COMMAND_ROLES:
        raise OrderError(f"order.json: role {role!r} is none of {', '.join(AGENT_ROLES + COMMAND_ROLES)}")
    commit = order.text("commit")
    if not re.fullmatch(r"[0-9a-f]{40}", commit):
        raise OrderError("order.json: commit is not 40 hexadecimal digits")
    agent = order.get("agent")
    if (agent is None) == (role in AGENT_ROLES):
        raise OrderError(f"order.json: a {role} job has {'no' if agent is None else 'an'} agent")
    return Order(
        key=order.text("key"),
        role=role,
        commit=commit,
        pack=order.text("pack"),
        deadline_s=order.number("deadline_s"),
        first_call_s=order.number("first_call_s"),
        disk_bytes=int(order.number("disk_bytes")),
        patch_bytes=int(order.number("patch_bytes")),
        patch_files=int(order.number("patch_files")),
        env=order.texts_by_name("env"),
        secrets=order.texts("secrets"),
        always=order.commands("always"),
        commands=order.commands("commands"),
        agent=None if agent is None else _agent(_Reader(agent, "order.json: agent")),
        socket=order.optional_text("socket"),
        first_call_marker=order.optional_text("first_call_marker"),
        same_command=order.count("same_command"),
        gate_commands=order.texts("gate_commands"),
        alternates=order.optional_text("alternates"),
        relay_port=None if order.get("relay_port") is None else int(order.number("relay_port")),
        docker=order.flag("docker"),
    )


def _agent(agent: _Reader) -> Agent:
    argv = agent.texts("argv")
    if not argv:
        raise OrderError("order.json: agent: argv is empty")
    stdin = agent.text("stdin")
    if stdin not in ("prompt", "null"):
        raise OrderError(f"order.json: agent: stdin {stdin!r} is neither 'prompt' nor 'null'")
    review = agent.optional_text("review_path")
    if review is not None and (review.startswith("/") or not _is_plain(review)):
        raise OrderError(f"order.json: agent: review_path {review!r} is not a plain path in the tree")
    calls = agent.get("shell_calls")
    shell_calls = None if calls is None else _shell_calls(_Reader(calls, "order.json: agent: shell_calls"))
    return Agent(
        argv=argv,
        env=agent.texts_by_name("env"),
        reads_prompt=stdin == "prompt",
        review_path=review,
        shell_calls=shell_calls,
        last_lines=tuple(item.texts_by_name("line") for item in agent.objects("last_lines")),
        files=agent.texts_by_name("files") if agent.get("files") else {},
        cleared=agent.texts("cleared") if agent.get("cleared") else (),
        hidden=agent.texts("hidden") if agent.get("hidden") else (),
    )


def _shell_calls(calls: _Reader) -> ShellCalls:
    return ShellCalls(
        line=calls.texts_by_name("line"),
        command=calls.text("command"),
        items=calls.optional_text("items"),
        item=calls.texts_by_name("item"),
    )


def _is_plain(path: str) -> bool:
    return all(part not in ("", ".", "..", ".git") for part in path.split("/"))


class _Reader:
    """One JSON object whose values are asked for by kind."""

    def __init__(self, value: Any, name: str) -> None:  # noqa: ANN401 - a foreign payload
        if not isinstance(value, dict):
            raise OrderError(f"{name} is not an object")
        self._value: dict[str, Any] = value
        self._name = name

    def get(self, key: str) -> Any:  # noqa: ANN401 - a foreign payload
        return self._value.get(key)

    def _wrong(self, key: str, kind: str) -> OrderError:
        state = f"is not {kind}" if key in self._value else "is missing"
        return OrderError(f"{self._name}: {key} {state}")

    def text(self, key: str) -> str:
        value = self.get(key)
        if not isinstance(value, str) or not value or "\0" in value:
            raise self._wrong(key, "a text")
        return value

    def optional_text(self, key: str) -> str | None:
        return None if self.get(key) is None else self.text(key)

    def number(self, key: str) -> float:
        value = self.get(key)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not value > 0:
            raise self._wrong(key, "a number above zero")
        return value

    def count(self, key: str) -> int:
        value = self.get(key)
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise self._wrong(key, "a count")
        return value

    def flag(self, key: str) -> bool:
        """False where it is not there."""
        value = self.get(key)
        if value is not None and not isinstance(value, bool):
            raise self._wrong(key, "true or false")
        return value is True

    def texts(self, key: str) -> tuple[str, ...]:
        value = self.get(key)
        if not isinstance(value, list) or not all(isinstance(v, str) and "\0" not in v for v in value):
            raise self._wrong(key, "a list of texts")
        return tuple(value)

    def texts_by_name(self, key: str) -> dict[str, str]:
        value = self.get(key)
        if not isinstance(value, dict):
            raise self._wrong(key, "an object of texts")
        for name, text in value.items():
            if not isinstance(text, str) or "\0" in text or not name or "=" in name or "\0" in name:
                raise OrderError(f"{self._name}: {key}.{name} is not a variable with a text")
        return value

    def objects(self, key: str) -> list[_Reader]:
        value = [] if self.get(key) is None else self.get(key)
        if not isinstance(value, list):
            raise self._wrong(key, "a list")
        return [_Reader(item, f"{self._name}: {key}[{n}]") for n, item in enumerate(value)]

    def commands(self, key: str) -> tuple[Command, ...]:
        if not isinstance(self.get(key), list):
            raise self._wrong(key, "a list of commands")
        return tuple(
            Command(r.text("name"), r.text("run"), r.number("timeout_s"), r.texts_by_name("env"))
            for r in self.objects(key)
        )
