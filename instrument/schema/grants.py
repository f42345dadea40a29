"""The caps and budgets that a person set for a task.

Pure: no I/O.
"""

from pydantic import NonNegativeInt

from instrument.schema.base import Frozen


class Grants(Frozen):
    """What a person set over the terms; a grant sets a cap, it never adds."""

    check: NonNegativeInt | None = None
    review: NonNegativeInt | None = None
    gate: NonNegativeInt | None = None
    main_moved: NonNegativeInt | None = None
    interruptions: NonNegativeInt | None = None
    budget_microusd: NonNegativeInt | None = None
    budget_ms: NonNegativeInt | None = None
