"""The page says what the terminal says, holds back nothing that is missing, and runs nothing of a record."""

import json
import os
import re
import signal
import subprocess
import sys
from collections import Counter
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from instrument.asked import Asked
from instrument.cli import main
from instrument.figures import Report
from instrument.overview import PART_NAMES, headline, left_out, show_each, show_total
from instrument.report import build_report, one_task
from instrument.rows import read_rows
from instrument.show import plain, show_amount, show_ms
from support.past import HOSTILE, write_past

ROOT = Path(__file__).parents[3]
VOID = {"meta", "br", "link", "img", "input", "hr"}
HEADINGS = {f"h{level}": level for level in range(1, 7)}


class Page(HTMLParser):
    """A page taken apart; an element that is not closed where it should be is an error."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.headings: list[tuple[int, str]] = []
        self.rows: list[list[str]] = []
        self.words = ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag in HEADINGS:
            self.headings.append((HEADINGS[tag], ""))
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if {"style", "title"} & set(self.open):
            return
        self.words = " ".join(f"{self.words} {data}".split())
        if self.headings and self.open and self.open[-1] in HEADINGS:
            level, words = self.headings[-1]
            self.headings[-1] = (level, f"{words} {data}".strip())
        if "tr" in self.open and self.rows[-1]:
            self.rows[-1][-1] = " ".join(f"{self.rows[-1][-1]} {data}".split())

    def row(self, name: str) -> list[str]:
        """The first table row that begins so."""
        return next(row for row in self.rows if row[0].startswith(name))


def html(home: Path, out: Path, *arguments: str) -> Result:
    return CliRunner().invoke(main, ["html", str(out), *arguments], env={"FACTORY_HOME": str(home)})


@pytest.fixture(scope="module")
def past(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("past")
    write_past(home)
    return home


@pytest.fixture(scope="module")
def text(past: Path) -> str:
    done = html(past, past / "page.html")
    assert (done.exit_code, done.stdout) == (0, f"{past / 'page.html'} written: 12 tasks\n")
    return (past / "page.html").read_text()


@pytest.fixture(scope="module")
def page(text: str) -> Page:
    return Page(text)


@pytest.fixture(scope="module")
def report(past: Path) -> Report:
    return build_report(read_rows(past), Asked(), "week")


def test_the_headline_is_the_terminals(page: Page, report: Report) -> None:
    assert report.lower_bound
    assert f"Cost per accepted task {show_each(report)} Accepted 10 of 12 Total" in page.words
    assert show_total(report).replace(", ", " ", 1) in page.words
    for line in (*left_out(report), *headline(report)):
        assert " ".join(line.split()) in page.words


def test_every_week_has_its_row(page: Page, report: Report) -> None:
    assert len(report.groups) == 4
    for group in report.groups:
        each = group.summary
        assert page.row(group.key) == [
            group.key,
            show_each(each),
            f"{each.accepted} of {each.tasks}",
            show_amount(each.cost_microusd, lower_bound=each.lower_bound),
            show_ms(each.lead_ms.median or 0),
        ]


def test_the_parts_of_the_lead_time_are_the_reports(page: Page, report: Report) -> None:
    for part, name in PART_NAMES.items():
        spread = report.times_ms[part]
        if spread.total:
            assert page.row(name)[3:] == [
                show_ms(ms or 0) for ms in (spread.total, spread.median, spread.p90)
            ]
        else:
            assert not any(row[0] == name for row in page.rows)


def test_every_task_has_its_row_and_its_timeline(page: Page, report: Report) -> None:
    for row in report.rows:
        name = plain(row.task_id)
        cells = page.row(name)
        assert cells[2].removeprefix("cost ") == show_amount(row.cost_microusd, lower_bound=row.lower_bound)
        if row.lead_ms is not None:
            assert cells[1].removeprefix("lead ") == show_ms(row.lead_ms)
        assert (3, name) in page.headings


def test_a_timelines_steps_are_the_bills_jobs(page: Page, past: Path) -> None:
    bill = one_task(past, "shop-020")
    costs = [show_amount(job.cost_microusd, lower_bound=False) for job in bill.jobs if job.calls]

    assert [(row[6], row[7]) for row in page.rows if row[0] == "implement" and "blocked" in row[4]] == [
        ("20", costs[0])
    ]
    assert len(costs) == 3
    drawn = [attrs for tag, attrs in page.elements if tag == "rect" and attrs.get("class") == "call"]
    calls = sum(job.calls for row in build_report(read_rows(past), Asked()).rows for job in
                one_task(past, row.task_id).jobs)  # fmt: skip
    # Two are in the key of the picture; nine have lost their ledger.
    assert len(drawn) == calls + 2 - 9


def test_what_is_missing_is_said_and_never_zero(page: Page) -> None:
    cells = page.row("shop-022")

    assert cells[0] == "shop-022 ?"
    assert cells[1] == "lead ? (2m 58s on record)"
    assert cells[2] == "cost ≥ $0.039465"
    assert cells[3] == "? coder, ? review, ? gate missing: state.json is missing"
    assert "missing: when 9 of its model calls were, since their ledger is not there" in page.words


def test_a_stopped_tasks_lead_time_is_none_with_its_time_so_far(page: Page) -> None:
    assert page.row("shop-021")[:2] == ["shop-021 checks_exhausted", "lead - (16m 41s on record)"]


def test_nothing_of_a_record_becomes_part_of_the_page(page: Page, text: str) -> None:
    tags = {tag for tag, _ in page.elements}

    assert not tags & {"script", "img", "b", "iframe", "link", "object"}
    assert f"F1 note, {HOSTILE}.py:3: [31m {HOSTILE}" in page.words
    assert [char for char in text if not char.isprintable() and char != "\n"] == []


def test_the_page_asks_for_nothing_and_runs_nothing(page: Page, text: str) -> None:
    addresses = {
        value
        for _, attrs in page.elements
        for name, value in attrs.items()
        if name in ("href", "src", "action", "data", "srcset", "style") or name.startswith("on")
    }

    assert {value[:1] for value in addresses if value} == {"#"}
    assert set(re.findall(r"url\((.)", text)) == {"#"}
    assert "@import" not in text
    assert "default-src 'none'; style-src 'unsafe-inline'" in text


def test_it_is_a_whole_document_with_headings_in_order(page: Page, text: str) -> None:
    ids = Counter(attrs["id"] for _, attrs in page.elements if "id" in attrs)
    links = {attrs["href"] for tag, attrs in page.elements if tag == "a"}
    named = {attrs["aria-labelledby"] for _, attrs in page.elements if "aria-labelledby" in attrs}
    levels = [level for level, _ in page.headings]

    assert text.startswith('<!doctype html>\n<html lang="en">\n')
    assert ids.most_common(1)[0][1] == 1
    assert {str(link)[1:] for link in links} | named <= set(ids)
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    assert all(
        attrs.keys() & {"aria-label", "aria-labelledby", "aria-hidden"}
        for tag, attrs in page.elements
        if tag == "svg"
    )


def test_colours_have_contrast_in_light_and_dark() -> None:
    css = (ROOT / "instrument" / "html" / "style.css").read_text()
    light, dark = (
        dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6});", block))
        for block in re.findall(r":root \{(.*?)\}", css, re.DOTALL)
    )

    assert light.keys() == dark.keys()
    for theme in (light, dark):
        for name in ("text", "quiet", "link", "person"):
            assert contrast(theme[name], theme["card"]) >= 4.5, name
            assert contrast(theme[name], theme["page"]) >= 4.5, name
        for name in ("working", "reviewing", "checking", "landing", "wait", "alarm", "step-rule"):
            assert contrast(theme[name], theme["card"]) >= 3, name


def contrast(first: str, second: str) -> float:
    """https://www.w3.org/TR/WCAG21/#dfn-contrast-ratio, read 2026-11-30."""
    darker, lighter = sorted(luminance(colour) for colour in (first, second))
    return (lighter + 0.05) / (darker + 0.05)


