"""What a bake-off is to do, fixed at its beginning: tasks, variants, and the order of its cells.

Pure: no I/O.
"""

import hashlib
import json
import random
from collections.abc import Sequence
from typing import Literal

from pydantic import AwareDatetime, NonNegativeInt, PositiveInt

from instrument.schema.base import Frozen
from loop.bakeoff.variants import Variant

DIGITS = 12
"""Of a commit, for a person's eyes."""


class Subject(Frozen):
    """A task, as it is given to every variant."""

    task_id: str
    path: str
    base: str
    """The commit that it begins on, in the person's history."""
    blob: str
    """Blob id of the task file's text."""
    budget_microusd: NonNegativeInt | None
    """Its own cap; none: no limit."""


class Cell(Frozen):
    """One task done once by one variant."""

    n: PositiveInt
    """Its place in the order of run, from 1, and the name of its folder."""
    subject: NonNegativeInt
    """Index of the task."""
    variant: NonNegativeInt
    """Likewise."""
    repeat: PositiveInt

    @property
    def folder(self) -> str:
        """Below the bake-off's own."""
        return f"cells/{self.n:04d}"


class Plan(Frozen):
    """Written once; the same command finds it again by its digest."""

    bakeoff_id: str
    """8 random hex digits; the order of cells is drawn from it."""
    digest: str
    created_utc: AwareDatetime
    repo: str
    branch: str
    remote: str | None
    """What a scratch clone calls its own bare origin; none: the repo pushes nowhere."""
    subjects: tuple[Subject, ...]
    variants: tuple[Variant, ...]
    starts: tuple[tuple[str, ...], ...]
    """By task, then by variant: the commit that a cell begins on."""
    reviewers: tuple[str, ...]
    """By variant: who reviews its work, runtime and model."""
    repeats: PositiveInt
    stories: dict[str, str]
    """What a scripted provider answers from: a runtime, a task's number or nothing, to a file's name."""
    cells: tuple[Cell, ...]
    """In order of run."""

    @property
    def is_scripted(self) -> bool:
        """Whether no real provider is asked."""
        return bool(self.stories)


class Saved(Frozen):
    """A diff on disk, with the proof that it is rebuilt right."""

    path: str
    """Below the bake-off's folder."""
    sha256: str
    tree: str
    """The tree that it makes of the cell's start."""


Says = Literal["approve", "changes"]


class Reviewed(Frozen):
    """One candidate and what its reviewer said of it."""

    round: PositiveInt
    says: Says
    must_fixes: NonNegativeInt
    diff: Saved


def order_cells(bakeoff_id: str, subjects: int, variants: int, repeats: int) -> tuple[Cell, ...]:
    """Draw the order: all variants of a task come one after the other, so that no time of day favours one.

    The tasks of a repeat are shuffled, and the variants of each task again.
    """
    draw = random.Random(bakeoff_id)  # noqa: S311 - an order, not a secret
    drawn: list[tuple[int, int, int]] = []
    for repeat in range(1, repeats + 1):
        for subject in draw.sample(range(subjects), subjects):
            drawn += [(subject, variant, repeat) for variant in draw.sample(range(variants), variants)]
    return tuple(
        Cell(n=n, subject=subject, variant=variant, repeat=repeat)
        for n, (subject, variant, repeat) in enumerate(drawn, start=1)
    )


def digest_of(
    repo: str,
    subjects: Sequence[Subject],
    variants: Sequence[Variant],
    repeats: int,
    stories: dict[str, str],
) -> str:
    """What makes two bake-offs the same: the texts and bases of the tasks, the variants, the repeats.

    Args:
        repo: `[repo] name`.
        subjects: The tasks.
        variants: In order.
        repeats: How often each.
        stories: Key to a digest of the story's text.
    """
    models = [[model.model_dump(mode="json") for model in each] for each in (subjects, variants)]
    material = json.dumps([repo, models, repeats, sorted(stories.items())])
    return hashlib.sha256(material.encode()).hexdigest()


def most_microusd(plan: Plan) -> int | None:
    """What all cells may cost together by their tasks' caps; none: one has no cap."""
    caps = [plan.subjects[cell.subject].budget_microusd for cell in plan.cells]
    known = [cap for cap in caps if cap is not None]
    return sum(known) if len(known) == len(caps) else None
