import csv
import io
import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from prometheus_client.parser import text_string_to_metric_families

from instrument.cli import main
from instrument.export.spans import spans_of
from instrument.found import find_task

KEY = "api-007-implement-1"
MODEL = "claude-sonnet-4-5"
BUSY = "overloaded_error"
SINK = """
import json, logging, sys
from google.protobuf.json_format import MessageToDict
from oteltest.sink import HttpSink

class Listener:
    def handle_trace(self, request, headers):
        for resource in request.resource_spans:
            for scope in resource.scope_spans:
                for span in scope.spans:
                    values = {each.key: MessageToDict(each.value) for each in span.attributes}
                    ns = span.end_time_unix_nano - span.start_time_unix_nano
                    ids = {"id": span.span_id, "parent": span.parent_span_id, "trace": span.trace_id}
                    told = {"name": span.name, "ms": ns // 10**6, "attributes": values, "headers": headers}
                    print(json.dumps(told | {name: each.hex() for name, each in ids.items()}), flush=True)

HttpSink(Listener(), logging.getLogger(), port=int(sys.argv[1]), daemon=False).start()
"""


def at(second: int) -> str:
    return f"2026-03-01T10:00:{second:02d}Z"


@pytest.fixture
def told(home: Any, events: Any) -> Any:
    """A task with one coder job of two calls, then its merge."""
    folder = home.folder("api-007")
    folder.write_merged(54_400, coder_rounds=1)
    moved = {"kind": "transition", "state_seq": 1, "lower_bound": False, "spent_microusd": 54_400}
    folder.write_events(
        {"kind": "run_started", "pid": 1, "host": "box", "version": "1", "at_utc": at(0)},
        {"kind": "attempt_started", "key": KEY, "effect": "job.implement", "round": 1, "at_utc": at(1)},
        events.job(KEY, 54_400, 2, duration_ms=20_000, at_utc=at(25)),
        moved
        | {"key": KEY, "from_stage": "implement", "outcome": "diff_returned", "to_stage": "implement"}
        | {"at_utc": at(26)},
        moved
        | {"key": "", "from_stage": "merge", "outcome": "merged", "to_stage": "done", "done": "merged"}
        | {"at_utc": at(40)},
    )
    job = folder.path / "jobs" / "0002-coder-1"
    job.mkdir(parents=True)
    usage = {"input_tokens": 3, "cache_read_tokens": 1000, "cache_write_5m_tokens": 12_304}
    usage |= {"output_tokens": 550}
    asked = {"path": "/v1/messages", "model": MODEL, "reserved_microusd": 9, "user_agent": "a"}
    ended = {"cost_microusd": 54_400, "estimated": False, "duration_ms": 4_000}
    started = {"kind": "call_started"} | asked
    done = {"kind": "call_ended"} | ended
    rows = [
        started | {"n": 1, "at_utc": at(6)},
        done | {"n": 1, "at_utc": at(10), "status": 200, "model": f"{MODEL}-20250929", "usage": usage},
        started | {"n": 2, "at_utc": at(11)},
        done | {"n": 2, "at_utc": at(15), "status": 529, "model": None, "usage": {}, "error_type": BUSY},
    ]
    (job / "ledger.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return home


def export(home: Any, *arguments: str, **env: str) -> Result:
    environment = {"FACTORY_HOME": str(home.path)} | env
    return CliRunner().invoke(main, ["export", "--format", *arguments], env=environment)


def test_a_task_becomes_a_tree_of_spans_with_their_own_times(told: Any) -> None:
    task, step, job, good, bad = spans_of(find_task(told.path, "api-007"))

    assert [span.name for span in (task, step, job, good, bad)] == [
        "task api-007",
        "job.implement",
        "coder job",
        "chat claude-sonnet-4-5",
        "chat claude-sonnet-4-5",
    ]
    assert [span.parent_id for span in (task, step, job, good, bad)] == [
        None,
        task.span_id,
        step.span_id,
        job.span_id,
        job.span_id,
    ]
    seconds = [(span.end_ns - span.start_ns) / 10**9 for span in (task, step, job, good, bad)]
    assert seconds == [40, 25, 20, 4, 4]
    assert good.attributes["gen_ai.usage.input_tokens"] == 3 + 1000 + 12_304
    assert (good.error, bad.error, bad.attributes["error.type"]) == (None, *["overloaded_error"] * 2)
    assert len({span.span_id for span in (task, step, job, good, bad)}) == 5


def test_a_span_that_is_exported_again_has_the_id_that_it_had(told: Any) -> None:
    task = find_task(told.path, "api-007")

    assert list(spans_of(task)) == list(spans_of(task))


@pytest.fixture
def collector(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """A real OTLP receiver in a process of its own, and what it says that it was sent."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    got = tmp_path / "received"
    with got.open("wb") as out:
        process = subprocess.Popen([sys.executable, "-c", SINK, str(port)], stdout=out)
    try:
        wait_until_open(port)
        yield f"http://127.0.0.1:{port}", got
    finally:
        process.kill()
        process.wait()


def wait_until_open(port: int) -> None:
    deadline = time.monotonic() + 30
    while True:
        with socket.socket() as knocking:
            if knocking.connect_ex(("127.0.0.1", port)) == 0:
                return
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_real_collector_receives_the_spans(told: Any, collector: tuple[str, Path]) -> None:
    url, got = collector

    done = export(told, "otlp", "--endpoint", url, OTEL_EXPORTER_OTLP_HEADERS="x-token=abc")

    assert (done.exit_code, done.stdout) == (0, f"5 spans sent to {url}\n")
    received = [json.loads(line) for line in got.read_text().splitlines()]
    expected = list(spans_of(find_task(told.path, "api-007")))
    assert [(each["name"], each["id"], each["trace"]) for each in received] == [
        (span.name, span.span_id.hex(), span.trace_id.hex()) for span in expected
    ]
    assert {name.lower(): value for name, value in received[0]["headers"].items()}["x-token"] == "abc"
    call = received[3]
    assert (call["ms"], call["parent"]) == (4_000, expected[2].span_id.hex())
    assert call["attributes"]["gen_ai.provider.name"] == {"stringValue": "anthropic"}
    assert call["attributes"]["gen_ai.usage.output_tokens"] == {"intValue": "550"}
    assert call["attributes"]["factory.estimated"] == {"boolValue": False}


def test_a_collector_that_is_not_there_is_one_sentence(told: Any) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{probe.getsockname()[1]}"
        done = export(told, "otlp", "--endpoint", url)

    assert done.exit_code == 1
    assert done.stderr.startswith(f"The collector at {url}/v1/traces cannot be reached (")


def test_otlp_without_a_collector_is_json_lines_with_ids_in_hex(told: Any) -> None:
    (line,) = export(told, "otlp").stdout.splitlines()

    spans = json.loads(line)["resourceSpans"][0]["scopeSpans"][0]["spans"]
    expected = list(spans_of(find_task(told.path, "api-007")))
    assert [span["spanId"] for span in spans] == [span.span_id.hex() for span in expected]
    assert spans[1]["parentSpanId"] == expected[0].span_id.hex()
    assert "parentSpanId" not in spans[0]


def test_csv_has_one_line_a_task_and_no_formulas(told: Any) -> None:
    told.folder("api-008").write_state(repo="=cmd()", spend={"microusd": 5})

    rows = list(csv.DictReader(io.StringIO(export(told, "csv").stdout)))

    assert [row["task_id"] for row in rows] == ["api-007", "api-008"]
    assert (rows[0]["cost_microusd"], rows[0]["lead_ms"], rows[0]["done"]) == ("54400", "723500", "merged")
    assert (rows[1]["repo"], rows[1]["lead_ms"]) == ("'=cmd()", "")


def test_prometheus_reads_what_is_written_for_it(told: Any, tmp_path: Path) -> None:
    out = tmp_path / "factory.prom"

    assert export(told, "prometheus", "--out", str(out)).exit_code == 0
    found = {
        (sample.name, *sorted(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(out.read_text())
        for sample in family.samples
    }
    assert found["factory_tasks", ("repo", "api"), ("state", "accepted")] == 1
    assert found["factory_cost_dollars", ("repo", "api")] == 0.0544
    assert found["factory_lead_time_seconds", ("quantile", "0.5"), ("repo", "api")] == 723.5
    assert [path for path in tmp_path.iterdir() if path.is_file()] == [out]


def test_who_ruled_is_exported_as_the_report_has_it(home: Any) -> None:
    given = {"kind": "ruling_recorded", "stop": "blocked", "digest": "0" * 64}
    small, strong = ({"by": "small", "model": "small-1"}, {"by": "strong", "model": None})
    home.folder("api-007").write_merged(0)
    ruled = home.folder("api-008")
    ruled.write_merged(0)
    ruled.write_events(given, given | small, given | small, given | strong)

    rows = list(csv.DictReader(io.StringIO(export(home, "csv").stdout)))
    lines = export(home, "prometheus").stdout.splitlines()

    assert [(row["rulings_by_person"], row["rulings_by_model"]) for row in rows] == [
        ("0", ""),
        ("1", "small-1=2 strong=1"),
    ]
    assert {line for line in lines if line.startswith("factory_rulings{")} == {
        'factory_rulings{by="person",repo="api"} 1.0',
        'factory_rulings{by="small-1",repo="api"} 2.0',
        'factory_rulings{by="strong",repo="api"} 1.0',
    }


def test_filters_hold_for_every_format(told: Any) -> None:
    for form in ("jsonl", "csv", "prometheus", "otlp"):
        assert "api-007" not in export(told, form, "--repo", "other").stdout
    (line,) = export(told, "jsonl", "--repo", "api").stdout.splitlines()
    assert json.loads(line)["task_id"] == "api-007"


def test_a_file_that_cannot_be_written_is_one_sentence(told: Any, tmp_path: Path) -> None:
    done = export(told, "csv", "--out", str(tmp_path / "absent" / "x.csv"))

    assert done.exit_code == 2
    assert "cannot be written (No such file or directory); name another file" in done.stderr
