"""What differs between two trees of the store: paths, lines, and the text a reviewer reads.

Reads only. No attribute, rename detection or program of the tree has a part in it.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import lru_cache

from loop.git.errors import GitOutputError
from loop.git.lines import WHOLE, LineChange, parse_section, split_sections
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
MAX_LINES_BYTES = 8 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class ChangedKind:
    """One path that differs; a mode is `000000` on the side where the path is absent."""

    path: str
    status: str
    """`A`, `M`, `D` or `T` (its kind changed, such as file to link)."""
    old_mode: str
    new_mode: str

    @property
    def is_new_gitlink(self) -> bool:
        """Whether it makes a git link where there was none."""
        return self.new_mode == GITLINK and self.old_mode != GITLINK


@dataclass(frozen=True, slots=True)
class ChangedPath(ChangedKind):
    """The same with its size."""

    size_bytes: int
    """Of the new content; 0 where it is deleted or a git link."""


@dataclass(frozen=True, slots=True)
class ReviewDiff:
    """`text` holds whole files only, in path order; `left_out` are the others, with their sizes."""

    text: str
    left_out: tuple[ChangedPath, ...]


@lru_cache(maxsize=32)
def changed_paths(store: Store, base: str, commit: str) -> tuple[ChangedPath, ...]:
    """Every path that differs between two commits or trees, in git's order; may be empty.

    Kept, since several steps of one job ask for the same and what two ids name never changes.
    """
    found = _raw(store, base, commit)
    sizes = _sizes(store, {oid for kind, oid in found if kind.new_mode not in (ABSENT, GITLINK)})
    return tuple(
        ChangedPath(kind.path, kind.status, kind.old_mode, kind.new_mode, sizes.get(oid, 0))
        for kind, oid in found
    )


def changed_kinds(store: Store, base: str, commit: str) -> tuple[ChangedKind, ...]:
    """The same without sizes, for which git is asked once more."""
    return tuple(kind for kind, _ in _raw(store, base, commit))


def _raw(store: Store, base: str, commit: str) -> list[tuple[ChangedKind, str]]:
    """Each with the id of the new content."""
    raw = store.git(
        ["diff-tree", "-r", "-z", "--raw", "--no-abbrev", *RAW, check_oid(base), check_oid(commit)]
    ).out
    fields = raw.split(b"\0")[:-1]
    heads = [head.decode().removeprefix(":").split(" ") for head in fields[0::2]]
    return [
        (ChangedKind(decode_path(path), status[0], old_mode, new_mode), new_oid)
        for (old_mode, new_mode, _, new_oid, status), path in zip(heads, fields[1::2], strict=True)
    ]


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
    raw = _diff_of(store, base, commit, change, room_bytes)
    if raw is None:
        return None
    text = raw.decode("utf-8", "backslashreplace").replace("\0", "\\x00")
    return text if len(text.encode()) <= room_bytes else None


def _diff_of(
    store: Store, base: str, commit: str, change: ChangedPath, room_bytes: int, *more: str
) -> bytes | None:
    """The same as bytes; `more` are options of git's."""
    is_added = change.old_mode == ABSENT
    if room_bytes < HEADER_BYTES or (is_added and change.size_bytes > room_bytes):
        return None
    out = _diff(store, [*more, base, commit, "--", change.path], room_bytes)
    # A path is also the prefix of what is below it: a file that became a folder would bring all of that.
    return None if out is None else b"".join(split_sections(out)[: _count_sections(change)])


def _diff(store: Store, args: list[str], max_bytes: int) -> bytes | None:
    try:
        end = run_git(
            ["diff-tree", "-r", "-p", "--text", *RAW, *PLAIN, *args],
            profile=SEALED,
            git_dir=store.path,
            env={"GIT_LITERAL_PATHSPECS": "1"},
            max_out_bytes=max_bytes,
        )
    except GitOutputError:
        return None
    return end.out


def _count_sections(change: ChangedPath) -> int:
    """A change of kind is shown as a removal with an addition."""
    return 2 if change.status == "T" else 1


def changed_lines(
    store: Store, old: str, new: str, *, max_bytes: int = MAX_LINES_BYTES
) -> Mapping[str, LineChange]:
    """The lines that differ, by path; a path beyond the bound counts as changed everywhere.

    Args:
        store: Where both commits are.
        old: The older side, a commit or tree; line numbers are the newer's.
        new: The newer side.
        max_bytes: Of git's text of all differences.
    """
    changes = changed_paths(store, old, new)
    diff = _diff(store, ["-U0", check_oid(old), check_oid(new)], max_bytes)
    if diff is None:
        return _lines_by_path(store, old, new, changes, max_bytes)
    sections = split_sections(diff)
    if len(sections) != sum(map(_count_sections, changes)):
        return dict.fromkeys((change.path for change in changes), WHOLE)
    found: dict[str, LineChange] = {}
    for change in changes:
        found[change.path] = _lines_of(change, sections[0])
        sections = sections[_count_sections(change) :]
    return found


def _lines_by_path(
    store: Store, old: str, new: str, changes: tuple[ChangedPath, ...], room_bytes: int
) -> dict[str, LineChange]:
    """One path after the other, until the room is used up."""
    found: dict[str, LineChange] = {}
    for change in changes:
        diff = _diff_of(store, old, new, change, room_bytes, "-U0")
        found[change.path] = WHOLE if diff is None else _lines_of(change, diff)
        room_bytes -= len(diff or b"")
    return found


def _lines_of(change: ChangedPath, section: bytes) -> LineChange:
    is_whole = change.status != "M" or change.old_mode != change.new_mode or change.new_mode == GITLINK
    return parse_section(section, whole=is_whole)


def _sizes(store: Store, oids: Collection[str]) -> dict[str, int]:
    """The size of each blob in bytes."""
    lines = store.git(
        ["cat-file", "--batch-check=%(objectname) %(objectsize)"],
        stdin="".join(f"{oid}\n" for oid in oids).encode(),
    ).out.splitlines()
    return {oid.decode(): int(size) for oid, size in (line.split(b" ") for line in lines)}
