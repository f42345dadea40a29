import io
import json
import tarfile
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from instrument.schema.job import AgentRun, ContainerEnd, JobReport
from instrument.schema.vocabulary import Role, RuntimeName
from jobs.collect import collect as take
from jobs.collect import end_of_container, may_have_cost, out_cap
from jobs.engine.states import ContainerState
from jobs.handover import keep_inputs, mark_started
from jobs.order import AgentWork, FallbackOrder, JobOrder, ProxyOrder
from support.orders import make_order

collect = partial(take, has_cost=False)
ZERO = datetime(2026, 1, 1, tzinfo=UTC)
END = ContainerEnd(exit_code=0)
PROXY = ProxyOrder("https://api.example.org", secret="sk", budget_microusd=7)
CLAUDE = AgentWork(RuntimeName.CLAUDE, "claude-sonnet-4-5", b"do it")


def state(ran_s: float | None, *, after_s: float = 0, code: int = 0, oom: bool = False) -> ContainerState:
    """A container that began at `after_s` and ended `ran_s` later; none: it runs."""
    begun = ZERO + timedelta(seconds=after_s)
    ended = None if ran_s is None else begun + timedelta(seconds=ran_s)
    return ContainerState("5f1", "n", "running" if ended is None else "exited", code, oom, begun, ended, {})


def archive(folder: str, files: Mapping[str, bytes]) -> io.BytesIO:
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w") as tar:
        for name, data in files.items():
            entry = tarfile.TarInfo(f"{folder}/{name}")
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))
    target.seek(0)
    return target


def report(order: JobOrder, **changes: Any) -> bytes:
    values = {
        "schema_version": 1,
        "key": order.identity.key,
        "role": order.role.value,
        "ended": "exited",
        "exit_code": 0,
        "signal": None,
        "started_utc": "2026-01-01T00:00:00Z",
        "duration_ms": 5,
    }
    return json.dumps({**values, **changes}).encode()


def call_of(answered: str | None) -> bytes:
    """The ledger of one call that a model of this name answered; none: no model did."""
    at = ZERO.isoformat()
    start = {"kind": "call_started", "n": 1, "at_utc": at, "path": "/v1/messages", "model": CLAUDE.model}
    end = {"kind": "call_ended", "n": 1, "at_utc": at, "status": 200, "model": answered, "usage": {}}
    rows = (
        start | {"reserved_microusd": 9, "user_agent": "a"},
        end | {"cost_microusd": 4, "estimated": False},
    )
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def ended(job: ContainerState | None, sidecar: ContainerState | None = None, **changes: Any) -> ContainerEnd:
    return end_of_container(job, sidecar, **{"has_proxy": sidecar is not None, "deadline_s": 60.0, **changes})


def test_what_never_ran_or_is_gone_is_lost() -> None:
    assert ended(None) == ContainerEnd(lost=True)
    assert ended(replace(state(1), status="created", started_utc=None)) == ContainerEnd(lost=True)
    assert ended(replace(state(1), status="dead")) == ContainerEnd(lost=True)


def test_an_end_has_the_engines_facts() -> None:
    assert ended(state(5, code=137, oom=True)) == ContainerEnd(
        exit_code=137, oom_killed=True, started_utc=ZERO, finished_utc=ZERO + timedelta(seconds=5)
    )


def test_only_a_kill_after_the_grace_is_the_backstops() -> None:
    assert ended(state(90.2, code=137)).backstop
    assert not ended(state(60.5, code=137)).backstop
    assert not ended(state(90.2, code=0)).backstop


def test_a_sidecar_that_ended_before_the_job_was_lost_and_one_ended_by_us_was_not() -> None:
    assert ended(state(10), state(5, after_s=-1, code=137)).sidecar_lost
    assert not ended(state(10), state(14, after_s=-1)).sidecar_lost
    assert not ended(state(10), state(None)).sidecar_lost
    assert ended(state(10), None, has_proxy=True).sidecar_lost
    assert not ended(state(10), None, has_proxy=False).sidecar_lost


def test_a_sidecar_that_did_not_close_its_ledger_may_have_lost_rows_with_its_machine() -> None:
    cut = {code: ended(state(10), state(14, code=code)).sidecar_cut for code in (0, 1, 2, 137, 143, 255)}
    assert cut == {0: False, 1: True, 2: False, 137: True, 143: False, 255: True}
    assert not ended(state(10), state(None)).sidecar_cut
    assert not ended(state(10), state(14, code=137), has_proxy=False).sidecar_cut


