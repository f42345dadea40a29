from pathlib import Path
from typing import Any

import pytest

from jobs.inside.order import OrderError, ShellCalls, parse_order, read_order
from support.supervisor import command, make_order

COMMIT = "a" * 40


def test_a_whole_order_is_read() -> None:
    order = parse_order(
        make_order(COMMIT, run="true", always=[command("install", "make", 30, A="1")], env={"B": "2"})
    )
    assert order.commit == COMMIT
    assert order.agent is not None
    assert order.agent.argv == ("bash", "-c", "true")
    assert not order.agent.reads_prompt
    assert order.always[0].env == {"A": "1"}
    assert order.env == {"B": "2"}
    assert order.socket is None


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"schema_version": 2}, "schema_version is 2, this supervisor reads 1"),
        ({"role": "cook"}, "role 'cook' is none of coder, reviewer, resolver, setup, check, gate"),
        ({"role": "check"}, "a check job has an agent"),
        ({"agent": None}, "a coder job has no agent"),
        ({"agent": []}, "agent is not an object"),
        ({"commit": "HEAD"}, "commit is not 40 hexadecimal digits"),
        ({"deadline_s": "30"}, "deadline_s is not a number above zero"),
        ({"deadline_s": True}, "deadline_s is not a number above zero"),
        ({"patch_files": 0}, "patch_files is not a number above zero"),
        ({"key": ""}, "key is not a text"),
        ({"env": {"A=B": "1"}}, "env.A=B is not a variable with a text"),
        ({"env": {"A": "a\0b"}}, "env.A is not a variable with a text"),
        ({"secrets": ["a", 1]}, "secrets is not a list of texts"),
        ({"commands": [{"name": "x"}]}, "commands[0]: run is missing"),
        ({"socket": 1}, "socket is not a text"),
        ({"same_command": -1}, "same_command is not a count"),
        ({"same_command": True}, "same_command is not a count"),
        ({"gate_commands": "make"}, "gate_commands is not a list of texts"),
    ],
)
def test_what_is_wrong_is_named(change: dict[str, Any], sentence: str) -> None:
    with pytest.raises(OrderError) as raised:
        parse_order({**make_order(COMMIT, run="true"), **change})
    assert sentence in str(raised.value)


def test_the_form_of_a_shell_call_is_read_and_what_is_wrong_in_it_is_named() -> None:
    document = make_order(COMMIT, run="true", same_command=0)
    calls = {"line": {"type": "tool"}, "items": None, "item": {}, "command": "part.command"}
    document["agent"]["shell_calls"] = calls
    order = parse_order(document)
    assert order.agent is not None
    assert order.agent.shell_calls == ShellCalls({"type": "tool"}, "part.command")
    assert order.same_command == 0
    del calls["command"]
    with pytest.raises(OrderError, match="agent: shell_calls: command is missing"):
        parse_order(document)


def test_a_relay_is_asked_for_by_its_port() -> None:
    document = make_order(COMMIT, run="true")
    assert parse_order(document).relay_port is None
    assert parse_order({**document, "relay_port": 17321}).relay_port == 17321
    with pytest.raises(OrderError, match="relay_port is not a number above zero"):
        parse_order({**document, "relay_port": "80"})


def test_a_daemon_is_there_only_where_it_is_asked_for() -> None:
    document = make_order(COMMIT, run="true")
    assert parse_order(document).docker is False
    assert parse_order({**document, "docker": True}).docker is True
    with pytest.raises(OrderError, match="docker is not true or false"):
        parse_order({**document, "docker": "yes"})


@pytest.mark.parametrize("path", ["/etc/passwd", "../x", "a//b", "a/./b", ".git/x", "a/"])
def test_a_review_path_stays_in_the_tree(path: str) -> None:
    document = make_order(COMMIT, role="reviewer", run="true")
    document["agent"]["review_path"] = path
    with pytest.raises(OrderError, match="review_path"):
        parse_order(document)


def test_a_missing_or_broken_file_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(OrderError, match="cannot be read"):
        read_order(str(tmp_path / "order.json"))
    (tmp_path / "order.json").write_text("{")
    with pytest.raises(OrderError, match="is not JSON"):
        read_order(str(tmp_path / "order.json"))


def test_what_a_program_needs_is_read_and_may_be_left_out() -> None:
    document = make_order(COMMIT, run="true")
    bare = parse_order(document).agent
    assert bare is not None
    assert (bare.last_lines, bare.files) == ((), {})
    assert (bare.cleared, bare.hidden) == ((), ())
    document["agent"].update(
        last_lines=[{"line": {"type": "result"}}],
        files={"a/b": "c"},
        hidden=[".tool"],
        cleared=[".x"],
    )
    full = parse_order(document).agent
    assert full is not None
    assert full.last_lines == ({"type": "result"},)
    assert (full.files, full.cleared, full.hidden) == ({"a/b": "c"}, (".x",), (".tool",))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"last_lines": {}}, "agent: last_lines is not a list"),
        ({"last_lines": [{"line": "x"}]}, "last_lines[0]: line is not an object of texts"),
        ({"files": {"a": 1}}, "files.a is not a variable with a text"),
        ({"hidden": ".tool"}, "agent: hidden is not a list of texts"),
    ],
)
def test_what_is_wrong_in_a_programs_needs_is_named(change: dict[str, Any], sentence: str) -> None:
    document = make_order(COMMIT, run="true")
    document["agent"].update(change)
    with pytest.raises(OrderError) as raised:
        parse_order(document)
    assert sentence in str(raised.value)
