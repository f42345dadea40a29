"""What a person typed after `--ruling`, and which points it closes.

Pure: no I/O.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from instrument.schema.state import Finding
from instrument.schema.vocabulary import Severity
from loop.errors import UsageError

_OF_FINDING = re.compile(r"\s*(F[1-9][0-9]*)[ \t]*=(?!=)[ \t]*(.*)", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class RulingText:
    """A ruling; `finding` is the one that it is about, such as `F3`, or none."""

    finding: str | None
    text: str
    """Verbatim; of `F3=…` what stands behind the sign."""


def parse_ruling(text: str) -> RulingText:
    """Read `F3=…`, or a ruling on everything that is open.

    Raises:
        UsageError: It says nothing.
    """
    match = _OF_FINDING.fullmatch(text)
    ruling = RulingText(match[1].upper(), match[2]) if match else RulingText(None, text)
    if not ruling.text.strip():
        what = f"--ruling {ruling.finding}= says nothing" if match else "--ruling is empty"
        raise UsageError(f"{what}; write what you decide")
    return ruling


def closed_by(finding: str | None, findings: Iterable[Finding], *, review_round: int) -> frozenset[str]:
    """The ids of the points that a ruling closes: the one it names, else every must-fix left open.

    Args:
        finding: The id that it names.
        findings: All that were raised, as the state holds them.
        review_round: Of the last review; what it did not raise again is open no more.

    Raises:
        UsageError: It names a point that no review raised.
    """
    raised = tuple(findings)
    if finding is None:
        is_open = (f for f in raised if f.round == review_round and not f.closed)
        return frozenset(f.id for f in is_open if f.severity is Severity.MUST_FIX)
    if finding not in {f.id for f in raised}:
        known = ", ".join(f.id for f in raised) or "none"
        raise UsageError(f"--ruling {finding}=: there is no finding {finding} (raised so far: {known})")
    return frozenset({finding})
