"""Lays a bake-off out as plain text of at most 80 columns, where names are not longer than that.

Pure: no I/O.
"""

from collections import Counter
from collections.abc import Iterable
from itertools import groupby

from instrument.figures import Spread
from instrument.money import show_usd
from instrument.show import MARK, plain, show_amount, show_ms, wrap
from instrument.spread import spread_of
from loop.bakeoff.chance import ALPHA
from loop.bakeoff.figures import Figures, PairFigures, VariantFigures, figures_of
from loop.bakeoff.plan import DIGITS, Plan, most_microusd
from loop.bakeoff.result import CellResult, Result

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_VARIANT = "{:<9}{:>9}{:>12}{:>9}{:>11}{:>13}{:>16}"
_CELL = "{:<24}{:<4}{:>10}{:>9}{:>11}{:>13}"
_PAIR = "{:<8}{:>24}{:>24}{:>24}"
_NONE = "-"


def opening(plan: Plan, budget_microusd: int | None) -> list[str]:
    """What is about to be done, and what it may cost at most."""
    most = most_microusd(plan)
    counts = [
        _count(len(plan.subjects), "task"),
        _count(len(plan.variants), "variant"),
        f"{_count(plan.repeats, 'time')} each",
        _count(len(plan.cells), "cell"),
    ]
    lines = [f"bake-off {plan.bakeoff_id}: {', '.join(counts)}"]
    if budget_microusd is not None:
        lines.append(f"It may cost {show_usd(budget_microusd)} (--budget-usd).")
    elif plan.is_scripted:
        lines.append("A scripted provider answers: nothing is paid, amounts are what it would have cost.")
    elif most is not None:
        lines.append(f"It may cost {show_usd(most)}: the sum of the tasks' budget_usd over all cells.")
    else:
        lines.append("It may cost any amount: a task has no budget_usd; --budget-usd sets a limit.")
    return lines


def render(result: Result) -> str:
    """Lay out variants, cells, and what the pairs can tell; ends with a newline."""
    plan, figures = result.plan, figures_of(result)
    lines = [_title(result), ""]
    for n, variant in enumerate(plan.variants):
        lines += wrap(plain(variant.name), _letter(n), "  ")
    lines += wrap(_reviewers(plan), "", "")
    lines += [
        "",
        _VARIANT.format("variant", "accepted", "95 % range", "rounds", "time", "cost", "per accepted"),
    ]
    lines += [_variant(n, each) for n, each in enumerate(figures.variants)]
    if any(each.lower_bound for each in figures.variants):
        lines.append(f"{MARK}amounts are lower bounds: parts are unmetered")
    lines += ["Rounds (coder+review), time and cost are medians of the accepted cells."]
    lines += ["", _CELL.format("task", "", "accepted", "rounds", "time", "cost"), *_cells(result)]
    if figures.pairs:
        lines += ["", *_pairs(plan, figures)]
    return "\n".join(lines) + "\n"


def _reviewers(plan: Plan) -> str:
    """Whose verdicts these are: a lenient reviewer must not pass for a good coder."""
    if len(set(plan.reviewers)) == 1:
        return f"All are reviewed by {plain(plan.reviewers[0])}."
    each = ", ".join(f"{_letter(n)} by {plain(name)}" for n, name in enumerate(plan.reviewers))
    return (
        f"Reviewers differ ({each}): a part of any difference may be theirs; "
        "[reviewer] in factory.toml sets one for all."
    )


def _title(result: Result) -> str:
    plan = result.plan
    bases = {subject.base[:DIGITS] for subject in plan.subjects}
    base = f"base {bases.pop()}" if len(bases) == 1 else f"{len(bases)} bases"
    far = "" if result.is_complete else f", {len(result.cells)} of {len(plan.cells)} cells so far"
    return f"bake-off {plan.bakeoff_id} on {plan.repo}, {base}{far}"


