"""A damaged task is shown with what is missing: never dropped, never zero."""

import json
from pathlib import Path
from typing import Any

import pytest

from instrument.asked import Asked
from instrument.figures import Report
from instrument.record import read_record
from instrument.report import build_report, one_task
from instrument.rows import read_rows
from instrument.states import read_state
from instrument.table import render
from instrument.timeline import Timeline

KEY = "api-001-implement-1-aaaaaaaa"


def missing_of(folder: Path) -> list[str]:
    return read_record(folder, Timeline(None, None)).missing


def report(home: Any) -> Report:
    return build_report(read_rows(home.path), Asked())


@pytest.mark.parametrize(
    ("data", "clause"),
    [
        (b"", "state.json is damaged (Invalid JSON: EOF while parsing a value at line 1 column 0)"),
        (b'{"schema_version": 1, "run_', "state.json is damaged (Invalid JSON"),
        (b"[]", "state.json is damaged (Input should be an object)"),
        (None, "state.json is missing"),
    ],
)
def test_damaged_state_leaves_the_record_as_a_lower_bound(
    home: Any, events: Any, data: bytes | None, clause: str
) -> None:
    folder = home.folder("api-001")
    folder.write_events(events.call(KEY, 1, 70, {"input_tokens": 3}), events.call(KEY, 2, 7))
    if data is not None:
        (folder.path / "state.json").write_bytes(data)

    made = report(home)
    (row,) = made.rows

    assert (made.cost_microusd, made.lower_bound, made.unmetered_parts) == (70 + 7, True, 1)
    assert row.stage is row.coder_rounds is row.gates is row.job_ms is None
    assert row.usage.input_tokens == 3
    assert row.missing[0].startswith(clause)


def test_a_task_without_state_and_calls_has_no_cost_and_is_in_every_report(home: Any) -> None:
    (home.folder("api-001").path / "jobs").mkdir()

    made = report(home)
    (row,) = made.rows

    assert (row.cost_microusd, row.purpose, made.cost_microusd) == (None, None, None)
    assert made.lower_bound
    assert row.missing == ("state.json is missing", "events.jsonl is missing")
    assert "total                   ?" in render(made)


def test_an_unknown_cost_beside_a_known_one_makes_a_lower_bound(home: Any, events: Any) -> None:
    folder = home.folder("api-001")
    folder.write_merged(50)
    folder.write_events(events.call(KEY, 1, 50))
    (home.folder("api-002").path / "jobs").mkdir()

    made = report(home)

    assert (made.cost_microusd, made.cost_per_accepted_microusd, made.lower_bound) == (50, 50, True)


def test_a_restart_that_was_cut_short_is_shown_with_the_old_cost(home: Any, events: Any) -> None:
    folder = home.folder("api-001.old-1")
    folder.write_state(stage="stopped", spend={"microusd": 8})
    folder.write_events(events.call(KEY, 1, 8))

    (row,) = report(home).rows

    assert (row.task_id, row.cost_microusd, row.lower_bound) == ("api-001", 8, False)


def test_a_cut_tail_is_named_and_the_rest_is_read(home: Any, events: Any) -> None:
    folder = home.folder("api-001")
    folder.write_merged(9)
    folder.write_events(events.call(KEY, 1, 9), tail=b'{"n":2,"msg":"caf\xc3')

    (row,) = report(home).rows

    assert row.missing == ("the last line of events.jsonl is cut",)
    assert (row.cost_microusd, row.usage_complete, row.lower_bound) == (9, False, False)


def test_bad_lines_are_counted_and_the_first_is_named(home: Any, events: Any) -> None:
    folder = home.folder("api-001")
    folder.write_merged(9)
    folder.write_events(
        events.call(KEY, 1, 9), {"kind": "invented"}, {"kind": "run_ended"}, events.call(KEY, 1, 9)
    )

    (row,) = report(home).rows

    assert row.missing == ("2 lines (the first: 2) of events.jsonl cannot be read",)
    assert not row.usage_complete


def test_events_of_an_unknown_version_are_not_guessed_at(home: Any, events: Any) -> None:
    folder = home.folder("api-001")
    folder.write_merged(9)
    folder.write_events(events.call(KEY, 1, 9, schema_version=2))

    (row,) = report(home).rows

    assert row.missing[0] == "line 1 of events.jsonl cannot be read"
    assert row.usage.total_tokens == 0
    assert not row.usage_complete


@pytest.mark.parametrize("cost", [True, 9.0, "9", -9, None])
def test_an_amount_that_is_no_whole_number_is_refused(home: Any, events: Any, cost: Any) -> None:
    folder = home.folder("api-001")
    folder.write_merged(1)
    folder.write_events(events.call(KEY, 1, cost))

    (row,) = report(home).rows

    assert row.missing[0] == "line 1 of events.jsonl cannot be read"


def test_true_in_the_state_is_no_amount(home: Any) -> None:
    folder = home.folder("api-001")
    folder.write_merged(1)
    state = json.loads((folder.path / "state.json").read_text())
    state["spend"]["microusd"] = True
    (folder.path / "state.json").write_text(json.dumps(state))

    (row,) = report(home).rows

    assert row.cost_microusd is None
    assert row.missing[0] == "state.json is damaged (spend.microusd: Input should be a valid integer)"


@pytest.mark.parametrize(
    ("event", "clause"),
    [
        (
            {"kind": "torn_tail", "path": "events.torn", "size_bytes": 9},
            "a cut line of events.jsonl was set aside",
        ),
        (
            {"kind": "record_set_aside", "path": "events.damaged-1.jsonl", "bad_line": 7},
            "events.jsonl was set aside as events.damaged-1.jsonl for its line 7",
        ),
    ],
)
def test_what_was_set_aside_stays_visible(home: Any, event: dict[str, Any], clause: str) -> None:
    folder = home.folder("api-001")
    folder.write_merged(0)
    folder.write_events(event)

    (row,) = report(home).rows

    assert row.missing == (clause,)
    assert not row.usage_complete


def test_what_a_damaged_file_still_tells_is_counted_once(home: Any, events: Any) -> None:
    folder = home.folder("api-001")
    folder.write_merged(12)
    folder.write_events(
        events.call(KEY, 1, 5, {"input_tokens": 2}), {"kind": "invented"}, events.call(KEY, 2, 7)
    )
    (folder.path / "events.jsonl").rename(folder.path / "events.damaged-1.jsonl")
    folder.write_events(events.call(KEY, 1, 5, {"input_tokens": 2}))

    (row,) = report(home).rows

    (job,) = one_task(home.path, row.task_id).jobs
    assert (row.usage.input_tokens, job.calls, job.cost_microusd) == (2, 2, 5 + 7)
    assert row.missing == ("line 2 of events.damaged-1.jsonl cannot be read",)
    assert (row.usage_complete, row.lower_bound) == (False, False)


def test_a_line_without_end_does_not_fill_the_memory(tmp_path: Path) -> None:
    (tmp_path / "events.jsonl").write_bytes(b"x" * (3 * 1024 * 1024) + b"\n")

    assert missing_of(tmp_path) == ["4 lines (the first: 1) of events.jsonl cannot be read"]


def test_a_folder_in_the_place_of_a_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "state.json").mkdir()
    (tmp_path / "events.jsonl").mkdir()

    assert read_state(tmp_path) == (None, "state.json cannot be opened (Is a directory)")
    assert missing_of(tmp_path) == ["events.jsonl cannot be opened (Is a directory)"]
