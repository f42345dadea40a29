"""Which changed paths a task may not touch.

Pure: no I/O.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from loop.globs import compile_globs, fold_protection

_GLOB_SIGNS = frozenset("*?[!\\")


class HasPath(Protocol):
    """A changed path; both sides of a rename come as two of them, since renames are not detected."""

    @property
    def path(self) -> str:
        """From the root of the repository, as git gave it."""
        ...


@dataclass(frozen=True, slots=True)
class Scope:
    """What is wrong with a change; both empty: nothing."""

    out_of_scope: tuple[str, ...]
    """Changed paths that `files` does not cover, in the order given; an allowed protected one is in scope."""
    protected: tuple[str, ...]
    """Changed paths that are protected and not lifted by `allow`."""


def judge_scope(
    changed: Iterable[HasPath],
    *,
    files: Iterable[str],
    allow: Iterable[str],
    protected: Iterable[str],
    generated: Iterable[str],
) -> Scope:
    """Judge every changed path.

    Protection is compared case-folded, since some file systems do not tell `claude.md`
    from `CLAUDE.md`; what lifts it is compared exactly. A generated path is in scope,
    never out of protection.
    """
    in_files, is_allowed = compile_globs(files), compile_globs(allow)
    is_generated, fence = compile_globs(generated), _Fence(protected)
    outside, guarded = [], []
    for path in (entry.path for entry in changed):
        if fence.holds(path):
            if not is_allowed.match_file(path):
                guarded.append(path)
        elif not in_files.match_file(path) and not is_generated.match_file(path):
            outside.append(path)
    return Scope(tuple(outside), tuple(guarded))


def _is_folder(entry: str) -> bool:
    return entry.endswith("/") and not _GLOB_SIGNS & set(entry)


class _Fence:
    """Protected paths: `name/` is a folder at the root, everything else a gitignore pattern."""

    def __init__(self, protected: Iterable[str]) -> None:
        entries = tuple(protected)
        self._folders = [fold_protection(entry).strip("/") for entry in entries if _is_folder(entry)]
        rest = [fold_protection(entry) for entry in entries if not _is_folder(entry)]
        self._patterns = compile_globs(rest)

    def holds(self, path: str) -> bool:
        """Whether the path is protected; a file or a link in a folder's place is, too."""
        folded = path.casefold()
        return self._patterns.match_file(folded) or any(
            folded == folder or folded.startswith(f"{folder}/") for folder in self._folders
        )
