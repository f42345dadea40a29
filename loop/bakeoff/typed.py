"""The parts of a `factory bakeoff` line held against each other, then done; text and exit code out.

Limits: stdout is the caller's.
"""

from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path

from instrument.found import find_home
from instrument.money import MICROUSD_PER_USD
from instrument.schema.base import Frozen
from loop.bakeoff.again_table import render_rescore, render_reviews
from loop.bakeoff.begin import FOLDER, Asked, begin
from loop.bakeoff.drive import drive
from loop.bakeoff.figures import Figures, figures_of
from loop.bakeoff.progress import BakeoffProgress
from loop.bakeoff.rescore import rescore
from loop.bakeoff.result import Result, load_result
from loop.bakeoff.reviews import replay_reviews
from loop.bakeoff.stories import read_stories
from loop.bakeoff.table import opening, render
from loop.bakeoff.variants import parse_variants
from loop.errors import Exit, UsageError
from loop.run import World

CHANGED = 1
"""The exit code of a rescore that finds a change; `Exit.BUG` has the same number."""


class Printed(Frozen):
    """`--json`: the result, with the figures that the table shows."""

    result: Result
    figures: Figures


@dataclass(frozen=True, slots=True)
class Typed:
    """The whole command line."""

    tasks: tuple[str, ...]
    replayed: tuple[str, ...]
    variants: tuple[str, ...]
    repeats: int
    repo: Path
    resume: str | None
    rescore: str | None
    reviews: str | None
    budget_usd: str | None
    stories: tuple[str, ...]


def run_typed(typed: Typed, world: World, progress: BakeoffProgress, *, as_json: bool) -> tuple[str, int]:
    """Do what was typed; return what stdout gets and the exit code.

    Raises:
        RunError, Problems, GitError, JobsError: One sentence; exit code 2, or 4.
        Interrupted: A signal ended it.
    """
    _check(typed)
    budget_microusd = _microusd(typed.budget_usd)
    bakeoffs = find_home(world.environment) / FOLDER
    if typed.rescore is not None:
        made = rescore(_folder(bakeoffs, typed.rescore), world, progress)
        text = made.model_dump_json() + "\n" if as_json else render_rescore(made)
        return text, CHANGED if made.has_changed else Exit.DONE
    variants, stories = parse_variants(typed.variants), read_stories(typed.stories)
    if typed.reviews is not None:
        replay = replay_reviews(
            _folder(bakeoffs, typed.reviews),
            variants[0],
            world,
            progress,
            stories=stories,
            budget_microusd=budget_microusd,
        )
        return (replay.model_dump_json() + "\n" if as_json else render_reviews(replay)), Exit.DONE
    if typed.resume is not None:
        folder = _folder(bakeoffs, typed.resume)
    else:
        asked = Asked(typed.repo, typed.tasks, typed.replayed, variants, typed.repeats, stories)
        folder = begin(asked, world)
    return _bake(folder, world, progress, budget_microusd, as_json=as_json)


def _bake(
    folder: Path, world: World, progress: BakeoffProgress, budget_microusd: int | None, *, as_json: bool
) -> tuple[str, int]:
    result = load_result(folder)
    for line in opening(result.plan, budget_microusd):
        progress.note(line)
    if result.cells:
        progress.note(f"It goes on: {len(result.cells)} of {len(result.plan.cells)} cells have ended.")
    driven = drive(folder, world, progress, budget_microusd)
    if driven.why:
        progress.note(driven.why)
    if driven.why and driven.can_resume:
        progress.note(f"to continue:  factory bakeoff --resume {folder.name}")
    text = render(driven.result)
    if as_json:
        printed = Printed(result=driven.result, figures=figures_of(driven.result))
        text = printed.model_dump_json() + "\n"
    return text, Exit.STOPPED if driven.why else Exit.DONE


def _folder(bakeoffs: Path, name: str) -> Path:
    if not name.isalnum():
        raise UsageError(f"{name} is no name of a bake-off; see the names in {bakeoffs}")
    return bakeoffs / name


def _check(typed: Typed) -> None:
    """See that the parts go together.

    Raises:
        UsageError: They do not.
    """
    ways = [way for way in (typed.resume, typed.rescore, typed.reviews) if way is not None]
    has_tasks = bool(typed.tasks or typed.replayed)
    if len(ways) > 1:
        raise UsageError("take one of --resume, --rescore and --replay-reviews")
    if ways and has_tasks:
        raise UsageError("a bake-off that is named by its id has its tasks already; leave them out")
    if typed.reviews is not None and len(typed.variants) != 1:
        raise UsageError("--replay-reviews takes one --with RUNTIME:MODEL, the reviewer")
    if (typed.resume or typed.rescore) and (typed.variants or typed.stories):
        raise UsageError(
            "a bake-off that is named by its id has its --with and --story already; leave them out"
        )
    if not ways and not has_tasks:
        raise UsageError("name a task, or --from a finished one")
    if not ways and not typed.variants:
        raise UsageError("name at least one --with RUNTIME[:MODEL], such as --with claude --with codex:gpt-5")


def _microusd(text: str | None) -> int | None:
    if text is None:
        return None
    try:
        amount = Decimal(text) * MICROUSD_PER_USD
        if amount.is_finite() and amount > 0 and amount == int(amount):
            return int(amount)
    except InvalidOperation:
        pass
    raise UsageError(f"--budget-usd {text}: write an amount in dollars, such as 5 or 0.50")