def luminance(colour: str) -> float:
    parts = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_of_many_tasks_the_newest_are_shown_and_all_are_counted(home: Any, tmp_path: Path) -> None:
    for number in range(210):
        ended = f"2026-03-{1 + number // 10:02d}T{number % 10:02d}:00:00Z"
        home.folder(f"api-{number:03d}").write_state(
            stage="done",
            done="merged",
            ready_utc="2026-02-28T00:00:00Z",
            ended_utc=ended,
            spend={"microusd": 1_000},
        )
    out = tmp_path / "many.html"

    assert json.loads(html(home.path, out, "--json").stdout) == {
        "out": str(out),
        "tasks": 210,
        "timelines": 50,
    }
    page = Page(out.read_text())
    assert "Cost per accepted task $0.0010 Accepted 210 of 210" in page.words
    assert "The newest 200 of 210 tasks; instrument report --all lists all of them." in page.words
    assert "The newest 50 of 210 tasks;" in page.words
    listed = [row[0].split()[0] for row in page.rows if row and row[0].startswith("api-")]
    assert listed == [f"api-{number:03d}" for number in range(209, 9, -1)]


def test_who_held_a_task_stands_below_its_timeline(home: Any, tmp_path: Path) -> None:
    folder = home.folder("api-007")
    folder.write_merged(0)
    hold = {"kind": "waited", "what": "hold", "duration_ms": 3_600_000, "who": "ann", "released_by": "bob"}
    folder.write_events(hold)
    out = tmp_path / "page.html"

    assert html(home.path, out).exit_code == 0
    assert "held: 1h 00m at a hold: ann, released by bob" in Page(out.read_text()).words


