"""Whether what was merged still stands, from the reverts that the loop saw on the default branch.

Reads `<home>/repos/<repo>.reverts.jsonl`. Limits: as old as the last run in that repository; a change that
was taken back without the words of `git revert` is not seen.
"""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from pydantic import ValidationError

from instrument.schema.reverts import Revert

NOT_THERE = "-"


def reverts_file(home: Path, repo: str) -> Path:
    """Where the reverts of a repository are."""
    return home / "repos" / f"{repo}.reverts.jsonl"


def stamp_of(home: Path, repo: str | None) -> str:
    """What changes with the file: lines are only ever added to it."""
    try:
        status = reverts_file(home, repo or NOT_THERE).stat()
    except OSError:
        return NOT_THERE
    return f"{status.st_mtime_ns}.{status.st_size}"


def is_kept(home: Path, repo: str, commit: str) -> bool | None:
    """Whether a merged commit was not taken back; none where nobody has looked or the file is damaged."""
    path, stamp = reverts_file(home, repo), stamp_of(home, repo)
    if stamp == NOT_THERE:
        return None
    gone, is_whole = _taken_back(path, stamp)
    if commit in gone:
        return False
    return True if is_whole else None


def read_reverts(path: Path) -> tuple[list[Revert], bool]:
    """The reverts in order of time, and whether every line could be read.

    Raises:
        OSError: There is no such file, or it cannot be opened.
    """
    found, is_whole = [], True
    for line in path.read_bytes().splitlines():
        try:
            found.append(Revert.model_validate_json(line))
        except ValidationError:
            is_whole = False
    return found, is_whole


def taken_back(reverts: Sequence[Revert]) -> frozenset[str]:
    """Commits whose change is gone: from the last revert on, since a revert may be taken back itself."""
    gone: set[str] = set()
    for revert in reversed(reverts):
        if revert.commit not in gone:
            gone.add(revert.reverts)
    return frozenset(gone)


@lru_cache(maxsize=64)
def _taken_back(path: Path, _stamp: str) -> tuple[frozenset[str], bool]:
    try:
        reverts, is_whole = read_reverts(path)
    except OSError:
        return frozenset(), False
    return taken_back(reverts), is_whole
