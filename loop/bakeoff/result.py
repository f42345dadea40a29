"""What a bake-off has found so far: `<home>/bakeoffs/<id>/result.json`.

Limits: one writer, which holds the bake-off's lock.
"""

from pathlib import Path
from typing import Literal

from pydantic import NonNegativeInt, ValidationError

from instrument.schema.base import Frozen
from instrument.schema.vocabulary import DoneReason, StopReason
from loop.atomic import write_atomic
from loop.bakeoff.plan import Cell, Plan, Reviewed, Saved
from loop.errors import UsageError

RESULT_FILE = "result.json"


class CellResult(Frozen):
    """How one cell ended."""

    cell: Cell
    done: DoneReason | None
    stop: StopReason | None
    """Why it stands; none: it is done."""
    details: tuple[str, ...] = ()
    """Of the stop, a line each."""
    coder_rounds: NonNegativeInt
    review_rounds: NonNegativeInt
    time_ms: NonNegativeInt
    """Working, checking, reviewing and git; no set-up, which the first cell makes for all, and no waiting."""
    cost_microusd: NonNegativeInt
    lower_bound: bool
    calls: NonNegativeInt
    agent: str
    """The coder's program with its version and the model that answered."""
    run_folder: str
    """With prompts, outputs and the record."""
    diff: Saved | None
    """What was accepted, or what there was at the stop."""
    reviews: tuple[Reviewed, ...] = ()

    @property
    def is_accepted(self) -> bool:
        """Whether it was merged, in its scratch clone."""
        return self.done is DoneReason.MERGED


class Result(Frozen):
    """The whole file."""

    schema_version: Literal[1] = 1
    plan: Plan
    cells: tuple[CellResult, ...] = ()
    """Those that have ended, in order of run."""

    @property
    def is_complete(self) -> bool:
        """Whether every cell has ended."""
        return len(self.cells) == len(self.plan.cells)

    @property
    def spent_microusd(self) -> int:
        """Of all cells that have ended."""
        return sum(cell.cost_microusd for cell in self.cells)


def save_result(folder: Path, result: Result) -> None:
    """Replace the file whole."""
    write_atomic(folder / RESULT_FILE, result.model_dump_json(indent=1).encode())


def load_result(folder: Path) -> Result:
    """Read a bake-off.

    Raises:
        UsageError: There is none in this folder, or its file is damaged.
    """
    try:
        return Result.model_validate_json((folder / RESULT_FILE).read_bytes())
    except FileNotFoundError:
        raise UsageError(f"there is no bake-off {folder.name}; see the names in {folder.parent}") from None
    except ValidationError as error:
        raise UsageError(
            f"{folder / RESULT_FILE} cannot be read ({error.error_count()} faults); begin another bake-off"
        ) from error


def find_unfinished(bakeoffs: Path, digest: str) -> Path | None:
    """The folder of a bake-off that this very command began and that has cells left; none where none has."""
    for path in sorted(bakeoffs.glob(f"*/{RESULT_FILE}")):
        try:
            result = load_result(path.parent)
        except UsageError:
            continue
        if result.plan.digest == digest and not result.is_complete:
            return path.parent
    return None
