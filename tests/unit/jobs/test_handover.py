import json
import sys
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest

from instrument.schema.vocabulary import Role, RuntimeName
from jobs.errors import JobsError
from jobs.handover import (
    agent_command,
    keep_inputs,
    keep_log,
    mark_started,
    order_document,
    pack_inputs,
    sidecar_line,
    was_started,
)
from jobs.inside.order import parse_order
from jobs.order import AgentWork, Command, FallbackOrder, JobOrder, Limits, ProxyOrder
from support.orders import COMMIT, make_order

WORK = AgentWork(RuntimeName.COMMAND, None, b"do it", line="true")
CLAUDE = AgentWork(RuntimeName.CLAUDE, "claude-sonnet-4-5", b"do it")
PROXY = ProxyOrder(
    "https://api.example.org", secret="sk-secret-value", budget_microusd=7, story=b"rounds: []"
)
FALLBACK = FallbackOrder("https://b.example.org", "sk-other-secret-value", "bearer")


def document(order: JobOrder) -> dict[str, object]:
    return order_document(order, agent_command(order))


def test_the_document_is_what_the_supervisor_reads(tmp_path: Path) -> None:
    order = make_order(tmp_path, agent=replace(WORK, review_path=".agents/reviews/001-round1.md"))
    read = document(order)
    assert set(read) == {
        *("schema_version", "key", "role", "commit", "pack", "deadline_s", "first_call_s", "disk_bytes"),
        *("same_command", "gate_commands"),
        *("patch_bytes", "patch_files", "env", "secrets", "always", "commands", "agent", "socket"),
        *("first_call_marker", "alternates", "relay_port", "docker"),
    }
    assert read["commit"] == COMMIT
    assert read["socket"] is None
    agent = read["agent"]
    assert isinstance(agent, dict)
    assert agent["review_path"] == ".agents/reviews/001-round1.md"
    assert agent["stdin"] == "prompt"


def test_what_is_counted_of_an_agent_goes_in(tmp_path: Path) -> None:
    limits = Limits(same_command=4)
    work = replace(CLAUDE, gate_commands=("make test", "make lint"))
    read = document(make_order(tmp_path, agent=work, limits=limits))
    assert (read["same_command"], read["gate_commands"]) == (4, ["make test", "make lint"])
    order = parse_order(json.loads(json.dumps(read)))
    assert order.agent is not None
    assert order.agent.shell_calls is not None
    assert order.agent.shell_calls.command == "input.command"
    assert order.agent.last_lines == ({"type": "result"},)
    assert order.agent.files == {"claude/CLAUDE.md": "@/repo/CLAUDE.md\n@/repo/AGENTS.md\n"}
    assert order.agent.hidden == ()
    check = document(make_order(tmp_path, role=Role.CHECK, commands=(Command("a", "y"),)))
    assert parse_order(json.loads(json.dumps(check))).gate_commands == ()


def test_whatever_runs_beside_a_proxy_reaches_it_by_tcp_at_one_port(tmp_path: Path) -> None:
    beside = document(make_order(tmp_path, agent=CLAUDE, proxy=replace(PROXY, egress=("files.example.org",))))
    assert beside["relay_port"] == 17321
    env = beside["env"]
    assert isinstance(env, dict)
    assert env["HTTPS_PROXY"] == env["https_proxy"] == "http://127.0.0.1:17321"
    assert parse_order(json.loads(json.dumps(beside))).relay_port == 17321
    assert document(make_order(tmp_path, agent=WORK))["relay_port"] is None


@pytest.mark.parametrize("has_docker", [True, False])
def test_the_supervisor_is_told_whether_to_start_a_daemon(tmp_path: Path, *, has_docker: bool) -> None:
    read = document(make_order(tmp_path, agent=WORK, limits=Limits(has_docker=has_docker)))
    assert parse_order(json.loads(json.dumps(read))).docker is has_docker


def test_a_first_call_is_waited_for_only_where_a_model_is_called(tmp_path: Path) -> None:
    with_model = document(make_order(tmp_path, agent=CLAUDE, proxy=PROXY))
    without = document(make_order(tmp_path, agent=WORK, proxy=PROXY))
    assert with_model["first_call_marker"] == "/run/factory/called"
    assert without["first_call_marker"] is None
    assert without["socket"] == "/run/factory/proxy.sock"


def test_commands_keep_their_order_and_environment(tmp_path: Path) -> None:
    order = make_order(
        tmp_path, role=Role.CHECK, commands=(Command("b", "x", 5, {"A": "1"}), Command("a", "y"))
    )
    assert document(order)["commands"] == [
        {"name": "b", "run": "x", "timeout_s": 5, "env": {"A": "1"}},
        {"name": "a", "run": "y", "timeout_s": 600, "env": {}},
    ]
    assert document(order)["agent"] is None


def test_the_longest_secret_is_masked_first_and_short_ones_not_at_all(tmp_path: Path) -> None:
    order = make_order(tmp_path, env={"A": "abcd", "B": "abcd-efgh", "C": "1"})
    assert document(order)["secrets"] == ["abcd-efgh", "abcd"]


