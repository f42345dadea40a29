"""`<home>/planner.jsonl`: what was seen of a person's sessions, kept after their logs are gone.

The one writer of this file. Limits: agents delete their logs after some weeks, so a day never shrinks here;
two writers at once leave the figures of one of them, which the next one completes.
"""

from collections.abc import Iterable
from itertools import chain
from pathlib import Path

from pydantic import ValidationError

from instrument.planner.days import key_of
from instrument.planner.figures import PlannerDay
from instrument.writing import replace_private

FILE = "planner.jsonl"


def read_kept(home: Path) -> tuple[list[PlannerDay], list[bytes]]:
    """The days that are kept, in order, and the lines that cannot be read.

    Raises:
        OSError: The file is there and cannot be opened.
    """
    try:
        lines = (home / FILE).read_bytes().splitlines()
    except FileNotFoundError:
        return [], []
    days, bad = [], []
    for line in lines:
        try:
            days.append(PlannerDay.model_validate_json(line))
        except ValidationError:
            bad.append(line)
    return days, bad


def merge(kept: Iterable[PlannerDay], fresh: Iterable[PlannerDay]) -> list[PlannerDay]:
    """Both, in order; of two lines for the same the one with more calls, under the name of today."""
    found = {key_of(day): day for day in kept}
    for day in fresh:
        old = found.get(key_of(day), day)
        fuller = day if day.calls >= old.calls else old
        found[key_of(day)] = fuller.model_copy(update={"repo": day.repo})
    return [found[key] for key in sorted(found)]


def keep(home: Path, days: Iterable[PlannerDay], bad: Iterable[bytes]) -> None:
    """Replace the file whole; lines that cannot be read stay, since a later version may have written them.

    Raises:
        OSError: It cannot be written; the old one stands.
    """
    lines = chain((day.model_dump_json().encode() for day in days), bad)
    replace_private(home / FILE, (line + b"\n" for line in lines), is_synced=True)
