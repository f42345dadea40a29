"""docs/benchmarks.md says what was found, and nothing that was not."""

from tests.bench.figures import Goal, Spread
from tests.bench.page import Part, goals_table, number, render, shown, table


def a_part(name: str, title: str) -> Part:
    return Part(name=name, title=title, date="2026-11-30", cores=2, load=0.14, body="How it was done.\n\n")


def test_each_section_says_when_and_on_what_it_was_measured():
    page = render([a_part("jobs", "Job start"), a_part("scale", "Scale")])

    first, second = page.split("\n## ")[1:]
    assert first == (
        "Job start\n`jobs`, measured on 2026-11-30, 2 cores, load before it 0.1.\n\nHow it was done.\n"
    )
    assert second.startswith("Scale\n`scale`, ")
    assert page.endswith("How it was done.\n")


def test_a_goal_is_judged_by_its_median_and_what_was_not_measured_is_said():
    goals = [
        (Goal("start", 1.2), [Spread(1.0, 1.1, 1.3), Spread(1.1, 1.25, 1.3)]),
        (Goal("rate", 20, "a second", is_floor=True), [Spread(19, 19, 19), None]),
    ]

    assert goals_table(["warm", "cold"], goals).splitlines() == [
        "|  | goal | warm | cold |",
        "| --- | --- | --- | --- |",
        "| start | at most 1.2 | 1.1 (1 to 1.3) met | 1.25 (1.1 to 1.3) **missed** |",
        "| rate | at least 20 a second | 19 **missed** | not measured |",
    ]


def test_a_table_has_a_line_a_row():
    assert table(["a", "b"], [["1", "2"], ["3", "4"]]) == "| a | b |\n| --- | --- |\n| 1 | 2 |\n| 3 | 4 |"


def test_a_spread_is_shown_only_where_there_is_one():
    assert shown(Spread(1.234, 2.345, 3.456)) == "2.35 (1.23 to 3.46)"
    assert shown(Spread(1000.4, 1000.2, 1000.0)) == "1,000"
    assert shown(None) == ""


def test_a_number_has_three_digits_and_no_fraction_from_a_hundred_on():
    assert [number(value) for value in (0.01234, 9.876, 99.94, 100.4, 12345.6)] == [
        *("0.0123", "9.88", "99.9", "100", "12,346")
    ]
