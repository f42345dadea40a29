"""What is kept and told of the person's own sessions: `PlannerDay` is one line of `<home>/planner.jsonl`.

Pure: no I/O. Amounts are integer micro-dollars; a cost that is not known is null, never 0.
"""

from datetime import date
from typing import Literal

from pydantic import NonNegativeInt

from instrument.schema.base import Frozen
from instrument.schema.usage import Usage
from instrument.schema.vocabulary import RuntimeName


class PlannerDay(Frozen):
    """The calls of one UTC day, folder, program and model."""

    schema_version: Literal[1] = 1
    day: date
    repo: str
    """The name in its `factory.toml`, else the folder's own."""
    folder: str
    """Root of the repository that the session was in, else where it was."""
    program: RuntimeName
    model: str | None
    calls: NonNegativeInt
    usage: Usage
    cost_microusd: NonNegativeInt
    """Of those calls whose price is known."""
    unpriced_calls: NonNegativeInt
    """Calls whose cost is not, or not wholly, in `cost_microusd`."""


class Planning(Frozen):
    """A set of days, added up; no call: nothing was recorded."""

    calls: NonNegativeInt
    usage: Usage
    cost_microusd: NonNegativeInt | None
    """None: no call has a known price."""
    unpriced_calls: NonNegativeInt
    """Where there are any, the cost is a lower bound."""
    merged: NonNegativeInt
    """Tasks that it is shared out over."""
    tokens_per_merged: NonNegativeInt | None
    cost_per_merged_microusd: NonNegativeInt | None
    """Both rounded up; none where nothing was merged."""


class PlannerReport(Frozen):
    """`instrument planner --json`."""

    schema_version: Literal[1] = 1
    days: tuple[PlannerDay, ...]
    """In order of day, folder, program and model."""
    total: Planning
    missing: tuple[str, ...]
    """What of the logs could not be read, a sentence's clause each."""
