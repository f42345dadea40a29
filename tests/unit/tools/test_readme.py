from pathlib import Path

import pytest

from instrument.schema.vocabulary import Stage, StopReason
from loop.machine.stops import STOPS
from loop.machine.table import TABLE
from tools.readme import BEGIN, END, WAY, main, stops_page, table_block, with_block

AS_PARKED = " | as at the stop it was parked at"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "README.md").write_text(f"# x\n\n{BEGIN}\nold\n{END}\n\nrest\n")
    return tmp_path


def test_the_block_is_small_enough_for_the_readme():
    assert len(table_block().splitlines()) <= 25


def test_every_stage_and_every_stop_is_in_the_block():
    block = table_block()
    assert all(f"| `{stage}` |" in block for stage in WAY)
    assert all(f"`{reason}`" in block for reason in StopReason)


def test_every_way_between_stages_is_in_the_picture_and_in_the_rows():
    picture, _, rows = table_block().partition("\n\n")
    for (at, outcome), to in TABLE.items():
        if to.stage is not Stage.STOPPED and to.stage is not at:
            assert f"-->|{outcome}| {to.stage}" in picture
            assert f"`{outcome}` → {to.stage}" in rows


def test_a_stop_has_one_row_with_its_sentence():
    rows = [line for line in stops_page().splitlines() if line.startswith("| `")]
    assert [row.split("`")[1] for row in rows] == list(StopReason)
    for reason, row in zip(StopReason, rows, strict=True):
        assert STOPS[reason].sentence in row
        assert row.count(" | ") == 6


@pytest.mark.parametrize(
    ("reason", "ends"),
    [
        ("no_change", "| prints the brief | where it stood | where it stood | cannot help |"),
        ("baseline_red", "| looks again: where it stood | cannot help | where it stood | cannot help |"),
        (
            "ready_to_merge",
            "| prints the brief; once main moved: `rebase` | `implement` | `review` | cannot help |",
        ),
        ("state_corrupt", "| prints the brief | cannot help | cannot help | cannot help |"),
        ("spend_budget", "| cannot help | where it stood | `--grant usd=N`: where it stood |"),
        ("time_budget", "| where it stood, from `gate`: `review` | `--grant minutes=N`: where it stood |"),
        (
            "gate_exhausted",
            "| prints the brief | `implement` | `implement` | `--grant gate=N`: `implement` |",
        ),
        (
            "out_of_scope",
            "| prints the brief | where it stood | where it stood | `--allow GLOB`: where it stood |",
        ),
        ("parked", f"| any stop | {STOPS[StopReason.PARKED].sentence} | prints the brief{AS_PARKED * 3} |"),
    ],
)
def test_the_ways_on_are_those_that_resume_takes(reason, ends):
    (row,) = (line for line in stops_page().splitlines() if line.startswith(f"| `{reason}` "))
    assert row.endswith(ends)


def test_check_fails_on_a_stale_file_and_changes_nothing(root: Path, capsys):
    assert main(["--check"], root) == 1
    assert capsys.readouterr().out == (
        "README.md is stale; run: make docs\ndocs/stops.md is stale; run: make docs\n"
    )
    assert "old" in (root / "README.md").read_text()
    assert not (root / "docs").exists()


def test_what_was_written_is_fresh_and_the_rest_of_the_readme_stands(root: Path):
    assert main([], root) == 0
    assert main(["--check"], root) == 0
    text = (root / "README.md").read_text()
    assert text.startswith("# x\n\n")
    assert text.endswith("\n\nrest\n")
    assert table_block() in text
    (root / "docs/stops.md").write_text("by hand")
    assert main(["--check"], root) == 1


@pytest.mark.parametrize("text", ["", BEGIN, f"{END}{BEGIN}", f"{BEGIN}{END}{BEGIN}{END}"])
def test_a_readme_without_its_markers_is_left_alone(tmp_path: Path, text, capsys):
    with pytest.raises(ValueError, match="put <!-- generated: table -->"):
        with_block(text, "x")
    (tmp_path / "README.md").write_text(text)
    assert main([], tmp_path) == 1
    assert capsys.readouterr().out.startswith("README.md: put <!-- generated")
    assert (tmp_path / "README.md").read_text() == text
