"""One suite for every runtime: the real program in a real container behind the real sidecar.

No job has a terminal, and its input is a file that ends after the prompt.
"""

import hashlib
import io
import json
import tarfile
import tomllib
from collections.abc import Iterator
from typing import Any

import pytest

from instrument.schema.job import AgentNames
from instrument.schema.vocabulary import AgentFault, Ended, RuntimeName
from jobs.engine import Engine
from jobs.images import FOLDER, ImageShelf
from jobs.order import MIB, Command, Limits, ProxyOrder
from jobs.runtimes.table import RUNTIMES
from support.gitkit import make_repo
from support.pods import World, shell, write_pack
from support.programs import (
    CODEX,
    PROGRAMS,
    PROMPT,
    Program,
    diff_of,
    every_program,
    make_order,
    requests_of,
    run,
)
from support.witness import Witness, open_witness

pytestmark = pytest.mark.docker

RULE = "rule seventeen of this repo"
PLANTED = "planted-by-the-tree"
HOOK = {"hooks": [{"type": "command", "command": f"touch ~/{PLANTED}-hook"}]}
SERVER = {"command": "sh", "args": ["-c", f"touch ~/{PLANTED}-mcp"]}
PLUGIN = f'require("fs").writeFileSync("/home/agent/{PLANTED}-plugin", "")\n'
SKILL = f"---\nname: {PLANTED}\ndescription: {PLANTED}\n---\nDo nothing.\n"
NOTIFY = (
    f'notify = ["touch", "/home/agent/{PLANTED}-notify"]\n'
    f'[mcp_servers.planted]\ncommand = "sh"\nargs = {json.dumps(SERVER["args"])}\n'
)
NESTED = {"pkg/CLAUDE.md": "rule eighteen below pkg\n", "lib/AGENTS.md": "rule nineteen below lib\n"}
LOWER, OTHER = (text.strip() for text in NESTED.values())
TREE = {
    "a.txt": "one\n",
    "AGENTS.md": f"# Rules\n{RULE}\n",
    "pkg/a.txt": "one\n",
    "pkg/.claude/settings.json": json.dumps({"hooks": {"PreToolUse": [HOOK], "PostToolUse": [HOOK]}}),
    "pkg/.claude/skills/planted/SKILL.md": SKILL,
    "pkg/.opencode/plugin/planted.js": PLUGIN,
    "pkg/.codex/config.toml": NOTIFY,
    "pkg/opencode.json": json.dumps({"plugin": ["./planted.js"]}),
    "pkg/planted.js": PLUGIN,
    "pkg/.agents/skills/planted/SKILL.md": SKILL,
    **NESTED,
    ".claude/settings.json": json.dumps({"hooks": {"SessionStart": [HOOK], "PreToolUse": [HOOK]}}),
    ".claude/commands/planted.md": SKILL,
    ".claude/agents/planted.md": SKILL,
    ".claude/skills/planted/SKILL.md": SKILL,
    ".mcp.json": json.dumps({"mcpServers": {"planted": SERVER}}),
    ".opencode/plugin/planted.js": PLUGIN,
    ".opencode/skill/planted/SKILL.md": SKILL,
    ".opencode/command/planted.md": SKILL,
    "opencode.json": json.dumps(
        {
            "plugin": ["./planted.js"],
            "mcp": {"planted": {"type": "local", "command": ["sh", *SERVER["args"]]}},
        }
    ),
    "planted.js": PLUGIN,
    ".codex/config.toml": NOTIFY,
    ".codex/hooks.json": json.dumps({"hooks": {"SessionStart": [HOOK], "UserPromptSubmit": [HOOK]}}),
    ".agents/skills/planted/SKILL.md": SKILL,
}

