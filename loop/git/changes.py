"""Which paths differ between two trees of the store, and the text a reviewer reads.

Reads only. No attribute, rename detection or program of the tree has a part in it.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass

from loop.git.errors import GitOutputError
from loop.git.paths import decode_path
from loop.git.process import run_git
from loop.git.profiles import SEALED
from loop.git.reading import check_oid
from loop.git.store import Store

GITLINK = "160000"
ABSENT = "000000"
RAW = ("--no-renames", "--ignore-submodules=none")
PLAIN = (
    "-O/dev/null",
    "--full-index",
    "--no-color",
    "--no-ext-diff",
    "--no-textconv",
    "--src-prefix=a/",
    "--dst-prefix=b/",
    "--submodule=short",
    "-U3",
)
HEADER_BYTES = 100
"""Less than the shortest diff of one path."""
HEADER = re.compile(rb"^diff --git ", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class ChangedPath:
    """One path that differs; a mode is `000000` on the side where the path is absent."""

    path: str
    status: str
    """`A`, `M`, `D` or `T` (its kind changed, such as file to link)."""
    old_mode: str
    new_mode: str
    size_bytes: int
    """Of the new content; 0 where it is deleted or a git link."""

    @property
    def is_new_gitlink(self) -> bool:
        """Whether it makes a git link where there was none."""
        return self.new_mode == GITLINK and self.old_mode != GITLINK


@dataclass(frozen=True, slots=True)
class ReviewDiff:
    """`text` holds whole files only, in path order; `left_out` are the others, with their sizes."""

    text: str
    left_out: tuple[ChangedPath, ...]


def changed_paths(store: Store, base: str, commit: str) -> tuple[ChangedPath, ...]:
    """Every path that differs between two commits or trees, in git's order; may be empty."""
    raw = store.git(
        ["diff-tree", "-r", "-z", "--raw", "--no-abbrev", *RAW, check_oid(base), check_oid(commit)]
    ).out
    fields = raw.split(b"\0")[:-1]
    heads = [head.decode().removeprefix(":").split(" ") for head in fields[0::2]]
    sizes = _sizes(store, {head[3] for head in heads if head[1] not in (ABSENT, GITLINK)})
    return tuple(
        ChangedPath(decode_path(path), status[0], old_mode, new_mode, sizes.get(new_oid, 0))
        for (old_mode, new_mode, _, new_oid, status), path in zip(heads, fields[1::2], strict=True)
    )


def review_diff(
    store: Store, base: str, commit: str, max_bytes: int, *, skip: Collection[str] = ()
) -> ReviewDiff:
    """The change as text of at most `max_bytes` (UTF-8), other bytes and NUL shown as escapes.

    A file that does not fit is left out whole: half a file would read as a fault of the code.

    Args:
        store: Where both commits are.
        base: The older side.
        commit: The newer side.
        max_bytes: Of the whole text.
        skip: Paths that are left out whatever their size, such as generated ones.
    """
    kept: list[str] = []
    left_out: list[ChangedPath] = []
    room_bytes = max_bytes
    for change in changed_paths(store, base, commit):
        text = None if change.path in skip else _text_of(store, base, commit, change, room_bytes)
        if text is None:
            left_out.append(change)
        else:
            kept.append(text)
            room_bytes -= len(text.encode())
    return ReviewDiff("".join(kept), tuple(left_out))


def _text_of(store: Store, base: str, commit: str, change: ChangedPath, room_bytes: int) -> str | None:
    """One path's diff, or none where it is longer than the room; what is sure to be is not made."""
    is_added = change.old_mode == ABSENT
    if room_bytes < HEADER_BYTES or (is_added and change.size_bytes > room_bytes):
        return None
    args = ["diff-tree", "-r", "-p", "--text", *RAW, *PLAIN, base, commit, "--", change.path]
    try:
        end = run_git(
            args,
            profile=SEALED,
            git_dir=store.path,
            env={"GIT_LITERAL_PATHSPECS": "1"},
            max_out_bytes=room_bytes,
        )
    except GitOutputError:
        return None
    # A path is also the prefix of what is below it: a file that became a folder would bring all of that.
    sections = HEADER.split(end.out)[1 : 3 if change.status == "T" else 2]
    raw = b"".join(b"diff --git " + section for section in sections)
    text = raw.decode("utf-8", "backslashreplace").replace("\0", "\\x00")
    return text if len(text.encode()) <= room_bytes else None


def _sizes(store: Store, oids: Collection[str]) -> dict[str, int]:
    """The size of each blob in bytes."""
    lines = store.git(
        ["cat-file", "--batch-check=%(objectname) %(objectsize)"],
        stdin="".join(f"{oid}\n" for oid in oids).encode(),
    ).out.splitlines()
    return {oid.decode(): int(size) for oid, size in (line.split(b" ") for line in lines)}
