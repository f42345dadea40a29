"""The command on a machine with real logs, and its line in the report."""

import json
from pathlib import Path
from typing import Any

import pytest

from instrument.planner.kept import FILE
from support.sessions import Machine

CLAUDE = ".claude/projects/-home-person-api-deep"
CODEX = ".codex/sessions/2026/11/30/rollout-1.jsonl"


@pytest.fixture
def used(machine: Machine) -> Machine:
    """A session, its fork, a Codex session."""
    machine.log("claude-session", f"{CLAUDE}/1.jsonl")
    machine.log("claude-forked", f"{CLAUDE}/2.jsonl")
    machine.log("codex-session", CODEX)
    return machine


def told(machine: Machine, *words: str, **environ: str) -> Any:
    result = machine.instrument("planner", "--json", *words, **environ)
    assert (result.exit_code, result.stderr) == (0, "")
    return json.loads(result.stdout)


def calls(made: Any) -> dict[str, int]:
    return {f"{day['program']} {day['model']}": day["calls"] for day in made["days"]}


USED = {"claude claude-sonnet-4-5": 5, "codex gpt-5.5": 4, "codex gpt-6.2-sol": 1}


def test_sessions_are_counted_by_day_and_repo(used: Machine) -> None:
    made = told(used)

    assert calls(made) == USED
    assert {(day["day"], day["repo"]) for day in made["days"]} == {("2026-11-30", "deep")}
    # Claude's own sum is 11,832. gpt-5.5 costs $5 in, $0.50 read, $30 out; the other model has no price.
    assert made["days"][0]["cost_microusd"] == 11_832
    assert (made["total"]["calls"], made["total"]["unpriced_calls"]) == (10, 1)
    assert made["missing"] == []


def test_the_table_fits_the_terminal(used: Machine) -> None:
    lines = used.instrument("planner").stdout.splitlines()

    assert lines[0].split() == ["day", "repo", "calls", "tokens", "cost"]
    assert lines[1].startswith("2026-11-30  deep")
    assert lines[2].startswith("total")
    assert lines[3] == "lower bound: 1 call without a known price"
    assert max(map(len, lines)) <= 80


def test_sub_agents_count(machine: Machine) -> None:
    machine.log("claude-with-agents", f"{CLAUDE}/1.jsonl")
    for n in (1, 2, 3):
        machine.log(f"claude-agent-{n}", f"{CLAUDE}/1/subagents/agent-{n}.jsonl")

    (day,) = told(machine)["days"]
    assert (day["calls"], day["cost_microusd"]) == (9, 23_160)


def test_no_session_is_said(machine: Machine) -> None:
    assert machine.instrument("planner").stdout == "planner: not recorded\n"
    assert not (machine.home / FILE).exists()


def test_other_places_are_looked_at_too(used: Machine) -> None:
    elsewhere = Machine(used.user / "elsewhere", used.home)
    used.log("claude-agent-1", "elsewhere/projects/x/1.jsonl")
    used.log("codex-session", "elsewhere/archived_sessions/1.jsonl")
    places = {"CLAUDE_CONFIG_DIR": str(elsewhere.user), "CODEX_HOME": str(elsewhere.user)}

    # The sub-agent's log is of another session: it has one answer more, and one that has the same ids.
    assert calls(told(used, **places)) == USED | {"claude claude-sonnet-4-5": 6}


def test_what_was_said_is_nowhere(used: Machine) -> None:
    used.instrument("planner")

    kept = (used.home / FILE).read_bytes()
    assert b"WORDS" not in kept
    assert b"msg_" not in kept
    assert (used.home / FILE).stat().st_mode & 0o777 == 0o600


def test_the_logs_are_left_as_they_are(used: Machine) -> None:
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in used.user.rglob("*.jsonl")}

    used.instrument("planner")

    assert {
        path: (path.read_bytes(), path.stat().st_mtime_ns) for path in used.user.rglob("*.jsonl")
    } == before


def test_what_was_counted_outlives_its_logs(used: Machine) -> None:
    first = told(used)
    for path in used.user.rglob("*.jsonl"):
        path.unlink()
    assert told(used) == first

    used.log("claude-session", f"{CLAUDE}/1.jsonl")
    assert told(used) == first, "of the fork's day some logs are gone: the fuller figures stand"