def test_a_second_look_says_the_same(tmp_path: Path) -> None:
    order = make_order(tmp_path)
    files = {"job.json": report(order), "diff.patch": b"diff"}
    first = collect(order, END, archive("out", files), None)
    assert collect(order, END, archive("out", files), None) == first
    assert first.report is not None
    assert first.folder == "jobs/0002-coder-1"


@pytest.mark.parametrize(
    ("files", "sentence"),
    [
        ({}, "left no job.json"),
        ({"job.json": b"{"}, "is not a report"),
        ({"job.json": b'{"schema_version": 2}'}, "is not a report"),
        ({"job.json": b"x" * (5 * 1024 * 1024)}, "left no job.json. 'job.json' has 5242880 bytes"),
    ],
)
def test_an_unreadable_report_is_none_with_a_sentence(
    tmp_path: Path, files: dict[str, bytes], sentence: str
) -> None:
    end = collect(make_order(tmp_path), END, archive("out", files), None)
    assert end.report is None
    assert end.report_error is not None
    assert sentence in end.report_error


def test_nothing_is_used_of_an_archive_with_a_foreign_file(tmp_path: Path) -> None:
    order = make_order(tmp_path)
    end = collect(order, END, archive("out", {"job.json": report(order), "evil.sh": b"x"}), None)
    assert end.report is None
    assert "evil.sh" in str(end.report_error)


def test_a_report_of_another_job_is_refused(tmp_path: Path) -> None:
    order = make_order(tmp_path)
    for changes in ({"key": "other"}, {"role": "check"}):
        end = collect(order, END, archive("out", {"job.json": report(order, **changes)}), None)
        assert end.report is None
        assert "another job" in str(end.report_error)


def test_no_archive_is_no_report(tmp_path: Path) -> None:
    end = collect(make_order(tmp_path), ContainerEnd(lost=True), None, None)
    assert end.report is None
    assert not end.ledger_missing


def test_a_result_of_the_wrong_form_is_a_sentence(tmp_path: Path) -> None:
    order = make_order(tmp_path)
    good = {"job.json": report(order), "agent-result.json": b'{"outcome": "blocked", "question": "which?"}'}
    end = collect(order, END, archive("out", good), None)
    assert end.result is not None
    assert end.result.question == "which?"
    for bad in (b'{"outcome": "perfect"}', b"[", b'{"outcome": "done", "summary": "\\ud800"}'):
        end = collect(order, END, archive("out", {**good, "agent-result.json": bad}), None)
        assert end.result is None
        assert "does not have the form asked for" in str(end.result_error)


def test_the_ledger_is_kept_and_read(tmp_path: Path) -> None:
    order = make_order(tmp_path, proxy=PROXY)
    row = (
        b'{"kind":"ledger_opened","at_utc":"2026-01-01T00:00:00Z","budget_microusd":7,"price_package":"p"}\n'
    )
    files = {"ledger.jsonl": row + b"torn", "requests.jsonl": b"{}\n"}
    end = collect(order, END, archive("out", {"job.json": report(order)}), archive("ledger", files))
    assert end.ledger.bad_lines == 1
    assert end.is_lower_bound
    assert (order.folder / "ledger.jsonl").read_bytes() == row + b"torn"
    assert (order.folder / "requests.jsonl").stat().st_mode & 0o777 == 0o600


def test_a_missing_ledger_is_a_lower_bound_only_where_something_can_have_cost(tmp_path: Path) -> None:
    order = make_order(tmp_path, proxy=PROXY)
    lost = ContainerEnd(lost=True)
    assert not collect(order, lost, None, None).ledger_missing
    assert take(order, lost, None, None, has_cost=True).ledger_missing
    assert take(order, END, None, archive("ledger", {}), has_cost=True).ledger_missing
    assert not take(order, END, None, archive("ledger", {"ledger.jsonl": b""}), has_cost=True).ledger_missing


def test_a_call_needs_a_proxy_and_a_job_that_began(tmp_path: Path) -> None:
    order = make_order(tmp_path, proxy=PROXY)
    created = replace(state(1), status="created", started_utc=None)
    assert may_have_cost(order, state(5), state(6))
    assert not may_have_cost(order, created, state(6))
    assert not may_have_cost(order, state(5), created)
    assert not may_have_cost(make_order(tmp_path), state(5), None)
    assert not may_have_cost(order, None, None)
    keep_inputs(order, {"env": {}})
    mark_started(order)
    assert may_have_cost(order, None, None)
    assert may_have_cost(order, state(5), None)


