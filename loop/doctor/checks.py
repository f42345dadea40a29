"""Does checks in their order; none of them ends the others.

Limits: does what a check does, nothing else.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from jobs.errors import JobsError
from loop.doctor.finding import Finding, State, failed, skipped
from loop.doctor.surroundings import Surroundings
from loop.errors import RunError
from loop.git.errors import GitError
from loop.problems import Problems

BUG = "a bug of ours; please report it with this line"
ENDED = {State.FAILED: "failed", State.SKIPPED: "was skipped"}


@dataclass(frozen=True, slots=True)
class Check:
    """A name and what is looked at under it."""

    name: str
    look: Callable[[Surroundings], Finding]
    """An error of ours that leaves it is its failed line: it then says what to do itself."""
    needs: tuple[str, ...] = ()
    """Checks before it without which there is nothing to look at."""


@dataclass(frozen=True, slots=True)
class Result:
    """One check that was done."""

    name: str
    finding: Finding
    duration_ms: int


def examine(
    checks: Iterable[Check], surroundings: Surroundings, began: Callable[[Check], None] = lambda _: None
) -> Iterator[Result]:
    """Do each check once the caller asks for its result.

    Args:
        checks: In order; a check stands behind those that it needs.
        surroundings: Handed to each.
        began: Is told of each check that is about to be done.
    """
    causes: dict[str, str] = {}
    for check in checks:
        start = time.monotonic()
        cause = next((causes[name] for name in check.needs if name in causes), None)
        if cause is None:
            began(check)
            finding = _do(check, surroundings)
        else:
            finding = skipped(f"needs {cause}")
        if not finding.is_passed:
            causes[check.name] = cause or f"{check.name}, which {ENDED[finding.state]}"
        yield Result(check.name, finding, round((time.monotonic() - start) * 1000))


def _do(check: Check, surroundings: Surroundings) -> Finding:
    try:
        return check.look(surroundings)
    except (RunError, GitError, JobsError, Problems) as error:
        return failed(_one_line(error), "")
    except Exception as error:  # noqa: BLE001 - one check that breaks must not hide what the others find
        return failed(f"{type(error).__name__}: {_one_line(error)}", BUG)


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split()).removesuffix(".")
