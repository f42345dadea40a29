from pathlib import Path

import pytest

from loop.git.errors import GitCommandError
from loop.holds import Hold, behind_hold, clear_hold, hold_of, place_hold
from support.ends import START

RED, LATER = "a" * 40, "b" * 40


def hold(**changes: object) -> Hold:
    fields = {"repo": "demo", "base": RED, "failed": ("unit",), "task_id": "demo-003", "since_utc": START}
    return Hold(**(fields | changes))


def clear(home: Path, base: str, *passed: str, is_later: bool = True) -> bool:
    return clear_hold(home, "demo", base=base, passed=passed, is_ancestor=lambda _a, _b: is_later)


def test_the_first_red_baseline_is_the_one_alert(tmp_path: Path) -> None:
    assert hold_of(tmp_path, "demo") is None
    first = place_hold(tmp_path, hold())

    assert place_hold(tmp_path, hold(task_id="demo-004")) == first
    assert hold_of(tmp_path, "demo") == first
    assert hold_of(tmp_path, "other") is None


def test_the_same_task_and_another_base_replace_it(tmp_path: Path) -> None:
    place_hold(tmp_path, hold())

    assert place_hold(tmp_path, hold(failed=("full",))).failed == ("full",)
    newer = hold(base=LATER, task_id="demo-004")
    assert place_hold(tmp_path, newer) == newer
    assert hold_of(tmp_path, "demo") == newer


def test_another_task_waits_with_one_line_that_names_all(tmp_path: Path) -> None:
    waiting = behind_hold(tmp_path, hold(), task_id="demo-007", tip=RED, must_pass=["unit", "full"])

    assert waiting is not None
    assert "\n" not in waiting.line
    for word in ("demo-007 waits", "unit", RED[:12], "demo-003", f"{tmp_path}/holds/demo.json"):
        assert word in waiting.line


@pytest.mark.parametrize(
    ("changes", "how"),
    [
        ({}, {"tip": LATER}),
        ({}, {"task_id": "demo-003"}),
        ({}, {"must_pass": ["full"]}),
        ({}, {"must_pass": []}),
    ],
)
def test_who_has_a_reason_to_go_on_does(tmp_path: Path, changes: dict, how: dict) -> None:
    usual = {"task_id": "demo-007", "tip": RED, "must_pass": ["unit"]}

    assert behind_hold(tmp_path, hold(**changes), **usual) is not None
    assert behind_hold(tmp_path, hold(**changes), **(usual | how)) is None


def test_a_hold_of_unknown_checks_holds_everybody_else(tmp_path: Path) -> None:
    usual = {"task_id": "demo-007", "tip": RED, "must_pass": ["full"]}

    assert behind_hold(tmp_path, hold(failed=()), **usual) is not None
    assert behind_hold(tmp_path, None, **usual) is None


def test_a_later_main_that_passes_clears_it(tmp_path: Path) -> None:
    place_hold(tmp_path, hold())

    assert clear(tmp_path, LATER, "unit", "full")
    assert hold_of(tmp_path, "demo") is None
    assert not clear(tmp_path, LATER, "unit")


def test_the_same_commit_that_passes_now_clears_it(tmp_path: Path) -> None:
    place_hold(tmp_path, hold())

    assert clear(tmp_path, RED, "unit", is_later=False)


def test_an_older_main_or_other_checks_prove_nothing(tmp_path: Path) -> None:
    place_hold(tmp_path, hold())

    assert not clear(tmp_path, LATER, "unit", is_later=False)
    assert not clear(tmp_path, LATER, "full")
    assert hold_of(tmp_path, "demo") == hold()


def test_a_base_that_was_forced_away_proves_nothing(tmp_path: Path) -> None:
    place_hold(tmp_path, hold())

    def unknown(_a: str, _b: str) -> bool:
        raise GitCommandError("merge-base", 128, "fatal")

    assert not clear_hold(tmp_path, "demo", base=LATER, passed=["unit"], is_ancestor=unknown)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"repo": "demo"}', b"\xff"])
def test_a_damaged_file_is_set_aside_and_holds_nothing(tmp_path: Path, content: bytes) -> None:
    place_hold(tmp_path, hold())
    (tmp_path / "holds/demo.json").write_bytes(content)

    assert hold_of(tmp_path, "demo") is None
    assert (tmp_path / "holds/demo.json.damaged").read_bytes() == content
    assert place_hold(tmp_path, hold(task_id="demo-004")).task_id == "demo-004"
