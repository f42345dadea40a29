"""Tells which files hold the very bytes that were laid, whatever git's index knows of them.

A blob need not come back from its own file: one with CRLF under `text`, one with `$Id: x $` under `ident`.
Git calls such a file changed in the second after a checkout, and unchanged later; here bytes decide.

Limits: reads only files that git reports; writes below the git directory alone, and clears that.
"""

from __future__ import annotations

import os
import shutil
import stat
from typing import BinaryIO

from .sealed import Git

_CHUNK_BYTES = 1 << 20


def as_laid(git: Git, paths: list[bytes]) -> set[bytes]:
    """Those of these files of the commit that are byte for byte what a checkout writes.

    They have to be files in the index and in the tree, none of them beyond a link.

    Raises:
        GitError: git failed, or its time was over.
    """
    folder = os.path.join(git.git_dir, "laid")
    shutil.rmtree(folder, ignore_errors=True)
    try:
        git.feed("checkout-index", "-z", "--stdin", f"--prefix={folder}/", records=paths)
        repo, laid = os.fsencode(git.work_tree), os.fsencode(folder)
        return {path for path in paths if _is_same(os.path.join(repo, path), os.path.join(laid, path))}
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _is_same(one: bytes, two: bytes) -> bool:
    try:
        with _open(one) as left, _open(two) as right:
            if os.fstat(left.fileno()).st_size != os.fstat(right.fileno()).st_size:
                return False
            while chunk := left.read(_CHUNK_BYTES):
                if chunk != right.read(_CHUNK_BYTES):
                    return False
            return True
    except FileNotFoundError:
        return False


def _open(path: bytes) -> BinaryIO:
    file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise FileNotFoundError
    return os.fdopen(file, "rb")