WORK = "sha256sum > sum.txt; sed -i s/one/two/ a.txt; setsid sleep 300 >/dev/null 2>&1 & exit 0"
STORY = """
rounds:
  - role: coder
    turns:
      - {say: "I edit.", edit: {path: a.txt, old: one, new: two}, usage: {input: 1200, output: 80}}
      - {run: "setsid sleep 300 >/dev/null 2>&1 & sleep 0.5; echo begun", usage: {input: 1200, output: 80}}
      - {finish: "Done.", usage: {input: 100, output: 20}}
"""
READ_STORY = """
rounds:
  - role: coder
    turns:
      - {read: a.txt, usage: {input: 1200, output: 80}}
      - {read: pkg/a.txt, usage: {input: 1200, output: 80}}
      - {finish: "Done.", usage: {input: 100, output: 20}}
"""
FULL_STORY = """
rounds:
  - role: coder
    turns:
      - {say: "First.", run: "echo 1 >> c.txt", usage: {input: 1200, output: 80}}
      - {say: "Second.", run: "echo 2 >> c.txt", usage: {input: 1200, output: 80}}
      - {say: "Third.", run: "echo 3 >> c.txt", usage: {input: 1200, output: 80}}
      - {say: "Fourth.", run: "echo 4 >> c.txt", usage: {input: 96000, output: 80}}
      - {finish: "Done.", usage: {input: 100, output: 20}}
"""
CIRCLE_STORY = """
rounds:
  - role: coder
    turns:
TURNS
      - {finish: "Done.", usage: {input: 100, output: 20}}
"""
CIRCLE_TURN = '      - {run: "true | cat", delay_ms: 700, usage: {input: 1200, output: 80}}'
RELAY_STORY = """
rounds:
  - role: coder
    turns:
      - {run: "LINE", usage: {input: 1200, output: 80}}
      - {finish: "Done.", usage: {input: 100, output: 20}}
"""
RELAY_LINE = (
    "for f in $(grep -lE '^Uid:.65534' /proc/[0-9]*/status); do echo found; "
    "p=${f%/status}; kill -9 ${p#/proc/} || echo kept; done > seen"
)


@pytest.fixture(scope="module")
def witness(engine: Engine) -> Iterator[Witness]:
    with open_witness(ImageShelf(engine).sidecar(), STORY, [RULE, PLANTED]) as opened:
        yield opened


@pytest.fixture(scope="module")
def reading_witness(engine: Engine) -> Iterator[Witness]:
    with open_witness(ImageShelf(engine).sidecar(), READ_STORY, [RULE, LOWER, OTHER, PLANTED]) as opened:
        yield opened


def plant(world: World) -> dict[str, Any]:
    """A repository that tries to set up every program its own way: what an order says of it."""
    repo = make_repo(world.folder / "planted")
    commit = repo.commit({path: text.encode() for path, text in TREE.items()})
    return {"commit": commit, "pack": write_pack(repo, commit, world.folder / "planted.pack")}


def names_in_home(world: World) -> list[str]:
    """Every path that the ended job left in the agent's home."""
    archive = world.engine.containers.get(world.containers()["job"].id, "/home/agent", max_bytes=512 * MIB)
    assert archive is not None
    with archive, tarfile.open(fileobj=io.BytesIO(archive.read())) as tar:
        return tar.getnames()


@every_program
def test_a_round_takes_a_long_prompt_the_instructions_and_nothing_else_of_the_tree(
    world: World, witness: Witness, program: Program
) -> None:
    before = len(witness.said())
    proxy = ProxyOrder(witness.url, secret="sk-x", protocol=program.provider, budget_microusd=20_000_000)
    agent = program.work(PROMPT.encode())
    order = make_order(world, program, "round", STORY, agent=agent, proxy=proxy, **plant(world))
    end, report, agent_run = run(world, order)

    assert (report.ended, report.exit_code, agent_run.error) == (Ended.EXITED, 0, None)
    assert (agent_run.finished, agent_run.fault, agent_run.truncated) == (True, None, False)
    assert (agent_run.version, agent_run.model_asked) == (program.version, program.model)
    assert [tool.is_ok for tool in agent_run.transcript.tools] == [True, True]
    assert agent_run.transcript.calls
    assert agent_run.transcript.errors == ()
    assert report.agent == AgentNames(
        runtime=program.name,
        version=program.version,
        model_asked=program.model,
        model_answered=program.model,
    )
    assert report.survivors >= 1
    assert report.tree is not None
    assert report.tree.changed_paths == 1
    assert "-one\n+two\n" in diff_of(order)
    assert [call.status for call in end.ledger.calls] == [200, 200, 200]
    assert not end.ledger.denied

    said = witness.said()[before:]
    assert [entry["words"] for entry in said] == [[RULE]] * 3
    assert hashlib.sha256(PROMPT.encode()).hexdigest() in said[0]["sums"]
    assert not [name for name in names_in_home(world) if PLANTED in name]


