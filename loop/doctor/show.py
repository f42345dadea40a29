"""How results look: one line each, or one object each.

Pure: no I/O.
"""

import json
from collections import Counter
from collections.abc import Sequence

from instrument.show import plain
from loop.doctor.checks import Result
from loop.doctor.finding import State

STATE_WIDTH = max(map(len, State))
STYLES = {State.OK: "green", State.NOTE: "yellow", State.FAILED: "bold red", State.SKIPPED: "dim"}


def plain_line(result: Result, width: int) -> str:
    """One line: state, name, what was found, how to mend it; `width` is that of the longest name."""
    finding = result.finding
    mend = f"; {finding.mend}" if finding.mend else ""
    return plain(f"{finding.state:<{STATE_WIDTH}}  {result.name:<{width}}  {finding.found}{mend}")


def as_json(result: Result) -> str:
    """One object on one line: `name`, `state`, `found`, `mend` (may be empty), `duration_ms`."""
    finding = result.finding
    fields = {"name": result.name, "state": finding.state, "found": finding.found, "mend": finding.mend}
    return json.dumps({**fields, "duration_ms": result.duration_ms}, ensure_ascii=False)


def summary(results: Sequence[Result]) -> str:
    """How many ended how."""
    counts = Counter(result.finding.state for result in results)
    told = ", ".join(f"{counts[state]} {state}" for state in State if counts[state])
    return f"{len(results)} checks: {told}."
