"""Lays replayed reviews out as plain text: verdicts side by side, agreement, cost.

Pure: no I/O.
"""

from instrument.money import show_usd
from instrument.show import wrap
from loop.bakeoff.chance import share_range
from loop.bakeoff.replay import Replay, Second
from loop.bakeoff.rescore import Rescore

_ROW = "{:<24}{:>6}{:>10}{:>10}{:>14}{:>14}"
TOO_WIDE = 0.5
"""A range of the share that is wider than this tells nothing."""


def render_reviews(replay: Replay) -> str:
    """One row a diff, then the share on which both agree; ends with a newline."""
    lines = [f"reviews of bake-off {replay.bakeoff_id} by {replay.reviewer}", ""]
    lines.append(_ROW.format("task", "round", "first", "second", "must-fixes", "cost"))
    name = ""
    for review in replay.reviews:
        if review.name != name:
            name = review.name
            lines += wrap(name, "", "")
        lines.append(_row(review))
    told = [review for review in replay.reviews if review.second is not None]
    agreed = sum(review.first == review.second for review in told)
    low, high = share_range(agreed, len(told))
    share = f"{agreed} of {len(told)}, 95 % range {low * 100:.0f}-{high * 100:.0f} %"
    lines += ["", f"agreement  {share}{'; too few to tell' if high - low > TOO_WIDE else ''}"]
    if len(told) < len(replay.reviews):
        lines.append(f"no verdict {len(replay.reviews) - len(told)}")
    is_lower_bound = any(review.lower_bound for review in replay.reviews)
    lines.append(f"cost       {show_usd(replay.spent_microusd, lower_bound=is_lower_bound)}")
    return "\n".join(lines) + "\n"


def _row(review: Second) -> str:
    return _ROW.format(
        f"  cell {review.n}",
        review.round,
        review.first,
        review.second or "none",
        f"{review.first_must_fixes} / {review.must_fixes}",
        show_usd(review.cost_microusd, lower_bound=review.lower_bound),
    ) + ("" if review.second else f"\n    {review.outcome}")


def render_rescore(made: Rescore) -> str:
    """One line a diff, then how many changed; ends with a newline."""
    lines = []
    for cell in made.cells:
        lines.append(f"{cell.name}: {cell.says.replace('_', ' ')}")
        more = [", ".join(cell.failed)] if cell.failed else []
        lines += [f"    {text}" for text in (*more, *([cell.detail] if cell.detail else []))]
    changed = sum(cell.says in ("checks_fail", "not_rebuilt") for cell in made.cells)
    lines.append(f"{len(made.cells)} accepted diffs checked again, {changed} changed")
    return "\n".join(lines) + "\n"
