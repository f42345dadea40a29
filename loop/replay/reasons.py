"""Why a commit did not travel: the names that a run would give, and the few that only history knows.

Pure: no I/O.
"""

from enum import StrEnum, unique

from instrument.schema.job import Tree
from instrument.schema.vocabulary import StopReason

ERROR = "error"
"""The capture or the proof failed where it should not: a bug of ours."""


@unique
class OnlyHere(StrEnum):
    """A run takes such a change without a stop, and its tree is another one than the commit's."""

    ROOT = "root"
    NO_CHANGE = "no_change"
    IGNORED_FILE = "ignored_file"
    UNNORMALISED = "unnormalised"
    SAME_BYTES = "same_bytes"
    ODD_TREE = "odd_tree"


SENTENCES: dict[str, str] = {
    OnlyHere.ROOT: "it has no parent, so there is no base to start from",
    OnlyHere.NO_CHANGE: "it changes nothing against its first parent",
    OnlyHere.IGNORED_FILE: "it adds a file that the repository's own .gitignore keeps out of `git add`",
    OnlyHere.UNNORMALISED: "it holds bytes that `git add` converts under the base's .gitattributes",
    OnlyHere.SAME_BYTES: "it changes how files are stored, not the bytes that a checkout writes",
    OnlyHere.ODD_TREE: "its tree is written in a form that git no longer writes",
    StopReason.NESTED_REPO: "it adds or moves a submodule",
    StopReason.SUBMODULE_CHANGED: "it removes or replaces a submodule",
    StopReason.UNSUPPORTED_FILTER: "it writes files with a content filter, such as LFS",
    StopReason.PATCH_TOO_LARGE: "it changes more files or bytes than a job may hand back",
    StopReason.UNCAPTURABLE: "it holds names or encodings that git cannot take",
    ERROR: "the capture or the proof failed",
}
"""In the order in which a summary names them."""


def stop_of(tree: Tree) -> tuple[StopReason, tuple[str, ...]] | None:
    """The stop that a run's guards make of a captured tree, with the paths; none: there is a diff."""
    if tree.nested_repos:
        return StopReason.NESTED_REPO, tree.nested_repos
    if tree.oversized:
        return StopReason.PATCH_TOO_LARGE, tuple(big.path for big in tree.biggest)
    if tree.unreadable or tree.unencodable:
        return StopReason.UNCAPTURABLE, (*tree.unreadable, *tree.unencodable)
    return None
