"""Tells why the tree that travelled is not the commit's, by asking plain git what it makes of the files.

Limits: an own opinion on purpose: no code of the capture or of its attributes is used here.
"""

import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from loop.git.paths import decode_path, encode_path
from loop.git.process import run_git
from loop.git.profiles import SEALED
from loop.git.store import Store
from loop.replay.history import Change, read_changes
from loop.replay.reasons import OnlyHere

GONE = "000000"


@dataclass(frozen=True, slots=True)
class Explained:
    """The reason of the first path with its paths; or none, with the paths that nothing explains."""

    reason: OnlyHere | None
    paths: tuple[str, ...]


def explain(store: Store, *, base: str, wanted: str, made: str) -> Explained:
    """Compare two trees (or commits) of the store; `base` is what both began with."""
    pairs = [(_tree(store, made), _tree(store, wanted)), (_tree(store, wanted), _tree(store, made))]
    changes = read_changes(store.path, pairs)
    missing = {change.path: change for change in changes[pairs[0]]}
    got = {change.path: change for change in changes[pairs[1]]}
    if not missing:
        # Modes such as 100664, or names out of order: git reads both as the same.
        return Explained(OnlyHere.ODD_TREE, ())
    before = {entry.path: entry.oid for entry in store.entries(base)}
    with tempfile.TemporaryDirectory(prefix="factory-replay-") as folder:
        work = Path(folder)
        _lay(store, base, ".gitattributes", work)
        _lay(store, wanted, ".gitignore", work)
        absent = [path for path, change in got.items() if change.mode == GONE and path not in before]
        found = dict.fromkeys(_ignored(store, work, absent), OnlyHere.IGNORED_FILE)
        for path, change in missing.items():
            if _is_converted(store, work, change, got[path]):
                found[path] = OnlyHere.UNNORMALISED
            elif _is_invisible(store, work, change, got[path], before.get(path)):
                found[path] = OnlyHere.SAME_BYTES
    rest = tuple(path for path in missing if path not in found)
    if rest:
        return Explained(None, rest)
    reason = found[min(missing)]
    return Explained(reason, tuple(path for path in sorted(missing) if found[path] is reason))


def _tree(store: Store, treeish: str) -> str:
    return store.git(["rev-parse", "--verify", f"{treeish}^{{tree}}"]).out.decode().strip()


def _lay(store: Store, commit: str, name: str, work: Path) -> None:
    """Write the commit's files of this name, and no others."""
    for entry in store.entries(commit):
        if entry.path.rpartition("/")[2] == name and entry.mode.startswith("100"):
            path = work / entry.path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(store.git(["cat-file", "blob", entry.oid]).out)


def _ignored(store: Store, work: Path, paths: Iterable[str]) -> frozenset[str]:
    feed = b"".join(encode_path(path) + b"\0" for path in paths)
    if not feed:
        return frozenset()
    out = _plain(store, work, ["check-ignore", "--no-index", "-z", "--stdin"], feed)
    return frozenset(decode_path(path) for path in out.split(b"\0") if path)


def _is_converted(store: Store, work: Path, wanted: Change, got: Change) -> bool:
    """Whether git itself keeps other bytes than the commit's, namely those that travelled."""
    if wanted.mode != got.mode or not wanted.mode.startswith("100"):
        return False
    content = store.git(["cat-file", "blob", wanted.blob]).out
    out = _plain(store, work, ["hash-object", "--stdin", f"--path={wanted.path}"], content)
    return out.decode().strip() == got.blob


def _is_invisible(store: Store, work: Path, wanted: Change, got: Change, old: str | None) -> bool:
    """Whether a checkout has the same bytes before and after the change, so that nobody could write it."""
    if wanted.mode != got.mode or got.blob != old or not wanted.mode.startswith("100"):
        return False
    args = ["cat-file", "--filters", f"--path={wanted.path}"]
    return _plain(store, work, [*args, wanted.blob]) == _plain(store, work, [*args, old])


def _plain(store: Store, work: Path, args: list[str], feed: bytes = b"") -> bytes:
    end = run_git(
        [f"--work-tree={work}", *args],
        profile=SEALED,
        git_dir=store.path,
        cwd=work,
        stdin=feed,
        check=False,
    )
    return end.out
