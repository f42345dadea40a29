"""What a second reviewer has said so far: `reviews/<digest>.json` below the bake-off's folder.

Limits: one writer, which holds the bake-off's lock.
"""

import secrets
from pathlib import Path
from typing import Literal

from pydantic import NonNegativeInt, ValidationError

from instrument.schema.base import Frozen
from instrument.schema.vocabulary import Outcome
from loop.atomic import write_atomic
from loop.bakeoff.plan import Says
from loop.errors import UsageError


class Second(Frozen):
    """What both reviewers said of one diff."""

    n: int
    """The cell's number."""
    round: int
    name: str
    first: Says
    second: Says | None
    """None: no verdict, for `outcome`."""
    outcome: Outcome
    first_must_fixes: NonNegativeInt
    must_fixes: NonNegativeInt
    cost_microusd: NonNegativeInt
    lower_bound: bool


class Replay(Frozen):
    """The whole file; also what `--json` prints."""

    schema_version: Literal[1] = 1
    bakeoff_id: str
    reviewer: str
    run_id: str
    nonce: str
    begun: str = ""
    """Key of the review under way; empty: none is."""
    lost_microusd: NonNegativeInt = 0
    """Of the review under way: what attempts that were ended had cost."""
    lost_is_lower_bound: bool = False
    reviews: tuple[Second, ...] = ()

    @property
    def spent_microusd(self) -> int:
        """Of everything so far."""
        return self.lost_microusd + sum(review.cost_microusd for review in self.reviews)


def load_replay(file: Path, bakeoff_id: str, reviewer: str) -> Replay:
    """Read it; a new one where there is none.

    Raises:
        UsageError: It is damaged.
    """
    try:
        return Replay.model_validate_json(file.read_bytes())
    except FileNotFoundError:
        return Replay(
            bakeoff_id=bakeoff_id,
            reviewer=reviewer,
            run_id=secrets.token_hex(4),
            nonce=secrets.token_hex(16),
        )
    except ValidationError as error:
        raise UsageError(f"{file} is damaged; remove it to begin these reviews again") from error


def save_replay(file: Path, replay: Replay) -> None:
    """Replace the file whole."""
    write_atomic(file, replay.model_dump_json(indent=1).encode())
