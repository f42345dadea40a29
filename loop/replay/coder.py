"""Writes what a commit changed into a work tree, as the agent: the coder of a replay.

Runs in a job on Python 3.9 or later with the standard library alone, as a module or as a whole program that
is a job's prompt. Limits: writes below the present folder; asks that folder's own git for contents.
"""

from __future__ import annotations

import os
import subprocess
from typing import Sequence

GONE, LINK, SUBMODULE, PROGRAM = "000000", "120000", "160000", "100755"


def write_changes(changes: Sequence[Sequence[str]], marks: Sequence[str] = ()) -> None:
    """Make the tree hold these paths as a checkout under its attributes has them.

    A file that is there already is written in place. A submodule becomes an empty folder.

    Args:
        changes: Each a path, a mode (`000000`: it goes) and a blob.
        marks: Submodules that become repositories, as work in one leaves them.

    Raises:
        OSError: The tree cannot be written.
        subprocess.CalledProcessError: Git failed.
    """
    # Before anything is written: the tree's own attributes count, and they may change too.
    contents = _contents([change for change in changes if change[1] not in (GONE, SUBMODULE)])
    for path, mode, _ in changes:
        if mode == GONE:
            _remove(path)
    for path, mode, _ in changes:
        if mode != GONE:
            _write(path, mode, contents.get(path, b""))
    for path in marks:
        os.makedirs(os.path.join(path, ".git"))


def _contents(files: Sequence[Sequence[str]]) -> dict[str, bytes]:
    """The bytes of each path; git is asked by line, so that an odd name is asked by itself."""
    links = [file for file in files if file[1] == LINK]
    odd = [file for file in files if file[1] != LINK and "\n" in file[0]]
    others = [file for file in files if file[1] != LINK and "\n" not in file[0]]
    found = _ask(links, [blob for _, _, blob in links])
    found.update(_ask(others, ["%s %s" % (blob, path) for path, _, blob in others], "--filters"))
    for path, _, blob in odd:
        found[path] = _git("cat-file", "--filters", "--path=" + path, blob)
    return found


def _ask(files: Sequence[Sequence[str]], lines: Sequence[str], *flags: str) -> dict[str, bytes]:
    """Contents in one go, told apart by a line of ours: the size that git tells is that of the blob."""
    if not files:
        return {}
    mark = os.urandom(16).hex()
    given = b"".join(os.fsencode(line) + b"\n" for line in lines)
    parts = _git("cat-file", "--batch=" + mark, *flags, given=given).split(mark.encode("ascii") + b"\n")[1:]
    if len(parts) != len(files):
        raise OSError("git does not have every blob that the commit changed")
    return {path: part[:-1] for (path, _, _), part in zip(files, parts)}  # noqa: B905 - Python 3.9


def _git(*args: str, given: bytes = b"") -> bytes:
    return subprocess.run(("git", *args), input=given, stdout=subprocess.PIPE, check=True).stdout


def _remove(path: str) -> None:
    """Remove a file or a submodule's empty folder, with the folders that are empty then."""
    if os.path.isdir(path) and not os.path.islink(path):
        os.rmdir(path)
    else:
        os.unlink(path)
    while path := os.path.dirname(path):
        try:
            os.rmdir(path)
        except OSError:
            return


def _write(path: str, mode: str, content: bytes) -> None:
    folder = os.path.dirname(path) or "."
    is_file = os.path.isfile(path) and not os.path.islink(path)
    if os.path.lexists(path) and not (is_file and mode.startswith("100")):
        _remove(path)
    os.makedirs(folder, exist_ok=True)
    if mode == SUBMODULE:
        os.makedirs(path, exist_ok=True)
    elif mode == LINK:
        os.symlink(content, os.fsencode(path))
    else:
        # Not emptied first: a file system may write such a file to the disk at once.
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o666), "wb") as file:
            file.write(content)
            file.truncate()
        os.chmod(path, 0o755 if mode == PROGRAM else 0o644)
