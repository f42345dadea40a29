"""Which repository a session's folder belongs to.

Reads `factory.toml` files; writes nothing. Limits: a folder that is gone belongs where it was found to
belong before, else to itself.
"""

import tomllib
from collections.abc import Mapping
from pathlib import Path

from instrument.planner.calls import dig, text

UNKNOWN = "unknown"


def find_place(cwd: str, known: Mapping[str, str]) -> tuple[str, str]:
    """The root of the repository around a folder, and the repository's name.

    Args:
        cwd: Where a session was; may be gone, may be empty.
        known: Roots found before, with their names.
    """
    path = Path(cwd)
    if top := _top(path) if cwd else None:
        return str(top), _name(top) or top.name or UNKNOWN
    around = (str(each) for each in (path, *path.parents))
    root = next((each for each in around if each in known), cwd)
    return root, known.get(root) or path.name or UNKNOWN


def _top(path: Path) -> Path | None:
    """The root of the repository, else the folder itself; none where it is gone or closed to us."""
    try:
        if not path.is_dir():
            return None
        return next((each for each in (path, *path.parents) if (each / ".git").exists()), path)
    except OSError:
        return None


def _name(top: Path) -> str | None:
    """`[repo] name`; none where there is no such file or it cannot be read."""
    try:
        return text(dig(tomllib.loads((top / "factory.toml").read_text("utf-8")), "repo", "name"))
    except (OSError, ValueError):
        return None
