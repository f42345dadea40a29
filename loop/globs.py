"""Gitignore patterns that a person writes for repository paths.

Pure: no I/O.
"""

import re
import warnings
from collections.abc import Iterable

import pathspec

from loop.problems import show

_MATCHES_ALL = re.compile(r"/+|\*{3,}/?")


def fault_of(pattern: str) -> str | None:
    """Say what is wrong with a pattern, as the end of a sentence; none: it can be used."""
    if not pattern.isprintable() or not pattern.strip():
        return "a pattern must be one line of printable text"
    parts = pattern.removeprefix("!").split("/")
    if parts[0] == "." or ".." in parts:
        return f"{show(pattern)} matches nothing; write it from the root of the repository, without ./ or .."
    if pattern.startswith("#"):
        return f"{show(pattern)} is a comment, not a pattern; write \\# for a path that begins with #"
    if _MATCHES_ALL.fullmatch(pattern):
        # The library takes these for "everything", git for "nothing".
        return f"{show(pattern)} is no pattern; write ** for every path"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            pathspec.PathSpec.from_lines("gitignore", [pattern])
    except (ValueError, re.error, Warning):
        return f"{show(pattern)} is no gitignore pattern"
    return None


def fault_of_protection(pattern: str) -> str | None:
    """Say what is wrong with a pattern that is compared case-folded, file or folder alike."""
    return fault_of(pattern) or fault_of(fold_protection(pattern))


def fold_protection(pattern: str) -> str:
    """Make a pattern match whatever its case, and a file or a link in a folder's place."""
    return pattern.casefold().rstrip("/")


def compile_globs(patterns: Iterable[str]) -> "pathspec.PathSpec[pathspec.Pattern]":
    """Compile patterns that `fault_of` let pass; the last one that matches decides, `!` takes back."""
    return pathspec.PathSpec.from_lines("gitignore", patterns)
