"""What became of each commit of a replay, kept so that a rerun goes on.

Limits: one writer; a torn last line is cut off on open, since its commit is carried again.
"""

import os
from enum import StrEnum, unique
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from instrument.schema.base import Frozen
from loop.atomic import write_atomic

FILE = "progress.jsonl"
MOST_PATHS = 20


@unique
class Fate(StrEnum):
    """How a commit's way ended."""

    TRAVELLED = "travelled"
    STOPPED = "stopped"
    SKIPPED = "skipped"
    MISMATCH = "mismatch"


class Line(Frozen):
    """One commit."""

    schema_version: Literal[1] = 1
    commit: str
    fate: Fate
    reason: str | None = None
    """A `StopReason`, or a word of `loop.replay.reasons`; none where it travelled."""
    paths: tuple[str, ...] = ()
    """What it is about; at most twenty, shown as they can be printed."""
    detail: str | None = None
    """One sentence more; a file with evidence."""


class Record:
    """The lines so far, by commit; each new one is written whole before `add` returns."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE
        self.lines: dict[str, Line] = {}
        kept = b""
        for raw in self._path.read_bytes().splitlines(keepends=True) if self._path.is_file() else ():
            try:
                line = Line.model_validate_json(raw)
            except ValidationError:
                break
            self.lines[line.commit] = line
            kept += raw
        write_atomic(self._path, kept)

    def add(self, line: Line) -> None:
        """Append one line."""
        descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
        try:
            os.write(descriptor, line.model_dump_json(exclude_none=True).encode() + b"\n")
        finally:
            os.close(descriptor)
        self.lines[line.commit] = line
