"""Notes which landed commits were taken back on the default branch, for reports.

The one writer of `<home>/repos/<repo>.reverts.jsonl`. Limits: under the repository's lock; nothing is decided
from it, so a look that fails is made again at the next run.
"""

from contextlib import suppress
from pathlib import Path

from instrument.reverts import read_reverts, reverts_file
from loop.atomic import write_atomic
from loop.git.errors import GitError
from loop.git.reverts import find_reverts, has_looked, set_looked
from loop.git.store import Store


def note_reverts(home: Path, store: Store, repo: str, base: str) -> None:
    """Look at what is new on the branch; the file is there afterwards, empty where nothing was found."""
    path = reverts_file(home, repo)
    with suppress(GitError, OSError):
        if path.exists() and has_looked(store, base):
            return
        old = path.read_bytes() if path.exists() else b""
        known = {revert.commit for revert in read_reverts(path)[0]} if path.exists() else None
        fresh = b"".join(
            revert.model_dump_json().encode() + b"\n" for revert in find_reverts(store, base, known)
        )
        if known is None or fresh:
            write_atomic(path, old + fresh)
        set_looked(store, base)
