"""What a set-up job left is its end; an image that was there already left nothing."""

import json
from pathlib import Path
from typing import Any

import pytest

from instrument.schema.vocabulary import Role
from loop.shell.context import Context
from loop.shell.setups import kept_end

KEY = "demo-007-setup-1-00000000"
FOLDER = "jobs/0001-setup-1"
REPORT: dict[str, Any] = {
    "key": KEY,
    "role": "setup",
    "ended": "exited",
    "exit_code": 0,
    "signal": None,
    "started_utc": "2026-01-01T00:00:00Z",
    "duration_ms": 1500,
}


@pytest.fixture
def folder(context: Context) -> Path:
    path = context.folder / FOLDER
    (path / "out").mkdir(parents=True)
    return path


def test_a_set_up_that_ran_has_its_time_and_what_it_was_denied(context: Context, folder: Path):
    (folder / "out" / "job.json").write_text(json.dumps(REPORT))
    row = {"kind": "denied", "at_utc": "2026-01-01T00:00:00Z", "reason": "egress"}
    (folder / "ledger.jsonl").write_text(json.dumps(row | {"method": "CONNECT", "path": "a.example:443"}))
    end = kept_end(context, KEY, FOLDER)
    assert end is not None
    assert end.report is not None
    assert (end.key, end.folder, end.report.role, end.duration_ms) == (KEY, FOLDER, Role.SETUP, 1500)
    assert [denied.path for denied in end.ledger.denied] == ["a.example:443"]
    assert (end.ledger.cost_microusd, end.is_lower_bound) == (0, False)


def test_without_a_report_no_set_up_ran(context: Context, folder: Path):
    assert kept_end(context, KEY, FOLDER) is None
    assert kept_end(context, KEY, None) is None
    (folder / "out" / "job.json").write_text("{")
    assert kept_end(context, KEY, FOLDER) is None
