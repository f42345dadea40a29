"""One digest over the files of a tree that match some patterns.

Pure: no I/O.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from loop.git.paths import encode_path
from loop.globs import compile_globs


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """One file of a tree; `mode` as git prints it, such as `100644`."""

    path: str
    mode: str
    oid: str


@dataclass(frozen=True, slots=True)
class InputsDigest:
    """`sha256` (hex) over path, mode and blob id; `unmatched` are the patterns that no file matched."""

    sha256: str
    unmatched: tuple[str, ...]


def digest_inputs(entries: Sequence[TreeEntry], patterns: Sequence[str]) -> InputsDigest:
    """The digest of the entries that match the gitignore `patterns`, in whatever order they come."""
    spec = compile_globs(patterns)
    digest = hashlib.sha256()
    for entry in sorted(entries, key=lambda entry: encode_path(entry.path)):
        if spec.match_file(entry.path):
            digest.update(
                b"%s\0%s\0%s\0" % (encode_path(entry.path), entry.mode.encode(), entry.oid.encode())
            )
    unmatched = tuple(pattern for pattern in patterns if not _matches(pattern, entries))
    return InputsDigest(digest.hexdigest(), unmatched)


def _matches(pattern: str, entries: Sequence[TreeEntry]) -> bool:
    if pattern.startswith("!"):
        return True
    spec = compile_globs([pattern])
    return any(spec.match_file(entry.path) for entry in entries)