def test_the_host_keeps_the_order_without_a_secret(tmp_path: Path) -> None:
    always = (Command("deps", "make deps", 60, {"HTTPS_PROXY": "http://me:proxy-secret-value@proxy:1"}),)
    order = make_order(tmp_path, agent=CLAUDE, proxy=PROXY, env={"TOKEN": "env-secret-value"}, always=always)
    keep_inputs(order, document(order))
    kept = (order.folder / "in" / "order.json").read_text(encoding="utf-8")
    assert json.loads(kept)["env"] == {"TOKEN": "***"}
    assert json.loads(kept)["always"][0]["run"] == "make deps"
    assert "secret-value" not in kept
    assert (order.folder / "in" / "prompt.md").read_bytes() == b"do it"
    modes = {path.name: path.stat().st_mode & 0o777 for path in (order.folder, *order.folder.rglob("*"))}
    assert modes == {order.folder.name: 0o700, "in": 0o700, "order.json": 0o600, "prompt.md": 0o600}


def test_the_archive_is_roots_alone_and_never_holds_the_key(tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "__main__.py").write_bytes(b"print()")
    (inside / "notes.txt").write_bytes(b"no")
    order = make_order(tmp_path, agent=CLAUDE, proxy=PROXY, env={"TOKEN": "env-secret-value"})
    order.pack.write_bytes(b"PACK" * 1000)
    with pack_inputs(order, document(order), inside) as file, tarfile.open(fileobj=file) as tar:
        entries = {entry.name: entry for entry in tar}
        pack = tar.extractfile("in/tree.pack")
        assert pack is not None
        assert pack.read() == b"PACK" * 1000
        file.seek(0)
        assert b"sk-secret-value" not in file.read()
    assert set(entries) == {
        *("order.json", "in", "inside", "out", "in/tree.pack", "in/prompt.md", "inside/__main__.py"),
        *("inside/__pycache__", f"inside/__pycache__/__main__.{sys.implementation.cache_tag}.pyc"),
    }
    assert all(entry.mode & 0o077 == 0 and entry.uid == 0 for entry in entries.values())


def test_the_sidecar_is_told_one_line(tmp_path: Path) -> None:
    line = sidecar_line(make_order(tmp_path, proxy=PROXY))
    assert line.count(b"\n") == 1
    assert line.endswith(b"\n")
    told = json.loads(line)
    assert told["secret"] == "sk-secret-value"
    assert told["story"] == "rounds: []"
    assert told["deadline_s"] == 60
    assert sidecar_line(make_order(tmp_path)) == b""


def test_fallbacks_and_what_must_not_be_kept_travel_in_that_line_alone(tmp_path: Path) -> None:
    proxy = replace(PROXY, fallbacks=(FALLBACK,))
    order = make_order(
        tmp_path, agent=CLAUDE, proxy=proxy, env={"TOKEN": "env-value", "N": "1", "L": "a\nbcd"}
    )
    told = json.loads(sidecar_line(order))
    assert told["fallbacks"] == [
        {"base_url": "https://b.example.org", "secret": "sk-other-secret-value", "auth": "bearer"}
    ]
    assert told["masked"] == ["env-value"]
    assert "secret-value" not in json.dumps(document(order)) + repr(order)
    assert proxy.secrets == ("sk-secret-value", "sk-other-secret-value")


def test_a_pod_that_began_is_known_to_the_next_process(tmp_path: Path) -> None:
    order = make_order(tmp_path)
    keep_inputs(order, document(order))
    assert not was_started(order)
    mark_started(order)
    assert was_started(order)


def test_a_log_is_kept_with_its_secrets_masked(tmp_path: Path) -> None:
    proxy = replace(PROXY, fallbacks=(FALLBACK,))
    order = make_order(tmp_path, proxy=proxy, env={"TOKEN": "env-secret-value"})
    order.folder.mkdir(parents=True)
    keep_log(order, "proxy.log", b"saw sk-secret-value, sk-other-secret-value and env-secret-value\n")
    keep_log(order, "empty.log", b"")
    assert (order.folder / "proxy.log").read_bytes() == b"saw ***, *** and ***\n"
    assert not (order.folder / "empty.log").exists()


def test_what_a_runtime_lacks_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(JobsError, match=r"\[agent.command\]"):
        agent_command(make_order(tmp_path, agent=replace(WORK, line=None)))
    with pytest.raises(JobsError, match="needs a model"):
        agent_command(make_order(tmp_path, agent=replace(CLAUDE, model=None)))


def test_case_17_no_argument_or_variable_grows_with_the_prompt(tmp_path: Path) -> None:
    for work in (WORK, CLAUDE):
        command = agent_command(make_order(tmp_path, agent=replace(work, prompt=b"x" * 300_000)))
        assert command is not None
        assert max(len(text) for text in (*command.argv, *command.env.values())) < 1000
        assert command.stdin == "prompt"
