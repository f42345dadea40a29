"""Whether two tasks may touch the same path.

Pure: no I/O. Errs on the side of waiting: an overlap that is none costs time, a missed one a conflict.
"""

from collections.abc import Iterable, Sequence

from loop.git.paths import show_path
from loop.globs import compile_globs

_WILDCARDS = frozenset("*?[")
_ANY_NAME = "a-name-that-no-pattern-spells-out"


def overlaps(
    a: Sequence[str], b: Sequence[str], tracked: Iterable[str], *, generated: Sequence[str] = ()
) -> bool:
    """Whether tasks with these patterns must not run at once; see `find_overlap`."""
    return find_overlap(a, b, tracked, generated=generated) is not None


def find_overlap(
    a: Sequence[str], b: Sequence[str], tracked: Iterable[str], *, generated: Sequence[str] = ()
) -> str | None:
    """Find where two tasks meet: a path that both match, else two patterns that begin alike.

    Args:
        a: Gitignore patterns of one task. What a `!` takes back still counts as touched: which
            pattern decides depends on paths that are not there yet.
        b: The other's.
        tracked: Paths of the commit that the tasks begin on. A path that a pattern spells out
            counts as one of them.
        generated: Patterns of paths that no task owns; they are left out.

    Returns:
        Words for a person, such as `src/a.py` or `src/ and src/retry/**`; none: they do not meet.
    """
    mine, theirs = (_touched(patterns, generated) for patterns in (a, b))
    if not mine or not theirs:
        return None
    in_mine, in_theirs, is_generated = (compile_globs(each) for each in (mine, theirs, generated))
    spelled = [_prefix(pattern) for pattern in (*mine, *theirs) if _is_literal(pattern)]
    for path in (*spelled, *tracked):
        if in_mine.match_file(path) and in_theirs.match_file(path) and not is_generated.match_file(path):
            return show_path(path)
    return _alike(mine, theirs)


def _alike(mine: Sequence[str], theirs: Sequence[str]) -> str | None:
    """Two patterns of which one's literal prefix begins the other's: new files may be both's."""
    for one in mine:
        for other in theirs:
            # Folded: some file systems take `Src/` and `src/` for one folder.
            first, second = _prefix(one).casefold(), _prefix(other).casefold()
            if first.startswith(second) or second.startswith(first):
                return one if one == other else f"{one} and {other}"
    return None


def _touched(patterns: Sequence[str], generated: Sequence[str]) -> tuple[str, ...]:
    """The patterns that claim paths, without those that lie within generated ones."""
    # Where generated patterns take something back, none of them covers anything for sure.
    sure = () if any(pattern.startswith("!") for pattern in generated) else generated
    paths, folders = compile_globs(sure), compile_globs(filter(_covers_folders, sure))

    def is_left_out(pattern: str) -> bool:
        prefix = _prefix(pattern)
        if _is_literal(pattern) and not prefix.endswith("/"):
            return paths.match_file(prefix)
        return pattern in sure or folders.match_file(prefix[: prefix.rfind("/") + 1] + _ANY_NAME)

    return tuple(each for each in patterns if not each.startswith("!") and not is_left_out(each))


def _covers_folders(pattern: str) -> bool:
    """Whether a pattern that matches one name in a folder matches all of them, as `dist/**` does."""
    return _is_literal(pattern.removesuffix("**").removesuffix("*"))


def _prefix(pattern: str) -> str:
    """The text before the first wildcard, as a path; empty where a pattern begins with one."""
    prefix = []
    characters = iter(pattern.rstrip().removeprefix("/"))
    for character in characters:
        if character in _WILDCARDS:
            break
        prefix.append(next(characters, "") if character == "\\" else character)
    return "".join(prefix)


def _is_literal(pattern: str) -> bool:
    text = pattern.replace("\\\\", "")
    return not any(character in _WILDCARDS and text[at - 1 : at] != "\\" for at, character in enumerate(text))