@every_program
def test_instructions_below_the_top_are_applied_and_settings_there_are_not(
    world: World, reading_witness: Witness, program: Program
) -> None:
    before = len(reading_witness.said())
    proxy = ProxyOrder(
        reading_witness.url, secret="sk-x", protocol=program.provider, budget_microusd=20_000_000
    )
    agent = program.work(nested=NESTED)
    order = make_order(world, program, "nested", READ_STORY, agent=agent, proxy=proxy, **plant(world))
    _, _, agent_run = run(world, order)

    assert agent_run.finished
    words = [entry["words"] for entry in reading_witness.said()[before:]]
    if program is CODEX:
        assert words == [[RULE, LOWER, OTHER]] * 3
    else:
        assert words == [[RULE], [RULE], [RULE, LOWER]]
    assert not [name for name in names_in_home(world) if PLANTED in name]


def test_a_shell_line_takes_a_long_prompt_too(world: World) -> None:
    order = world.order("round-command", agent=shell(WORK, PROMPT.encode()))
    _, report, agent_run = run(world, order)
    assert (report.ended, report.exit_code, agent_run.finished) == (Ended.EXITED, 0, True)
    assert hashlib.sha256(PROMPT.encode()).hexdigest() in diff_of(order)
    assert "-one\n+two\n" in diff_of(order)
    assert report.survivors == 1
    assert not RUNTIMES[RuntimeName.COMMAND].uses_model


@every_program
def test_it_compacts_before_the_limit_and_stops_after_one_refusal(world: World, program: Program) -> None:
    order = make_order(world, program, "full", FULL_STORY)
    end, report, agent_run = run(world, order)
    turns = [row["turn"] for row in requests_of(order)]
    assert turns[:4] == [0, 1, 2, 3]
    # The conversation begins anew, with hardly an answer in it: the story too.
    assert min(turn for turn in turns[4:] if turn is not None) < 2
    assert [row.reason for row in end.ledger.denied] == ["budget"]
    assert report.ended is Ended.EXITED
    assert not agent_run.finished
    assert agent_run.fault is AgentFault.PROVIDER_ERROR
    assert "budget" in str(agent_run.error)


@pytest.mark.parametrize("program", PROGRAMS[1:], ids=lambda program: program.label)
def test_its_commands_are_counted_as_it_runs_them(world: World, program: Program) -> None:
    story = CIRCLE_STORY.replace("TURNS", "\n".join([CIRCLE_TURN] * 8))
    limits = Limits(memory_bytes=2048 * MIB, deadline_s=60, same_command=2)
    agent = program.work(gate_commands=("true",))
    _, report, _ = run(world, make_order(world, program, "circle", story, agent=agent, limits=limits))
    assert (report.ended, report.stalled_command) == (Ended.NO_PROGRESS, "true")
    assert report.stalled_count == 3


def test_the_relay_is_neither_roots_nor_the_agents(world: World) -> None:
    order = make_order(world, CODEX, "relay", RELAY_STORY.replace("LINE", RELAY_LINE))
    end, report, _ = run(world, order)
    assert "+found\n+kept\n" in diff_of(order)
    assert [call.status for call in end.ledger.calls] == [200, 200]
    assert report.survivors == 0


def test_every_runtime_is_in_this_suite_and_every_program_in_the_image(world: World) -> None:
    assert {program.name for program in PROGRAMS} | {RuntimeName.COMMAND} == set(RUNTIMES)
    pinned = tomllib.loads((FOLDER / "versions.toml").read_text(encoding="utf-8"))["agent"]
    assert {program.name.value: program.version for program in PROGRAMS} == {
        name: entry["version"] for name, entry in pinned.items()
    }
    line = "for p in claude opencode codex; do $p --version; done; command -v codex-code-mode-host"
    order = world.order("programs", commands=(Command("look", line),))
    report = world.jobs.run(order, resumed=False).report
    assert report is not None
    shown = (order.folder / report.commands[0].output).read_text(encoding="utf-8").splitlines()
    assert shown == [
        "2.1.332 (Claude Code)",
        "1.18.18",
        "codex-cli 0.171.0",
        "/usr/local/bin/codex-code-mode-host",
    ]
