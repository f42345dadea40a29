from typing import Any

from instrument.asked import Asked
from instrument.figures import Group
from instrument.html.weeks import HEIGHT_PX, MOST, weeks_of
from instrument.report import build_report
from instrument.rows import read_rows


def group(home: Any, key: str, cost_microusd: int, lead_s: int | None) -> Group:
    """One task, merged where it has a lead time."""
    folder = home.folder(f"api-{key}")
    merged: dict[str, Any] = {}
    if lead_s is not None:
        ended = f"2026-03-01T{10 + lead_s // 3600:02d}:{lead_s // 60 % 60:02d}:{lead_s % 60:02d}Z"
        merged = {"stage": "done", "done": "merged", "ended_utc": ended}
    folder.write_state(spend={"microusd": cost_microusd}, **merged)
    folder.write_events()
    made = build_report(read_rows(home.path), Asked(), "repo")
    row = next(row for row in made.rows if row.task_id == folder.path.name)
    return build_report([row], Asked(), "repo").groups[0].model_copy(update={"key": key})


def test_columns_are_as_high_as_their_share_of_the_scale(home: Any) -> None:
    weeks = weeks_of([group(home, "2026-W10", 150_000, 600), group(home, "2026-W11", 300_000, 1200)])

    cost, accepted, lead = weeks.panels
    assert HEIGHT_PX == 96
    assert (cost.top, cost.half) == ("$0.5", "$0.25")
    assert [column.height_px for column in cost.columns] == [28.8, 57.6]
    assert [column.title for column in cost.columns] == ["2026-W10: $0.1500", "2026-W11: $0.3000"]
    assert (accepted.top, accepted.half, accepted.columns[0].text) == ("2", "1", "1 of 1")
    assert (lead.top, lead.columns[1].text) == ("30m 00s", "20m 00s")
    assert not weeks.has_gap


def test_a_week_in_which_nothing_was_accepted_has_no_column_of_cost_and_not_a_zero(home: Any) -> None:
    weeks = weeks_of([group(home, "2026-W10", 5, None), group(home, "2026-W11", 5, 60)])

    cost, accepted, lead = (panel.columns[0] for panel in weeks.panels)
    assert (cost.has_figure, cost.text) == (False, "n/a")
    assert (accepted.has_figure, accepted.text) == (True, "0 of 1")
    assert (lead.has_figure, lead.text) == (False, "?")


def test_weeks_that_are_left_out_are_told(home: Any) -> None:
    one = group(home, "2026-W10", 5, 60)
    keys = [f"{year}-W{week:02d}" for year in (2024, 2025) for week in range(1, 53)]
    groups = [one.model_copy(update={"key": key}) for key in keys]
    weeks = weeks_of([*groups, one.model_copy(update={"key": "unknown"})])

    assert weeks.older == 2 * 52 - MOST
    assert {len(panel.columns) for panel in weeks.panels} == {MOST}
    assert [label.week for label in weeks.labels][-1] == "2025-W52"
    assert len(weeks.labels) <= 6
    assert not weeks.has_gap
    assert weeks_of([groups[0], groups[2]]).has_gap


def test_without_a_known_week_there_is_no_picture(home: Any) -> None:
    assert weeks_of([group(home, "unknown", 5, 60)]).panels == ()
