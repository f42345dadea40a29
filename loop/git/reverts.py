"""Which commits of the default branch take back a landing commit of ours, by the words of `git revert`.

Limits: only under the repository's lock; a change that was taken back by hand is not seen.
"""

import re
from collections.abc import Collection, Iterator
from datetime import datetime

from instrument.schema.reverts import Revert
from loop.git.errors import CommitMissingError
from loop.git.store import Store

LOOKED_REF = "refs/base/looked"
"""The tip of the branch at the last look."""
_SAYS = "^This reverts commit ([0-9a-f]{7,40})"
"""`git revert` writes the whole id; with `revert.reference` set, a short one."""
_SAID = re.compile(_SAYS, re.MULTILINE)
_OURS = re.compile(r"^Factory-Key: ", re.MULTILINE)


def find_reverts(store: Store, base: str, known: Collection[str] | None) -> list[Revert]:
    """The reverts on the branch, oldest first.

    Args:
        store: The repository of ours.
        base: The tip of the branch.
        known: Reverts seen before, by commit: only what came since the last look is searched. None: all of
            the branch's history is.
    """
    ours: set[str] = set(known or ())
    found: list[Revert] = []
    for commit, at_utc, message in _candidates(store, base, is_first=known is None):
        # What a commit of ours says may be a model's words.
        if commit in ours or _OURS.search(message):
            continue
        for name in _SAID.findall(message):
            target = _resolve(store, name)
            if target is not None and (target in ours or _is_ours(store, target)):
                ours.add(commit)
                found.append(Revert(commit=commit, reverts=target, at_utc=at_utc))
    return found


def set_looked(store: Store, base: str) -> None:
    """Remember the tip up to which all reverts are known."""
    store.set_ref(LOOKED_REF, base)


def has_looked(store: Store, base: str) -> bool:
    """Whether this very tip was looked at."""
    return _resolve(store, LOOKED_REF) == base


def _candidates(store: Store, base: str, *, is_first: bool) -> Iterator[tuple[str, datetime, str]]:
    """Commits with the words: id, time, message."""
    since = None if is_first else _resolve(store, LOOKED_REF)
    args = ["log", "-z", "--reverse", "--topo-order", "--format=%H %cI%n%B", "-E", f"--grep={_SAYS}", base]
    end = store.git([*args, *([f"^{since}"] if since else [])])
    for record in filter(None, end.out.decode("utf-8", "replace").split("\0")):
        head, _, message = record.partition("\n")
        commit, _, when = head.partition(" ")
        yield commit, datetime.fromisoformat(when), message


def _resolve(store: Store, name: str) -> str | None:
    """The whole id of a commit; none where there is none, or more than one."""
    end = store.git(["rev-parse", "--verify", "--quiet", f"{name}^{{commit}}"], check=False)
    return end.out.decode().strip() if end.code == 0 else None


def _is_ours(store: Store, commit: str) -> bool:
    """Whether it has the trailer that every commit of ours has."""
    try:
        return _OURS.search(store.commit_text(commit).message) is not None
    except CommitMissingError:
        return False
