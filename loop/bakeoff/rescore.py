"""`factory bakeoff --rescore ID`: each accepted diff is rebuilt from its start and checked again.

Limits: calls no model; what the checks print stays below the bake-off's folder.
"""

import secrets
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Literal

from instrument.schema.base import Frozen
from instrument.schema.job import CommandEnd
from instrument.schema.vocabulary import EffectKind
from jobs.errors import JobsError
from loop.atomic import write_atomic
from loop.bakeoff.aside import Again, Aside, open_aside
from loop.bakeoff.drive import hold, name_of
from loop.bakeoff.progress import BakeoffProgress
from loop.bakeoff.result import CellResult, load_result
from loop.git.errors import ChangeError
from loop.home import make_private
from loop.machine.effects import Check, Gate
from loop.machine.facts import JobFacts
from loop.machine.guards import is_clean
from loop.machine.keys import effect_key
from loop.run import World

FOLDER = "rescore"
RUN_ID_FILE = "run-id"
FILE = "rescore.json"


class Rescored(Frozen):
    """One accepted diff, looked at again."""

    n: int
    """The cell's number."""
    name: str
    says: Literal["same", "flaky", "checks_fail", "not_rebuilt"]
    failed: tuple[str, ...] = ()
    """Checks that passed when it was accepted and fail now; of a flaky one: failed once."""
    detail: str = ""


class Rescore(Frozen):
    """`rescore.json`; also what `--json` prints."""

    schema_version: Literal[1] = 1
    bakeoff_id: str
    cells: tuple[Rescored, ...]

    @property
    def has_changed(self) -> bool:
        """Whether any diff would not be accepted now."""
        return any(cell.says in ("checks_fail", "not_rebuilt") for cell in self.cells)


def rescore(folder: Path, world: World, progress: BakeoffProgress) -> Rescore:
    """Check every accepted diff of a bake-off in fresh containers.

    Raises:
        BusyError: Another process works on this bake-off.
        UsageError: There is no such bake-off, or no engine answers.
        Interrupted: A signal ended it; its containers are gone.
    """
    result = load_result(folder)
    with hold(folder):
        run_id = _fresh_run_id(folder, world)
        again = Again(folder, result.plan, world, run_id, secrets.token_hex(16))
        accepted = [cell for cell in result.cells if cell.is_accepted]
        cells: list[Rescored] = []
        try:
            for found in accepted:
                name = name_of(result.plan, found.cell)
                progress.cell(f"[{len(cells) + 1}/{len(accepted)}] {name}")
                cells.append(_rescore_one(again, found))
                progress.note(f"{name}: {cells[-1].says.replace('_', ' ')}")
        finally:
            progress.close()
            with suppress(JobsError):
                world.jobs.reap(run_id, keep=None)
        made = Rescore(bakeoff_id=folder.name, cells=tuple(cells))
        write_atomic(folder / FILE, made.model_dump_json(indent=1).encode())
        return made


def _fresh_run_id(folder: Path, world: World) -> str:
    """A new one; what a killed call left on the engine goes first."""
    file = make_private(folder / FOLDER) / RUN_ID_FILE
    with suppress(FileNotFoundError, JobsError):
        world.jobs.reap(file.read_text(encoding="ascii"), keep=None)
    shutil.rmtree(folder / FOLDER)
    run_id = secrets.token_hex(4)
    write_atomic(make_private(file.parent) / RUN_ID_FILE, run_id.encode())
    return run_id


def _rescore_one(again: Again, found: CellResult) -> Rescored:
    name = name_of(again.plan, found.cell)
    if found.diff is None:
        return Rescored(n=found.cell.n, name=name, says="not_rebuilt", detail="no diff was saved")
    below = f"{FOLDER}/{found.cell.n:04d}"
    try:
        aside = open_aside(again, below, found, found.diff)
    except (ChangeError, OSError) as error:
        return Rescored(n=found.cell.n, name=name, says="not_rebuilt", detail=str(error))
    failed, flaky, detail = _check(aside)
    says: Literal["same", "flaky", "checks_fail"] = (
        "checks_fail" if failed or detail else "flaky" if flaky else "same"
    )
    return Rescored(n=found.cell.n, name=name, says=says, failed=failed or flaky, detail=detail)


def _check(aside: Aside) -> tuple[tuple[str, ...], tuple[str, ...], str]:
    """Names of the checks that fail, of those that failed once, and why a job did not run to its end."""
    image = aside.set_up()
    failed: dict[str, None] = {}
    flaky: dict[str, None] = {}
    for kind in (EffectKind.CHECK, EffectKind.GATE):
        first, detail = _failures(aside, kind, image, 1, ())
        if detail:
            return (), (), detail
        if not first:
            continue
        again, detail = _failures(aside, kind, image, 2, first)
        if detail:
            return (), (), detail
        failed |= dict.fromkeys(again)
        flaky |= dict.fromkeys(name for name in first if name not in again)
    return tuple(failed), tuple(flaky), ""


def _failures(
    aside: Aside, kind: EffectKind, image: str, run: int, only: tuple[str, ...]
) -> tuple[tuple[str, ...], str]:
    """The checks of one job that fail, or why it did not run to its end."""
    effect_class = Check if kind is EffectKind.CHECK else Gate
    key = effect_key(aside.state, kind, aside.commit, image, aside.context.folder.name, str(run))
    effect = effect_class(
        key=key,
        round=1,
        commit=aside.commit,
        image=image,
        deadline_ms=aside.state.terms.job_ms,
        only=only,
    )
    number = 2 * (kind is EffectKind.GATE) + run
    facts = aside.perform(effect, f"jobs/{number:04d}-{kind.slug}-1")
    aside.release(key)
    end = facts.end if isinstance(facts, JobFacts) else None
    if end is None or end.report is None or not is_clean(end):
        return (), f"the {kind.slug} job did not run to its end; see {aside.context.folder}"
    return tuple(_failed(end.report.commands)), ""


def _failed(commands: tuple[CommandEnd, ...]) -> Iterator[str]:
    return (command.name for command in commands if not command.has_passed)