def test_case_04_exit_0_with_a_providers_error_is_not_finished(tmp_path: Path) -> None:
    order = make_order(tmp_path, agent=CLAUDE)
    last = {
        "type": "result",
        "subtype": "success",
        "is_error": True,
        "result": "API Error: Rate limit reached",
    }
    files = {"job.json": report(order), "transcript.jsonl": json.dumps(last).encode() + b"\n"}
    end = collect(order, END, archive("out", files), None)
    assert end.report is not None
    assert end.report.exit_code == 0
    assert end.agent is not None
    assert not end.agent.finished
    assert end.agent.error == "API Error: Rate limit reached"


@pytest.mark.parametrize("answered", ["claude-sonnet-4-5-20250929", None])
def test_the_report_on_disk_says_who_worked(tmp_path: Path, answered: str | None) -> None:
    order = make_order(tmp_path, agent=CLAUDE, proxy=PROXY)
    first = {"type": "system", "subtype": "init", "claude_code_version": "2.1.332"}
    said = {"type": "assistant", "message": {"model": "by-its-own-word", "content": []}}
    transcript = b"".join(json.dumps(line).encode() + b"\n" for line in (first, said))
    files = {"job.json": report(order), "transcript.jsonl": transcript}
    path = order.folder / "out" / "job.json"

    end = collect(order, END, archive("out", files), archive("ledger", {"ledger.jsonl": call_of(answered)}))
    kept = path.read_bytes()
    assert JobReport.model_validate_json(kept) == end.report
    assert json.loads(kept)["agent"] == {
        "runtime": "claude",
        "version": "2.1.332",
        "model_asked": "claude-sonnet-4-5",
        "model_answered": answered or "by-its-own-word",
    }
    assert path.stat().st_mode & 0o777 == 0o600

    again = collect(order, END, archive("out", files), archive("ledger", {"ledger.jsonl": call_of(answered)}))
    assert (again, path.read_bytes()) == (end, kept)
    names = ["agent-run.json", "job.json", "transcript.jsonl"]
    assert sorted(entry.name for entry in path.parent.iterdir()) == names
    assert AgentRun.model_validate_json((path.parent / "agent-run.json").read_bytes()) == again.agent


def test_the_report_of_commands_names_no_agent(tmp_path: Path) -> None:
    order = make_order(tmp_path, role=Role.CHECK)
    end = collect(order, END, archive("out", {"job.json": report(order)}), None)
    assert end.report is not None
    assert end.report.agent is None


def test_only_names_that_a_job_writes_have_a_cap(tmp_path: Path) -> None:
    order = make_order(tmp_path, role=Role.CHECK)
    assert out_cap(order, "commands/1-unit.txt")
    assert out_cap(order, "diff.patch")
    for name in ("commands/../job.json", "commands/.hidden", "commands/a/b", "", "commands/", "job.json\n"):
        assert out_cap(order, name) is None


def test_a_key_that_a_provider_told_the_agent_is_kept_nowhere_but_in_the_diff(tmp_path: Path) -> None:
    keys = ("sk-first-key-of-all", "sk-second-key-of-all")
    fallback = FallbackOrder("https://b.example.org", keys[1], "api_key")
    order = make_order(tmp_path, agent=CLAUDE, proxy=replace(PROXY, secret=keys[0], fallbacks=(fallback,)))
    said = f'{{"type": "x", "text": "bad key {keys[0]}, {keys[1]}"}}\n'.encode()
    names = ("transcript.jsonl", "agent-stderr.txt", "review.md", "diff.patch")
    out = archive("out", {"job.json": report(order), **dict.fromkeys(names, said)})
    collect(order, END, out, None)
    kept = {name: (order.folder / "out" / name).read_bytes() for name in names}
    assert kept.pop("diff.patch") == said
    assert set(kept.values()) == {b'{"type": "x", "text": "bad key ***, ***"}\n'}
    modes = {path.stat().st_mode & 0o777 for path in (order.folder / "out").iterdir()}
    assert modes == {0o600}


def test_a_local_servers_placeholder_is_no_key_that_could_spoil_a_report(tmp_path: Path) -> None:
    order = make_order(tmp_path, agent=CLAUDE, proxy=replace(PROXY, secret="exit_code"))
    assert collect(order, END, archive("out", {"job.json": report(order)}), None).report is not None