def _letter(n: int) -> str:
    return _LETTERS[n] if n < len(_LETTERS) else str(n + 1)


def _variant(n: int, each: VariantFigures) -> str:
    each_range = f"{each.low * 100:.0f}-{each.high * 100:.0f} %" if each.cells else _NONE
    return _VARIANT.format(
        _letter(n),
        f"{each.accepted}/{each.cells}",
        each_range,
        _rounds(each.coder_rounds, each.review_rounds),
        _ms(each.time_ms),
        _usd(each.cost_microusd),
        show_amount(each.per_accepted_microusd, lower_bound=each.lower_bound)
        if each.per_accepted_microusd is not None
        else "n/a",
    )


def _cells(result: Result) -> Iterable[str]:
    """A line a task and variant, medians over its repeats; below it why some were not accepted."""
    ordered = sorted(result.cells, key=lambda c: (c.cell.subject, c.cell.variant, c.cell.repeat))
    for (subject, variant), group in groupby(ordered, key=lambda c: (c.cell.subject, c.cell.variant)):
        cells = list(group)
        yield _CELL.format(
            result.plan.subjects[subject].task_id[:23],
            _letter(variant),
            f"{sum(cell.is_accepted for cell in cells)}/{len(cells)}",
            _rounds(spread_of(c.coder_rounds for c in cells), spread_of(c.review_rounds for c in cells)),
            _ms(spread_of(c.time_ms for c in cells)),
            _usd(spread_of(c.cost_microusd for c in cells)),
        )
        yield from _endings(cells)


def _endings(cells: list[CellResult]) -> Iterable[str]:
    counts = Counter(str(cell.stop or cell.done) for cell in cells if not cell.is_accepted)
    for name, count in counts.items():
        first = next(c for c in cells if str(c.stop or c.done) == name)
        detail = f": {plain(first.details[0])}" if first.details else ""
        times = f" ({count} times)" if count > 1 else ""
        yield from wrap(f"{name}{times}{detail}", "stopped" if first.stop else "ended")


def _rounds(coder: Spread, review: Spread) -> str:
    return _NONE if coder.median is None else f"{coder.median}+{review.median}"


def _ms(spread: Spread) -> str:
    return _NONE if spread.median is None else show_ms(spread.median)


def _usd(spread: Spread) -> str:
    return _NONE if spread.median is None else show_usd(spread.median)


def _pairs(plan: Plan, figures: Figures) -> list[str]:
    """What can be told of each two variants, and by which rule."""
    letters = {variant.name: _letter(n) for n, variant in enumerate(plan.variants)}
    lines = [_PAIR.format("pair", "accepted", "cost", "time")]
    for (first, second), group in groupby(figures.pairs, key=lambda pair: (pair.first, pair.second)):
        said = [_says(pair, letters) for pair in group]
        lines.append(_PAIR.format(f"{letters[first]}, {letters[second]}", *said))
    rule = (
        "A letter is the better one; 'too few': the sample is too small to tell, whatever it shows. "
        "Rule: exact two-sided sign test on matched cells (same task, same repeat), "
        f"{ALPHA * 100:.0f} % over all pairs of a column together; cost and time where both were accepted. "
        "It speaks of these tasks alone."
    )
    return [*lines, *wrap(rule, "", "")]


def _says(pair: PairFigures, letters: dict[str, str]) -> str:
    count = f"{pair.first_better}:{pair.second_better} of {pair.pairs}"
    match pair.says:
        case "too_few":
            return f"too few ({pair.pairs} of {pair.needed})"
        case "no_difference":
            return f"none shown ({count})"
        case "first":
            return f"{letters[pair.first]} ({count}, p {pair.p:.3f})"
        case "second":
            return f"{letters[pair.second]} ({count}, p {pair.p:.3f})"


def _count(number: int, name: str) -> str:
    return f"{number} {name}" if number == 1 else f"{number} {name}s"
