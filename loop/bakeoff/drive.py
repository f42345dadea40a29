"""Runs the cells of a bake-off one after the other, in their order, and saves each as it ends.

Limits: one process at a time a bake-off; a slot of the host is held for each cell.
"""

from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path

from instrument.found import find_home
from instrument.money import show_usd
from instrument.schema.vocabulary import StopReason
from loop.bakeoff.cells import is_outside, run_cell, spent_in
from loop.bakeoff.plan import Cell, Plan
from loop.bakeoff.progress import BakeoffProgress, CellProgress, head_of
from loop.bakeoff.result import CellResult, Result, load_result, save_result
from loop.bakeoff.scratch import Scratch, tidy
from loop.errors import BusyError
from loop.leases import Lease, try_lease
from loop.machine.stops import STOPS
from loop.run import World
from loop.signals import Interrupted
from loop.slotfiles import Need
from loop.slots import host_of, job_slot

LOCK_FILE = "lock"
OF_THE_BASE = (StopReason.BASELINE_RED, StopReason.BASELINE_GREEN)
"""They will be the same each time: a bake-off keeps its base."""


@dataclass(frozen=True, slots=True)
class Driven:
    """How far it came."""

    result: Result
    why: str = ""
    """One sentence on why cells are left; empty: none is."""
    can_resume: bool = True


def hold(folder: Path) -> Lease:
    """Hold a bake-off, for a `with` block.

    Raises:
        BusyError: Another process works on it.
    """
    lease = try_lease(folder / LOCK_FILE)
    if lease is None:
        raise BusyError(f"bake-off {folder.name}: another process works on it; wait for it")
    return lease


def drive(folder: Path, world: World, progress: BakeoffProgress, budget_microusd: int | None) -> Driven:
    """Run every cell that has not ended yet.

    Args:
        folder: The bake-off's.
        world: The surroundings.
        progress: Is told of each cell; the world's own, too.
        budget_microusd: What the whole may cost; none: what the tasks' caps let through.

    Raises:
        BusyError: Another process drives it.
        RunError, Problems, GitError: A cell cannot begin.
        Interrupted: A signal came; the sentence that continues has been said.
    """
    with hold(folder):
        try:
            return _drive(folder, world, progress, budget_microusd)
        except Interrupted:
            progress.close()
            progress.note(f"interrupted; to continue:  factory bakeoff --resume {folder.name}")
            raise
        finally:
            progress.close()


def _drive(folder: Path, world: World, progress: BakeoffProgress, budget_microusd: int | None) -> Driven:
    result = load_result(folder)
    ended = {cell.cell.n for cell in result.cells}
    for cell in result.plan.cells:
        if cell.n in ended:
            tidy(Scratch(folder / cell.folder))
            continue
        world.signals.check()
        cap_microusd, why = _cap(folder, result, cell, budget_microusd)
        if why:
            return Driven(result, why)
        name = name_of(result.plan, cell)
        progress.cell(head_of(cell.n, len(result.plan.cells), name, result.spent_microusd))
        with _slot(world, progress, f"bakeoff-{folder.name}-{cell.n}"):
            quiet = replace(world, progress=CellProgress(progress))
            found = run_cell(folder, result.plan, cell, quiet, cap_microusd)
        progress.note(f"[{cell.n}/{len(result.plan.cells)}] {name}: {ending_of(found)}")
        if found.stop is not None and is_outside(found.stop):
            return _ended_early(result, name, found.stop)
        result = result.model_copy(update={"cells": (*result.cells, found)})
        save_result(folder, result)
        tidy(Scratch(folder / cell.folder))
    return Driven(result)


def _ended_early(result: Result, name: str, stop: StopReason) -> Driven:
    if stop in OF_THE_BASE:
        why = f"{name} stopped with {stop}: mend that on the branch, then begin another bake-off"
        return Driven(result, why, can_resume=False)
    return Driven(result, f"{name} stopped with {stop}. {STOPS[stop].sentence}")


def _slot(world: World, progress: BakeoffProgress, key: str) -> AbstractContextManager[None]:
    """A bake-off counts as one job among those of the person's home, whichever of its jobs runs.

    Those are of the cell's own home, so that no container there is taken for one more.
    """
    return job_slot(
        host_of(find_home(world.environment), world.environment, world.load),
        Need(key=key),
        None,
        say=progress.note,
        sleep=world.sleep,
        interrupted=world.signals.check,
    )


def _cap(folder: Path, result: Result, cell: Cell, budget_microusd: int | None) -> tuple[int | None, str]:
    """The cell's cap where it needs one, and why it is not begun; a cap that is cut would skew its result."""
    if budget_microusd is None:
        return None, ""
    left = budget_microusd - result.spent_microusd
    own = result.plan.subjects[cell.subject].budget_microusd
    need = own if own is not None else spent_in(folder, result.plan, cell) + 1
    if left < need:
        return None, (
            f"{show_usd(max(0, left))} of the budget are left, and {name_of(result.plan, cell)} may take "
            f"{show_usd(need)}: run the same command with a higher --budget-usd"
        )
    return (None if own is not None else left), ""


def name_of(plan: Plan, cell: Cell) -> str:
    """Task and variant, and the repeat where there are several."""
    subject, variant = plan.subjects[cell.subject], plan.variants[cell.variant]
    again = f" ({cell.repeat} of {plan.repeats})" if plan.repeats > 1 else ""
    return f"{subject.task_id} with {variant.name}{again}"


def ending_of(found: CellResult) -> str:
    """How a cell ended, in words, with what it cost."""
    how = f"stopped: {found.stop}" if found.stop else str(found.done)
    cost = show_usd(found.cost_microusd, lower_bound=found.lower_bound)
    return f"{how}, {found.coder_rounds}+{found.review_rounds} rounds, {cost}"
