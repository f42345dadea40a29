"""One cell: the loop's own run in a scratch clone, and what came of it.

Limits: the caller holds the bake-off's lock.
"""

from dataclasses import replace
from pathlib import Path

from instrument.figures import Row
from instrument.parts import Part
from instrument.report import one_task
from instrument.schema.state import TaskState
from instrument.schema.vocabulary import Purpose, Role, Severity, StopReason
from instrument.table import show_agent
from loop.bakeoff.diffs import save_diff
from loop.bakeoff.plan import Cell, Plan, Reviewed, Saved, Says
from loop.bakeoff.result import CellResult
from loop.bakeoff.scratch import Scratch, open_scratch
from loop.bakeoff.stories import story_for
from loop.errors import UsageError
from loop.git.store import Store
from loop.machine.stops import STOPS
from loop.request import RunRequest
from loop.run import World, run
from loop.store import StateCorruptError, load_state

COUNTED = (Part.WORKING, Part.CHECKING, Part.REVIEWING, Part.LANDING)
"""What a cell's time is made of."""


def is_outside(stop: StopReason | None) -> bool:
    """Whether a stop says nothing of the agent: a bare rerun would look at its cause again.

    An agent that never calls its model is the exception: that is what the variant does.
    """
    if stop is None or stop is StopReason.AGENT_NO_FIRST_CALL:
        return False
    return STOPS[stop].rerun is not None


def run_cell(folder: Path, plan: Plan, cell: Cell, world: World, cap_microusd: int | None) -> CellResult:
    """Carry the cell's task as far as it goes; one that an earlier process ended is only read.

    Args:
        folder: The bake-off's.
        plan: Of which the cell is one.
        cell: Which one.
        world: The surroundings; its home is not used.
        cap_microusd: What it may cost where its task has no cap of its own; none: the task's holds.

    Raises:
        RunError, Problems, GitError: It cannot begin.
        Interrupted: A signal ended it; the same call continues.
    """
    subject, variant = plan.subjects[cell.subject], plan.variants[cell.variant]
    task_folder = Scratch(folder / cell.folder).home / "tasks" / subject.task_id
    state = _state(task_folder)
    if state is None or not state.stage.is_terminal or is_outside(state.stop.reason if state.stop else None):
        scratch = open_scratch(folder, plan, cell)
        request = RunRequest(
            task=subject.path,
            repo=scratch.clone,
            auto_merge=True,
            grants=(("usd", cap_microusd),) if cap_microusd is not None else (),
            runtime=variant.runtime,
            model=variant.model,
            story=story_for(folder, plan, cell),
            purpose=Purpose.BAKEOFF,
        )
        environment = {**world.environment, "FACTORY_HOME": str(scratch.home)}
        run(request, replace(world, environment=environment))
        state = _state(task_folder)
    if state is None:
        raise UsageError(f"{task_folder} has no state.json: remove {folder / cell.folder} and resume")
    return _read(folder, plan, cell, state)


def spent_in(folder: Path, plan: Plan, cell: Cell) -> int:
    """What an unfinished cell has cost so far."""
    task_id = plan.subjects[cell.subject].task_id
    state = _state(Scratch(folder / cell.folder).home / "tasks" / task_id)
    return 0 if state is None else state.spend.microusd


def _state(task_folder: Path) -> TaskState | None:
    try:
        return load_state(task_folder)
    except StateCorruptError as error:
        cell = task_folder.parent.parent.parent
        raise UsageError(f"{error}; remove {cell} to run the cell anew, and resume") from error


def _read(folder: Path, plan: Plan, cell: Cell, state: TaskState) -> CellResult:
    home = Scratch(folder / cell.folder).home
    row = one_task(home, state.task_id)
    times = row.row.times
    return CellResult(
        cell=cell,
        done=state.done,
        stop=state.stop.reason if state.stop else None,
        details=state.stop.details if state.stop else (),
        coder_rounds=state.counters.coder_rounds,
        review_rounds=state.counters.review_rounds,
        time_ms=sum(times.get(part, 0) for part in COUNTED),
        cost_microusd=state.spend.microusd,
        lower_bound=state.spend.lower_bound,
        calls=sum(job.calls for job in row.jobs),
        agent=_agent(row.row),
        run_folder=str(home / "tasks" / state.task_id),
        diff=_diff(
            folder, plan, cell, state, "diff.patch", state.candidate.commit if state.candidate else None
        ),
        reviews=_reviews(folder, plan, cell, state),
    )


def _agent(row: Row) -> str:
    return "; ".join(show_agent(agent) for agent in row.agents if agent.role is Role.CODER)


def _store(folder: Path, plan: Plan, cell: Cell) -> Store:
    return Store.alone(Scratch(folder / cell.folder).home / "repos" / f"{plan.repo}.git")


def _diff(
    folder: Path, plan: Plan, cell: Cell, state: TaskState, name: str, commit: str | None
) -> Saved | None:
    """The diff against the cell's start; none where there is no candidate."""
    if commit is None or state.base is None:
        return None
    store = _store(folder, plan, cell)
    return save_diff(folder, f"{cell.folder}/{name}", store, start=state.base, commit=commit)


def _reviews(folder: Path, plan: Plan, cell: Cell, state: TaskState) -> tuple[Reviewed, ...]:
    """What was reviewed, oldest first; a claim that nothing need change has no diff."""
    reviews = []
    for round_, mark in enumerate(state.reviews, start=1):
        if mark.commit == state.base:
            continue
        diff = _diff(folder, plan, cell, state, f"reviewed-{round_}.patch", mark.commit)
        must_fixes = sum(f.round == round_ and f.severity is Severity.MUST_FIX for f in state.findings)
        if diff is not None:
            says: Says = "changes" if must_fixes else "approve"
            reviews.append(Reviewed(round=round_, says=says, must_fixes=must_fixes, diff=diff))
    return tuple(reviews)
