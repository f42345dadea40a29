"""What plain git makes of a folder in a person's clone, where the base's attributes hold.

Limits: one throw-away clone a question; git runs with none of the machine's configuration. The clone's own
`.gitattributes` stay the base's while git adds the rest, and are put into the index one by one.
"""

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from support.gitkit import Repo, make_repo

GITLINK = "160000"
ATTRIBUTES = b".gitattributes"
SETTLED_S = 3600
"""How far ahead of its files the index is: git then goes by their times alone."""

Entries = dict[bytes, tuple[str, str]]
"""Path to mode and blob id."""


@dataclass(frozen=True)
class Added:
    """What plain git makes of a work tree; `entries` and `before` are the index after and before."""

    tree: str
    entries: Entries
    before: Entries
    unencodable: frozenset[bytes]
    """Files at which git gives up; `entries` are then without them."""
    filled: frozenset[bytes]
    """Submodules with anything in their folder: plain git passes those by."""

    @property
    def changed(self) -> set[bytes]:
        return {path for path, _ in self.entries.items() ^ self.before.items()}

    @property
    def nested(self) -> set[bytes]:
        """Folders whose content no diff of this repository can carry."""
        links = {path for path, (mode, _) in self.entries.items() if mode == GITLINK}
        return links & self.changed | self.filled


def checked_out(person: Repo, commit: str, folder: Path) -> Repo:
    """A clone of a moment ago that has come to rest."""
    clone = make_repo(folder)
    clone.git("fetch", "--quiet", str(person.root), commit)
    clone.git("-c", "advice.detachedHead=false", "checkout", "--quiet", commit)
    later = time.time() + SETTLED_S
    os.utime(folder / ".git/index", (later, later))
    return clone


def add_all(clone: Repo, work: Path) -> Added:
    """`git add --all` once the clone holds what `work` holds, but for `work`'s own `.git`."""
    before = _entries(clone)
    written = list(_become(clone.root, work))
    ours = [path for path in written if ATTRIBUTES in path.split(b"/")]
    refused = frozenset(path for path in written if path not in ours and not _can_be_hashed(clone, path))
    for path in refused:
        (clone.root / os.fsdecode(path)).unlink()
    clone.git("-c", "advice.addEmbeddedRepo=false", "add", "--all")
    _add_attributes(clone, work)
    links = {path for path, (mode, _) in before.items() if mode == GITLINK}
    filled = {path for path in links if _has_entries(work / os.fsdecode(path))}
    return Added(clone.ask("write-tree"), _entries(clone), before, refused, frozenset(filled))


def _entries(repo: Repo) -> Entries:
    records = [record.partition(b"\t") for record in repo.git("ls-files", "--stage", "-z").split(b"\0")[:-1]]
    return {path: (head.decode().split()[0], head.decode().split()[1]) for head, _, path in records}


def _become(clone: Path, work: Path) -> Iterator[bytes]:
    """Make the clone hold what `work` holds; gives the paths that it has to write."""
    there = set(_walk(work))
    for path in sorted(set(_walk(clone)) - there, reverse=True):
        if ATTRIBUTES not in path.split(b"/"):
            _remove(clone / os.fsdecode(path))
    for path in sorted(there):
        source, target = work / os.fsdecode(path), clone / os.fsdecode(path)
        if _is_folder(source):
            if ATTRIBUTES not in path.split(b"/") and (target.is_symlink() or not target.is_dir()):
                _remove(target)
                target.mkdir()
        elif not _is_same(source, target):
            yield path
            if ATTRIBUTES not in path.split(b"/"):
                _copy(source, target)


def _walk(root: Path) -> Iterator[bytes]:
    """Every entry, folders too, but for the top's `.git`."""
    for folder, folders, names in os.walk(os.fsencode(root)):
        below = folder[len(os.fsencode(root)) + 1 :]
        if not below and b".git" in folders:
            folders.remove(b".git")
        prefix = below + b"/" if below else b""
        yield from (prefix + name for name in folders + names if prefix + name != b".git")


def _remove(path: Path) -> None:
    if _is_folder(path):
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _is_folder(path: Path) -> bool:
    """A link to one is a file to git."""
    return path.is_dir() and not path.is_symlink()


def _is_same(one: Path, two: Path) -> bool:
    if one.is_symlink() or two.is_symlink():
        return one.is_symlink() and two.is_symlink() and os.readlink(one) == os.readlink(two)  # noqa: PTH115 - Path drops a slash
    return two.is_file() and one.read_bytes() == two.read_bytes() and _mode(one) == _mode(two)


def _mode(path: Path) -> str:
    return "120000" if path.is_symlink() else "100755" if path.stat().st_mode & 0o100 else "100644"


def _copy(source: Path, target: Path) -> None:
    _remove(target)
    shutil.copy2(source, target, follow_symlinks=False)
    # Of another time than anything in the index, so that git reads it.
    os.utime(target, (1, 1), follow_symlinks=False)


def _has_entries(folder: Path) -> bool:
    return folder.is_dir() and not folder.is_symlink() and any(folder.iterdir())


def _is_ignored(clone: Repo, path: bytes) -> bool:
    return clone.run("check-ignore", "-z", "--stdin", stdin=b"./" + path + b"\0").returncode == 0


def _can_be_hashed(clone: Repo, path: bytes) -> bool:
    file = clone.root / os.fsdecode(path)
    if file.is_symlink() or _is_ignored(clone, path):
        return True
    return _hash(clone, path, file.read_bytes()).returncode == 0


def _hash(clone: Repo, path: bytes, content: bytes) -> subprocess.CompletedProcess[bytes]:
    """Write the blob that git makes of a file of this name."""
    return clone.run("hash-object", "-w", "--stdin", f"--path={os.fsdecode(path)}", stdin=content)


def _add_attributes(clone: Repo, work: Path) -> None:
    """Take `work`'s own attribute files, converted by those that the clone has kept."""
    there = {path for path in _walk(work) if ATTRIBUTES in path.split(b"/")}
    files = {path for path in there if not _is_folder(work / os.fsdecode(path))}
    for path in set(_entries(clone)) - files:
        if ATTRIBUTES in path.split(b"/"):
            clone.git("update-index", "-z", "--force-remove", "--stdin", stdin=path + b"\0")
    for path in files:
        file = work / os.fsdecode(path)
        if _is_same(file, clone.root / os.fsdecode(path)) or _is_ignored(clone, path):
            continue
        if file.is_symlink():
            blob = clone.git("hash-object", "-w", "--stdin", stdin=os.fsencode(os.readlink(file)))  # noqa: PTH115 - Path drops a slash
        else:
            blob = _hash(clone, path, file.read_bytes()).stdout
        info = b"%s %s\t%s\0" % (_mode(file).encode(), blob.strip(), path)
        clone.git("update-index", "-z", "--index-info", stdin=info)