def test_filters_hold_and_are_named(past: Path, tmp_path: Path) -> None:
    out = tmp_path / "page.html"

    assert html(past, out, "--repo", "shop", "--since", "2026-W12").exit_code == 0
    page = Page(out.read_text())
    assert "purpose task, repo shop, from 2026-03-16. Made" in page.words
    assert not any(row[0].startswith(("shop-001", "web-")) for row in page.rows if row)


def test_a_folder_without_tasks_makes_a_page_that_says_so(tmp_path: Path) -> None:
    assert html(tmp_path, tmp_path / "page.html").stdout.endswith("written: 0 tasks\n")
    assert "No task of purpose task found." in Page((tmp_path / "page.html").read_text()).words


def test_the_file_is_replaced_whole(tmp_path: Path) -> None:
    out, held = tmp_path / "page.html", tmp_path / "held.html"
    out.write_text("before")
    held.hardlink_to(out)

    assert html(tmp_path, out).exit_code == 0
    # Whoever reads the old one goes on reading the old one.
    assert held.read_text() == "before"
    assert out.read_text().endswith("</html>")
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_file()) == ["held.html", "page.html"]


@pytest.mark.parametrize("place", ["absent/x.html", "file/x.html", "x" * 300])
def test_a_file_that_cannot_be_written_is_one_sentence(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_text("")
    done = html(tmp_path, tmp_path / place)

    assert done.exit_code == 2
    assert done.stderr.splitlines()[-1].endswith("); name another file")


def test_ctrl_c_leaves_the_page_that_was_there(home: Any, tmp_path: Path) -> None:
    folder = home.folder("api-001")
    folder.write_state()
    os.mkfifo(folder.path / "events.jsonl")
    out = tmp_path / "page.html"
    out.write_text("before")
    program = [sys.executable, "-c", "from instrument.cli import main; main()", "html", str(out)]
    environment = os.environ | {"FACTORY_HOME": str(home.path)}
    process = subprocess.Popen(program, env=environment, stderr=subprocess.PIPE, text=True)
    # Opening waits until it reads, which then waits for us.
    with (folder.path / "events.jsonl").open("wb"):
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=30)

    assert (process.returncode, said) == (130, f"Interrupted: {out} is as it was before.\n")
    assert out.read_text() == "before"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["home", "page.html"]
