"""From a resolver's job to facts: its ruling, or why there is none.

Limits: reads one file of a job folder, writes nothing.
"""

from pydantic import ValidationError

from instrument.schema.base import Frozen
from instrument.schema.job import JobEnd
from loop.machine.effects import Resolve
from loop.machine.facts import ResolveFacts
from loop.shell.context import Context

RESULT = "out/agent-result.json"
MAX_CHARS = 2000
"""Of a ruling: it stands in every later prompt."""
MAX_HANDED_UP_CHARS = 1000


class Resolution(Frozen):
    """What the resolver wrote; exactly one of the two says something."""

    ruling: str = ""
    hand_up: str = ""


def resolve_facts(context: Context, effect: Resolve, end: JobEnd) -> ResolveFacts:
    """Read what the resolver wrote; whatever cannot be used hands the stop up."""
    ruling, why = _read(context, end)
    return ResolveFacts(key=effect.key, end=end, ruling=ruling, handed_up=why[:MAX_HANDED_UP_CHARS])


def _read(context: Context, end: JobEnd) -> tuple[str, str]:
    """The ruling, or why there is none."""
    if end.report is None or end.report.result_file != "kept":
        return "", f"it left no answer ({end.report.result_file if end.report else 'no report'})"
    try:
        said = Resolution.model_validate_json((context.folder / end.folder / RESULT).read_bytes())
    except (OSError, ValidationError):
        return "", "its answer does not have the form asked for"
    ruling, why = said.ruling.strip(), said.hand_up.strip()
    if not ruling and not why:
        return "", "its answer says nothing"
    if why:
        return "", _shown(why)
    if len(ruling) > MAX_CHARS or ruling != _shown(ruling):
        return "", f"its ruling is no plain text of {MAX_CHARS} characters at most"
    return ruling, ""


def _shown(text: str) -> str:
    """The text without control characters other than line breaks and tabs."""
    return "".join(char if char.isprintable() or char in "\n\t" else " " for char in text)
