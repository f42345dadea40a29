import re
from pathlib import Path

import pytest

from instrument.schema.vocabulary import Stage, StopReason
from loop.machine.stops import STOPS
from loop.machine.table import TABLE
from loop.verdict import VerdictFault
from tools.readme import BEGIN, BLOCKS, END, ROOT, STOPS_PAGE, WAY, main, stops_page, table_block, with_block

AS_PARKED = " | as at the stop it was parked at"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "docs").mkdir()
    for path in BLOCKS:
        (tmp_path / path).write_text(f"# x\n\n{BEGIN}\nold\n{END}\n\nrest\n")
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
    stops, _, _ = stops_page().partition("## A review")
    rows = [line for line in stops.splitlines() if line.startswith("| `")]
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


def test_every_fault_of_a_review_has_its_meaning():
    rows = [line.split(" | ") for line in stops_page().partition("## A review")[2].splitlines()]
    meanings = {row[0].strip("|` "): row[1] for row in rows if row[0].startswith("| `")}
    assert set(meanings) == set(VerdictFault)
    assert all(len(meaning) > 10 for meaning in meanings.values())


def test_check_fails_on_a_stale_file_and_changes_nothing(root: Path, capsys):
    assert main(["--check"], root) == 1
    said = capsys.readouterr().out.splitlines()
    assert sorted(said) == sorted(f"{path} is stale; run: make docs" for path in (*BLOCKS, STOPS_PAGE))
    assert all("old" in (root / path).read_text() for path in BLOCKS)
    assert not (root / STOPS_PAGE).exists()


def test_what_was_written_is_fresh_and_the_rest_of_the_readme_stands(root: Path):
    assert main([], root) == 0
    assert main(["--check"], root) == 0
    for path, block in BLOCKS.items():
        text = (root / path).read_text()
        assert text.startswith("# x\n\n")
        assert text.endswith("\n\nrest\n")
        assert block() in text
    (root / "docs/stops.md").write_text("by hand")
    assert main(["--check"], root) == 1


@pytest.mark.parametrize(
    "page", [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))], ids=lambda p: p.name
)
def test_every_link_leads_to_a_page_and_to_a_heading_of_it(page: Path):
    for target in re.findall(r"\]\((?!https?:)([^)\s]+)\)", page.read_text()):
        name, _, anchor = target.partition("#")
        linked = page.parent / name if name else page
        assert linked.exists(), target
        headings = re.findall(r"(?m)^#+ (.*)$", linked.read_text()) if anchor else []
        anchors = {re.sub(r"[^a-z0-9 _-]", "", each.lower()).replace(" ", "-") for each in headings}
        assert not anchor or anchor in anchors, target


@pytest.mark.parametrize("text", ["", BEGIN, f"{END}{BEGIN}", f"{BEGIN}{END}{BEGIN}{END}"])
def test_a_readme_without_its_markers_is_left_alone(tmp_path: Path, text, capsys):
    with pytest.raises(ValueError, match="put <!-- generated: table -->"):
        with_block(text, "x")
    (tmp_path / "README.md").write_text(text)
    assert main([], tmp_path) == 1
    assert capsys.readouterr().out.startswith("README.md: put <!-- generated")
    assert (tmp_path / "README.md").read_text() == text