def test_a_day_that_grew_is_told_anew(machine: Machine) -> None:
    machine.log("claude-session", f"{CLAUDE}/1.jsonl")
    assert calls(told(machine)) == {"claude claude-sonnet-4-5": 4}
    machine.log("claude-forked", f"{CLAUDE}/2.jsonl")

    assert calls(told(machine)) == {"claude claude-sonnet-4-5": 5}


def test_a_line_of_another_version_is_named_and_stays(used: Machine) -> None:
    used.instrument("planner")
    file = used.home / FILE
    later = b'{"schema_version":2}\n'
    file.write_bytes(later + file.read_bytes().splitlines(keepends=True)[1])

    made = told(used)

    assert made["missing"] == [f"1 line of {file}"]
    assert calls(made) == USED
    assert later in file.read_bytes()


def test_what_cannot_be_read_is_named(used: Machine) -> None:
    log = used.user / CODEX
    log.write_bytes(log.read_bytes() + b'{"type":"token_usage_record"]\n{"type":"token_usage_record"')
    packed = used.user / ".codex" / "sessions" / "old.jsonl.zst"
    packed.write_bytes(b"")

    made = told(used)

    assert calls(made) == USED
    assert made["missing"] == [f"1 compressed log below {packed.parent}", f"1 line of {log}"]
    assert "not read  1 compressed log below" in used.instrument("planner").stdout


def test_filters(used: Machine) -> None:
    assert told(used, "--repo", "other")["days"] == []
    assert told(used, "--until", "2026-11-29")["days"] == []
    assert calls(told(used, "--repo", "deep", "--since", "2026-11-30", "--until", "2026-W49")) == USED


@pytest.fixture
def planned(used: Machine, home: Any, events: Any) -> Machine:
    """Two merged tasks of the repo that was planned in, one of another one."""
    for name, repo in (("deep-001", "deep"), ("deep-002", "deep"), ("web-001", "web")):
        folder = home.folder(name)
        folder.write_merged(10_000)
        state = folder.path / "state.json"
        state.write_text(state.read_text().replace('"repo": "api"', f'"repo": "{repo}"'))
        folder.write_events(events.call("k", 1, 10_000))
    used.instrument("planner")
    return used


def report(machine: Machine, *words: str) -> Any:
    return json.loads(machine.instrument("report", "--json", *words).stdout)["planner"]


def test_the_report_tells_what_was_planned_for_a_merged_task(planned: Machine) -> None:
    made = report(planned, "--repo", "deep")

    # Claude: 2,800 + 300 + 47 + 210 = 3,357 tokens; Codex: 2,967 + 174 = 3,141. In all 6,498; over two 3,249.
    assert (made["merged"], made["tokens_per_merged"]) == (2, 3_249)
    # 11,832 + 18,595 of gpt-5.5, over two, rounded up.
    assert (made["cost_microusd"], made["cost_per_merged_microusd"]) == (30_427, 15_214)
    text = planned.instrument("report", "--repo", "deep").stdout
    assert "planner                 ≥ $0.015214, 3,249 tokens for each merged task (in all" in text


def test_planning_is_of_the_repos_and_the_time_that_are_asked_for(planned: Machine) -> None:
    assert report(planned)["merged"] == 3
    assert report(planned, "--repo", "web")["calls"] == 0
    assert "planner                 not recorded\n" in planned.instrument("report", "--repo", "web").stdout
    assert report(planned, "--until", "2026-11-29")["calls"] == 0


def test_planning_is_not_told_apart_by_runtime(planned: Machine) -> None:
    assert report(planned, "--state", "accepted") is None
    assert "planner" not in planned.instrument("report", "--state", "accepted").stdout


def test_a_record_that_cannot_be_written_is_one_sentence(used: Machine) -> None:
    used.home.parent.mkdir(exist_ok=True)
    Path(used.home).write_text("in the way")

    result = used.instrument("planner")
    assert result.exit_code == 2
    assert "cannot be read" in result.stderr
