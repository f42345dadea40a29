"""What `--allow` lets a task do: touch a path, or add lines that look like a secret in one.

Pure: no I/O.
"""

from collections.abc import Iterable

LOOKALIKE = "secret:"
"""In front of a glob: its lines that look like a secret are none. The detector's word is all else."""


def split_allowed(allowed: Iterable[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The globs of paths in scope and not protected, and those whose added lines hold no secret."""
    paths: list[str] = []
    secrets: list[str] = []
    for glob in allowed:
        if glob.startswith(LOOKALIKE):
            secrets.append(glob.removeprefix(LOOKALIKE))
        else:
            paths.append(glob)
    return tuple(paths), tuple(secrets)


def secret_glob(path: str) -> str:
    """What to type after `--allow` where a path's lines are no secret."""
    return LOOKALIKE + path
