"""A bake-off's figures: what each variant came to, and what its pairs can tell.

Pure: no I/O.
"""

from collections.abc import Callable, Iterable
from itertools import combinations
from typing import Literal

from pydantic import NonNegativeInt

from instrument.figures import Spread
from instrument.schema.base import Frozen
from instrument.spread import spread_of
from loop.bakeoff.chance import ALPHA, least_pairs, share_range, sign_p
from loop.bakeoff.result import CellResult, Result

Measure = Literal["accepted", "cost", "time"]


class VariantFigures(Frozen):
    """One variant over all of its cells that have ended."""

    variant: str
    cells: NonNegativeInt
    accepted: NonNegativeInt
    low: float
    high: float
    """Where the true share of accepted cells lies, with 95 % (Wilson)."""
    coder_rounds: Spread
    review_rounds: Spread
    time_ms: Spread
    cost_microusd: Spread
    """These four of the accepted cells alone: giving up early is no virtue."""
    total_microusd: NonNegativeInt
    lower_bound: bool
    per_accepted_microusd: NonNegativeInt | None
    """The cost of all of its cells over those accepted, rounded up; none where none is."""


class PairFigures(Frozen):
    """Two variants, by the cells that did the same task in the same repeat."""

    first: str
    second: str
    measure: Measure
    pairs: NonNegativeInt
    """Matched cells that can be held against each other."""
    needed: NonNegativeInt
    """With fewer, nothing could be told."""
    first_better: NonNegativeInt
    second_better: NonNegativeInt
    p: float
    says: Literal["too_few", "no_difference", "first", "second"]


class Figures(Frozen):
    """Everything that the table shows."""

    variants: tuple[VariantFigures, ...]
    pairs: tuple[PairFigures, ...]


def figures_of(result: Result) -> Figures:
    """Sum a bake-off up, whole or in its midst."""
    names = [variant.name for variant in result.plan.variants]
    cells = {n: [c for c in result.cells if c.cell.variant == n] for n in range(len(names))}
    pairs = list(combinations(range(len(names)), 2))
    alpha = ALPHA / len(pairs) if pairs else ALPHA
    return Figures(
        variants=tuple(_of_variant(name, cells[n]) for n, name in enumerate(names)),
        pairs=tuple(
            _of_pair((names[a], names[b]), _matched(cells[a], cells[b]), measure, alpha)
            for a, b in pairs
            for measure in _BETTER
        ),
    )


def _of_variant(name: str, cells: list[CellResult]) -> VariantFigures:
    accepted = [cell for cell in cells if cell.is_accepted]
    low, high = share_range(len(accepted), len(cells))
    total = sum(cell.cost_microusd for cell in cells)
    return VariantFigures(
        variant=name,
        cells=len(cells),
        accepted=len(accepted),
        low=low,
        high=high,
        coder_rounds=spread_of(cell.coder_rounds for cell in accepted),
        review_rounds=spread_of(cell.review_rounds for cell in accepted),
        time_ms=spread_of(cell.time_ms for cell in accepted),
        cost_microusd=spread_of(cell.cost_microusd for cell in accepted),
        total_microusd=total,
        lower_bound=any(cell.lower_bound for cell in cells),
        per_accepted_microusd=-(-total // len(accepted)) if accepted else None,
    )


Pair = tuple[CellResult, CellResult]


def _matched(first: Iterable[CellResult], second: Iterable[CellResult]) -> list[Pair]:
    others = {(c.cell.subject, c.cell.repeat): c for c in second}
    keys = [(c, (c.cell.subject, c.cell.repeat)) for c in first]
    return [(cell, others[key]) for cell, key in keys if key in others]


def _accepted(pair: Pair) -> int | None:
    return pair[0].is_accepted - pair[1].is_accepted


def _cheaper(pair: Pair) -> int | None:
    """Only where both were accepted, and known to the end."""
    if not all(cell.is_accepted and not cell.lower_bound for cell in pair):
        return None
    return pair[1].cost_microusd - pair[0].cost_microusd


def _faster(pair: Pair) -> int | None:
    if not all(cell.is_accepted for cell in pair):
        return None
    return pair[1].time_ms - pair[0].time_ms


_BETTER: dict[Measure, Callable[[Pair], int | None]] = {
    "accepted": _accepted,
    "cost": _cheaper,
    "time": _faster,
}
"""Above zero where the first is better, none where the pair cannot be held against each other."""


def _of_pair(names: tuple[str, str], pairs: list[Pair], measure: Measure, alpha: float) -> PairFigures:
    found = [better for better in map(_BETTER[measure], pairs) if better is not None]
    wins, losses = sum(better > 0 for better in found), sum(better < 0 for better in found)
    p, needed = sign_p(wins, losses), least_pairs(alpha)
    says: Literal["too_few", "no_difference", "first", "second"] = "no_difference"
    if len(found) < needed:
        says = "too_few"
    elif p <= alpha:
        says = "first" if wins > losses else "second"
    return PairFigures(
        first=names[0],
        second=names[1],
        measure=measure,
        pairs=len(found),
        needed=needed,
        first_better=wins,
        second_better=losses,
        p=p,
        says=says,
    )
