"""`make bench`: a section is kept as soon as it is measured, and one that fails takes nothing with it."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.bench.bench import SECTIONS, Book, FailedError, Section, figures_of, measure_apart, renew

TOOK = {"wall_s": 1.0, "cpu_s": 1.0, "peak_mib": 20}
RECORDS: dict[str, Any] = {
    "report": {"tasks": 1, "events": 1, "rounds": [{"floor": TOOK, "first": TOOK, "again": TOOK}]},
    "scale": {"at_once": 2, "rounds": [{"begun_s": 0.0, "ended_s": 6.0, "peak_kib": 1024, "gates": 1}]},
}
BOTH = [Section("scale", 1, 10), Section("report", 1, 10)]


def told(section: Section, _count: int) -> Any:
    return RECORDS[section.name]


def fails(name: str) -> Any:
    def measure(section: Section, count: int) -> Any:
        if section.name == name:
            raise FailedError("it could not be measured")
        return told(section, count)

    return measure


@pytest.fixture
def book(tmp_path: Path) -> Book:
    return Book(tmp_path)


def titles(book: Book) -> list[str]:
    return [line.removeprefix("## ") for line in book.page.read_text().splitlines() if line.startswith("## ")]


def test_every_round_is_kept_beside_the_page(book: Book):
    assert renew(BOTH, book, measure=told) == 0
    kept = json.loads(book.record.read_text())
    assert {name: entry["record"] for name, entry in kept.items()} == RECORDS
    assert titles(book) == ["Scale", "Reports over many tasks"]


def test_one_section_alone_leaves_the_others_as_they_were(book: Book):
    renew(BOTH, book, measure=told)
    before = book.kept()["report"]
    again = {"at_once": 2, "rounds": RECORDS["scale"]["rounds"] * 2}
    assert renew(BOTH[:1], book, measure=lambda _section, _count: again) == 0
    assert book.kept()["report"] == before
    assert book.kept()["scale"]["record"] == again
    assert "2 tasks of one repository" in book.page.read_text()


def test_a_section_that_fails_is_named_and_those_after_it_are_measured(
    book: Book, capsys: pytest.CaptureFixture[str]
):
    assert renew(BOTH, book, measure=fails("scale")) == 1
    assert titles(book) == ["Reports over many tasks"]
    assert "Not measured: scale. `make bench ONLY=scale` tries again." in capsys.readouterr().err


def test_what_was_measured_before_ctrl_c_is_kept(book: Book):
    def measure(section: Section, count: int) -> Any:
        if section.name == "report":
            raise KeyboardInterrupt
        return told(section, count)

    assert renew(BOTH, book, measure=measure) == 130
    assert titles(book) == ["Scale"]


def test_a_count_of_ones_own_goes_to_every_section(book: Book):
    seen = []

    def measure(section: Section, count: int) -> Any:
        seen.append(count)
        return told(section, count)

    renew(BOTH, book, 3, measure)
    renew(BOTH, book, measure=measure)
    assert seen == [3, 3, 1, 1]


def test_a_section_without_a_text_is_refused_before_it_costs_time(book: Book):
    def measure(*_: Any) -> Any:
        raise AssertionError("it was measured")

    assert renew([Section("nothing", 1, 10)], book, measure=measure) == 1
    assert not book.record.exists()


def test_a_bench_that_dies_gives_no_record():
    with pytest.raises(FailedError, match="exit code 1"):
        measure_apart(Section("nothing", 1, 60), 1)


def test_a_bench_that_passes_its_time_is_ended():
    with pytest.raises(FailedError, match="did not end within 0 s"):
        measure_apart(Section("scale", 1, 0.0), 1)


@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.name)
def test_every_section_has_a_title_and_a_text(section: Section):
    figures = figures_of(section.name)
    assert figures.TITLE
    assert callable(figures.render)
