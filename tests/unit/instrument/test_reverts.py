import os
from pathlib import Path
from typing import Any

import pytest

from instrument.asked import Asked
from instrument.figures import Report
from instrument.report import build_report
from instrument.reverts import reverts_file
from instrument.rows import read_rows
from instrument.schema.reverts import Revert
from instrument.table import render

MERGED = "a" * 40
OTHER = "b" * 40
FIRST, SECOND, THIRD = (str(n) * 40 for n in (1, 2, 3))
AT = "2026-03-02T10:00:00Z"
OLD = 1_772_000_000


@pytest.fixture
def two(home: Any) -> Any:
    """Two merged tasks of one repo, long ago."""
    for name, commit in (("api-001", MERGED), ("api-002", OTHER)):
        folder = home.folder(name)
        folder.write_merged(1000)
        state = folder.path / "state.json"
        state.write_text(state.read_text().replace('"stage"', f'"merged": "{commit}", "stage"'))
        folder.write_events()
        for path in (*folder.path.iterdir(), folder.path):
            os.utime(path, (OLD, OLD))
    return home


def looked(home: Any, *reverts: tuple[str, str], damage: bytes = b"") -> None:
    """The loop looked at the branch and saw these."""
    file = reverts_file(home.path, "api")
    file.parent.mkdir(exist_ok=True)
    lines = (f'{{"commit":"{commit}","reverts":"{target}","at_utc":"{AT}"}}\n' for commit, target in reverts)
    file.write_bytes("".join(lines).encode() + damage)


def report(home: Any) -> Report:
    return build_report(read_rows(home.path), Asked())


def kept(home: Any) -> list[bool | None]:
    return [row.kept for row in report(home).rows]


@pytest.mark.parametrize(
    ("reverts", "expected"),
    [
        ([], [True, True]),
        ([(FIRST, MERGED)], [False, True]),
        ([(FIRST, MERGED), (SECOND, FIRST)], [True, True]),
        ([(FIRST, MERGED), (SECOND, FIRST), (THIRD, MERGED)], [False, True]),
        ([(FIRST, MERGED), (SECOND, FIRST), (THIRD, SECOND)], [False, True]),
        ([(FIRST, MERGED), (FIRST, OTHER)], [False, False]),
    ],
    ids=["none", "one", "taken back", "taken back and reverted again", "three deep", "two at once"],
)
def test_a_merge_is_kept_unless_its_revert_stands(two: Any, reverts: Any, expected: list[bool]) -> None:
    looked(two, *reverts)

    assert kept(two) == expected


def test_what_nobody_has_looked_at_is_not_known(two: Any) -> None:
    made = report(two)

    assert (kept(two), made.kept, made.reverted) == ([None, None], 0, 0)
    assert "accepted and kept       not known yet\n" in render(made)


def test_a_damaged_file_leaves_open_what_it_does_not_say(two: Any) -> None:
    looked(two, (FIRST, MERGED), damage=b"{oops\n")

    assert kept(two) == [False, None]
    assert "accepted and kept       0 of 2, 1 reverted since, 1 not known yet\n" in render(report(two))


def test_a_task_that_is_not_merged_is_neither(home: Any) -> None:
    home.folder("api-001").write_state(stage="implement")
    looked(home)

    assert kept(home) == [None]


def test_the_report_counts_them_and_names_the_reverted_one(two: Any) -> None:
    looked(two, (FIRST, OTHER))
    made = report(two)
    text = render(made)

    assert (made.accepted, made.kept, made.reverted) == (2, 1, 1)
    assert "accepted and kept       1 of 2, 1 reverted since\n" in text
    assert text.count("    reverted  what was merged has been reverted since\n") == 1


def test_the_index_notices_a_revert(two: Any) -> None:
    looked(two)
    assert kept(two) == [True, True]
    index = Path(two.path, "index", "rows.jsonl")
    index.write_bytes(index.read_bytes().replace(b'"cost_microusd":1000', b'"cost_microusd":7'))
    assert report(two).cost_microusd == 14, "it is read out of the index"

    looked(two, (FIRST, MERGED))

    assert kept(two) == [False, True]
    assert report(two).cost_microusd == 2000


def test_a_line_is_what_the_schema_says() -> None:
    line = f'{{"commit":"{FIRST}","reverts":"{MERGED}","at_utc":"{AT}"}}'

    assert Revert.model_validate_json(line).schema_version == 1
