"""What a table tells of made-up cells."""

from datetime import UTC, datetime

from instrument.schema.vocabulary import DoneReason, RuntimeName, StopReason
from loop.bakeoff.figures import figures_of
from loop.bakeoff.plan import Plan, Subject, order_cells
from loop.bakeoff.result import CellResult, Result
from loop.bakeoff.table import render
from loop.bakeoff.variants import Variant

NAMES = ("claude", "codex:gpt-5.5")


def made(
    costs: tuple[list[int | None], list[int | None]],
    names: tuple[str, str] = NAMES,
    reviewers: tuple[str, str] = ("claude m", "claude m"),
) -> Result:
    """One task, as many repeats as there are costs; None is a stop after $0.01."""
    repeats = len(costs[0])
    plan = Plan(
        bakeoff_id="0a0b0c0d",
        digest="",
        created_utc=datetime(2026, 1, 1, tzinfo=UTC),
        repo="demo",
        branch="main",
        remote=None,
        subjects=(
            Subject(
                task_id="demo-007", path="tasks/007-a.md", base="a" * 40, blob="b" * 40, budget_microusd=None
            ),
        ),
        variants=tuple(Variant(name=name, runtime=RuntimeName.CLAUDE) for name in names),
        starts=(("a" * 40, "a" * 40),),
        reviewers=reviewers,
        repeats=repeats,
        stories={},
        cells=order_cells("0a0b0c0d", 1, 2, repeats),
    )
    cells = []
    for cell in plan.cells:
        cost = costs[cell.variant][cell.repeat - 1]
        cells.append(
            CellResult(
                cell=cell,
                done=None if cost is None else DoneReason.MERGED,
                stop=StopReason.CHECKS_EXHAUSTED if cost is None else None,
                details=() if cost is not None else ("unit: exit code 1",),
                coder_rounds=1 if cost is not None else 4,
                review_rounds=1,
                time_ms=60_000,
                cost_microusd=10_000 if cost is None else cost,
                lower_bound=False,
                calls=1,
                agent="claude 1",
                run_folder="/somewhere",
                diff=None,
            )
        )
    return Result(plan=plan, cells=tuple(cells))


def says(result: Result) -> dict[str, str]:
    return {pair.measure: pair.says for pair in figures_of(result).pairs}


def test_five_pairs_all_on_one_side_are_too_few_and_six_are_not() -> None:
    assert says(made(([1] * 5, [2] * 5)))["cost"] == "too_few"
    assert says(made(([1] * 6, [2] * 6)))["cost"] == "first"
    assert says(made(([2] * 6, [1] * 6)))["cost"] == "second"


def test_enough_pairs_that_point_both_ways_show_no_difference() -> None:
    result = made(([1, 1, 1, 1, 2, 2], [2, 2, 2, 2, 1, 1]))
    assert says(result) == {"accepted": "no_difference", "cost": "no_difference", "time": "no_difference"}
    assert "none shown (4:2 of 6)" in render(result)


def test_cost_is_held_against_each_other_only_where_both_were_accepted() -> None:
    result = made(([1, 1, 1, 1, 1, 1, 1], [2, 2, 2, 2, 2, 2, None]))
    (pair,) = [pair for pair in figures_of(result).pairs if pair.measure == "cost"]
    assert (pair.pairs, pair.first_better, pair.second_better, pair.says) == (6, 6, 0, "first")
    (pair,) = [pair for pair in figures_of(result).pairs if pair.measure == "accepted"]
    assert (pair.pairs, pair.first_better, pair.says) == (7, 1, "no_difference")


def test_medians_are_of_the_accepted_cells_and_the_cost_per_accepted_is_of_all() -> None:
    first, second = figures_of(made(([40_000, 20_000, None], [None] * 3))).variants
    assert (first.accepted, first.cells, first.cost_microusd.median) == (2, 3, 20_000)
    assert first.coder_rounds.median == 1
    assert (first.total_microusd, first.per_accepted_microusd) == (70_000, 35_000)
    assert (second.accepted, second.per_accepted_microusd, second.cost_microusd.median) == (0, None, None)


def test_the_table_names_stops_with_their_first_detail_and_stays_within_80_columns() -> None:
    text = render(made(([None, None, 1], [1, 1, None]), ("claude", "a" * 120)))
    assert "stopped   checks_exhausted (2 times): unit: exit code 1" in text
    assert "stopped   checks_exhausted: unit: exit code 1" in text
    assert max(map(len, text.splitlines())) <= 80


def test_a_winner_is_named_with_its_count_and_p() -> None:
    assert "A (8:0 of 8, p 0.008)" in render(made(([1] * 8, [2] * 8)))


def test_three_variants_need_more_pairs_than_two() -> None:
    two = made(([1] * 6, [2] * 6))
    third = Variant(name="opencode", runtime=RuntimeName.OPENCODE)
    plan = two.plan.model_copy(update={"variants": (*two.plan.variants, third)})
    pairs = figures_of(two.model_copy(update={"plan": plan})).pairs
    assert {pair.needed for pair in pairs} == {7}
    assert pairs[1].says == "too_few"


def test_reviewers_that_differ_are_named_beside_the_figures() -> None:
    same, other = made(([1], [1])), made(([1], [1]), reviewers=("claude m", "codex n"))
    assert "All are reviewed by claude m." in render(same)
    assert "Reviewers differ (A by claude m, B by codex n)" in render(other)
