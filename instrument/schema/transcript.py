"""What an agent did, in words that are the same for every program.

Pure: no I/O. Read from a program's own output: the ledger, not this, says what a call cost.
"""

from pydantic import NonNegativeInt, PositiveInt

from instrument.schema.base import Frozen

MOST_ENTRIES = 1000
"""Of each list; the first ones are kept."""
MOST_CHARACTERS = 500
"""Of each text."""


class CallSeen(Frozen):
    """A model call as the program tells it; one that tells only a sum over its calls gives one entry."""

    model: str | None = None
    request_id: str | None = None
    input_tokens: NonNegativeInt | None = None
    output_tokens: NonNegativeInt | None = None


class ToolUse(Frozen):
    """A tool that was run."""

    name: str
    is_ok: bool | None = None
    """None: its end was not told."""
    duration_ms: NonNegativeInt | None = None


class FileRead(Frozen):
    """A file that was read through a reading tool; what a shell command reads is not told."""

    path: str
    first_line: PositiveInt | None = None
    last_line: PositiveInt | None = None
    """None: to the end, or as far as the tool goes."""


class Transcript(Frozen):
    """All of it, oldest first; may be empty."""

    calls: tuple[CallSeen, ...] = ()
    tools: tuple[ToolUse, ...] = ()
    reads: tuple[FileRead, ...] = ()
    errors: tuple[str, ...] = ()
    """Errors that the program reports; a failed tool is none."""
