"""Which paths a content filter such as LFS stands over, as the base's own attributes say.

Limits: attributes come from one tree in an index of ours; no work tree, no file of a job has a say.
"""

from collections.abc import Sequence

from loop.git.paths import decode_path, encode_path
from loop.git.store import Store
from loop.git.trees import open_index

UNFILTERED = (b"unspecified", b"unset")
# `--source` came with git 2.40; an index that holds the tree gives the same answer.
NAME = ".gitattributes"
MOST_CHARACTERS = 50_000
"""A command line is bounded: beyond this the whole tree is asked."""
CHECK = ("check-attr", "--cached", "-z", "--stdin", "filter")


def filtered_paths(store: Store, base: str, paths: Sequence[str]) -> tuple[str, ...]:
    """Those of `paths` whose `filter` attribute is set at `base` (a commit or tree), in their order."""
    if not _may_have_attributes(store, base, paths):
        return ()
    feed = b"".join(encode_path(path) + b"\0" for path in paths)
    with open_index(store, base) as index:
        fields = index.git(CHECK, stdin=feed).out.split(b"\0")[:-1]
    return tuple(
        decode_path(path)
        for path, value in zip(fields[0::3], fields[2::3], strict=True)
        if value not in UNFILTERED
    )


def _may_have_attributes(store: Store, base: str, paths: Sequence[str]) -> bool:
    """Whether a file of attributes lies above any of the paths: most bases spare us an index of their own."""
    folders = {path[:end] for path in paths for end in _slashes(path)}
    names = [f"{folder}{NAME}" for folder in ("", *sorted(folders))]
    if not paths or sum(map(len, names)) > MOST_CHARACTERS:
        return bool(paths)
    args = ["--literal-pathspecs", "ls-tree", "-z", "--name-only", "--full-tree", base, "--", *names]
    return bool(store.git(args).out)


def _slashes(path: str) -> list[int]:
    """Where each folder above the path ends, its slash included."""
    return [end + 1 for end, char in enumerate(path) if char == "/"]
