"""What a person typed after `--ruling`.

Pure: no I/O.
"""

import re
from dataclasses import dataclass

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
