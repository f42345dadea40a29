"""Finds the session logs of a person's agents and reads what they hold.

Reads only. Limits: logs that Codex has compressed (`.jsonl.zst`) are named and not read.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson

from instrument.planner import claude, codex
from instrument.planner.calls import Call, count_of, once

_Reader = Callable[[Iterable[Any]], Iterator[Call]]
_MARKS: dict[_Reader, tuple[bytes, ...]] = {
    claude.calls_of: (b'"usage"',),
    codex.calls_of: (b'"session_meta"', b'"turn_context"', b'"token_usage_record"', b'"token_count"'),
}
"""One of them stands in every line that matters: most lines are long and hold only content."""


def read_calls(environ: Mapping[str, str], user: Path) -> tuple[list[Call], tuple[str, ...]]:
    """Every call once, and a clause for each thing that could not be read.

    Args:
        environ: May name other places than the usual ones.
        user: The person's home folder.
    """
    found: list[Call] = []
    missing: list[str] = []
    for reader, folder in _folders(environ, user):
        packed = sum(1 for _ in folder.rglob("*.jsonl.zst"))
        if packed:
            missing.append(f"{count_of(packed, 'compressed log')} below {folder}")
        for path in sorted(folder.rglob("*.jsonl")):
            log = _Lines(path, _MARKS[reader])
            found.extend(reader(log))
            missing += log.missing
    return once(found), tuple(missing)


def _folders(environ: Mapping[str, str], user: Path) -> Iterator[tuple[_Reader, Path]]:
    """The folders that are there, each once."""
    for reader, name, usual, parts in (
        (claude.calls_of, "CLAUDE_CONFIG_DIR", ".claude", ("projects",)),
        (codex.calls_of, "CODEX_HOME", ".codex", ("sessions", "archived_sessions")),
    ):
        # A person may have set the variable for some of the sessions only.
        places = {user / usual: None}
        if value := environ.get(name):
            places[Path(value).expanduser()] = None
        seen = {(place / part).resolve(): None for place in places for part in parts}
        yield from ((reader, folder) for folder in seen if folder.is_dir())


class _Lines:
    """The lines of one log that matter, as JSON values; `missing` is whole after the last one."""

    def __init__(self, path: Path, marks: tuple[bytes, ...]) -> None:
        self._path = path
        self._marks = marks
        self.missing: list[str] = []

    def __iter__(self) -> Iterator[Any]:
        bad = 0
        try:
            with self._path.open("rb") as file:
                for line in file:
                    # A last line without an end is being written.
                    if not any(mark in line for mark in self._marks) or not line.endswith(b"\n"):
                        continue
                    try:
                        yield orjson.loads(line)
                    except orjson.JSONDecodeError:
                        bad += 1
        except OSError as error:
            self.missing.append(f"{self._path} cannot be opened ({error.strerror})")
        if bad:
            self.missing.append(f"{count_of(bad, 'line')} of {self._path}")
