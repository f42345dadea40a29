from datetime import UTC, datetime
from pathlib import Path

import pytest

from jobs.errors import EngineRefusedError
from loop.doctor.checks import BUG, Check, examine
from loop.doctor.finding import Finding, State, failed, note, ok, skipped
from loop.doctor.surroundings import Surroundings
from loop.doctor.table import CHECKS
from loop.signals import Interrupted


def surroundings(folder: Path) -> Surroundings:
    return Surroundings(folder, {}, folder, datetime(2026, 1, 1, tzinfo=UTC))


def raising(error: BaseException):
    def look(_: Surroundings) -> Finding:
        raise error

    return look


def done(folder: Path, *checks: Check) -> dict[str, Finding]:
    return {result.name: result.finding for result in examine(checks, surroundings(folder))}


def test_an_unforeseen_error_is_the_failed_line_of_its_check_alone(tmp_path: Path):
    found = done(
        tmp_path,
        Check("first", raising(KeyError("gone"))),
        Check("second", raising(EngineRefusedError("The engine said\nno."))),
        Check("third", lambda _: ok("well")),
    )
    assert found == {
        "first": failed("KeyError: 'gone'", BUG),
        "second": failed("The engine said no", ""),
        "third": ok("well"),
    }


def test_a_signal_ends_the_examination(tmp_path: Path):
    with pytest.raises(Interrupted):
        done(tmp_path, Check("first", raising(Interrupted(2))))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (ok("here"), ok("well")),
        (note("here"), ok("well")),
        (failed("gone", "buy one"), skipped("needs engine, which failed")),
        (skipped("by choice"), skipped("needs engine, which was skipped")),
    ],
)
def test_a_check_is_done_only_where_what_it_needs_has_passed(tmp_path: Path, before: Finding, after: Finding):
    assert done(
        tmp_path, Check("engine", lambda _: before), Check("images", lambda _: ok("well"), ("engine",))
    ) == {
        "engine": before,
        "images": after,
    }


def test_what_failed_first_is_named_as_the_reason(tmp_path: Path):
    found = done(
        tmp_path,
        Check("engine", lambda _: failed("gone", "buy one")),
        Check("images", lambda _: ok("well"), ("engine",)),
        Check("request", lambda _: ok("well"), ("images",)),
    )
    assert found["request"] == skipped("needs engine, which failed")


def test_each_check_is_done_when_its_result_is_asked_for(tmp_path: Path):
    began: list[str] = []
    checks = (Check("first", lambda _: ok("")), Check("second", lambda _: ok("")))
    results = examine(checks, surroundings(tmp_path), lambda check: began.append(check.name))
    next(results)
    assert began == ["first"]
    next(results)
    assert began == ["first", "second"]


def test_every_check_of_the_table_has_a_name_of_its_own_and_stands_behind_what_it_needs():
    seen: list[str] = []
    for check in CHECKS:
        assert check.name not in seen
        assert set(check.needs) <= set(seen), check.name
        seen.append(check.name)
    assert len(seen) == 21


def test_only_what_passed_counts_as_passed():
    states = {state: Finding(state, "").is_passed for state in State}
    assert states == {State.OK: True, State.NOTE: True, State.FAILED: False, State.SKIPPED: False}
