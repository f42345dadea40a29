"""Prove a job's diff and make it one commit on the task's base.

Limits: the diff goes to an index of ours, never to files; nothing of it is executed.
"""

import hashlib
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import datetime

from loop.git.attributes import filtered_paths
from loop.git.changes import (
    GITLINK,
    ChangedKind,
    ChangedPath,
    ReviewDiff,
    changed_kinds,
    changed_paths,
    review_diff,
)
from loop.git.errors import (
    EmptyChangeError,
    FilterUnsupportedError,
    GitCommandError,
    NestedRepoError,
    PatchIntegrityError,
    SubmoduleChangedError,
)
from loop.git.store import Store
from loop.git.trees import Index, Signature, commit_tree, open_index

__all__ = ["Candidate", "ChangedPath", "ReviewDiff", "build_candidate", "changed_paths", "review_diff"]

APPLY = ("apply", "--cached", "--whitespace=nowarn", "-")
MAX_REASON = 300


@dataclass(frozen=True, slots=True)
class Candidate:
    """A round's work as one commit whose only parent is the task's base."""

    commit: str
    tree: str


def build_candidate(  # noqa: PLR0913 - the proof, the place and the signature of one commit
    store: Store,
    *,
    base: str,
    start: str,
    diff: bytes,
    sha256: str,
    tree: str,
    message: str,
    author: str,
    when_utc: datetime,
    ref: str,
    length_bytes: int | None = None,
    index: Index | None = None,
) -> Candidate:
    """Apply `diff` on the tree of `start`, see that `tree` comes out, commit it on `base` under `ref`.

    May be called again with the same arguments: it gives the same commit.

    Args:
        store: Holds `base` and `start`.
        base: The task's base, a commit; the only parent.
        start: The commit (or tree) that the round's job began with.
        diff: As the job's capture made it, byte for byte.
        sha256: Its hash, by the job's report.
        tree: The tree id it should give, by the job's report.
        message: Subject, body and trailers.
        author: `Name <mail>`.
        when_utc: Both dates of the commit.
        ref: Full name below `refs/factory/`.
        length_bytes: The diff's length by the job's report, where it is known.
        index: One that holds the tree of `start`, and holds the candidate's afterwards; else one is made.

    Raises:
        PatchIntegrityError: Length, hash, apply or tree id is not as the report says.
        EmptyChangeError: The tree is the one of `start`, or of `base`.
        NestedRepoError: It adds git links.
        SubmoduleChangedError: It changes, removes or replaces a git link of the base.
        FilterUnsupportedError: It writes a file that has a content filter at the base.
    """
    _prove_bytes(diff, sha256, length_bytes)
    start_tree = _tree_of(store, start)
    if tree == start_tree and not diff:
        raise EmptyChangeError(against_base=False)
    if not diff:
        raise PatchIntegrityError(f"the diff is empty and should give the tree {tree}")
    with open_index(store, start_tree) if index is None else nullcontext(index) as filled:
        made = _apply(filled, diff)
    if made != tree:
        raise PatchIntegrityError(f"it gives the tree {made} and should give {tree}")
    if made == start_tree:
        raise EmptyChangeError(against_base=False)
    changes = changed_kinds(store, base, made)
    if not changes:
        raise EmptyChangeError(against_base=True)
    _refuse_kinds(store, base, changes)
    signature = Signature(message, author, when_utc)
    return Candidate(commit_tree(store, tree=made, parent=base, signature=signature, ref=ref), made)


def _refuse_kinds(store: Store, base: str, changes: tuple[ChangedKind, ...]) -> None:
    """Stop at changes whose content is not all in the diff."""
    nested = tuple(change.path for change in changes if change.is_new_gitlink)
    if nested:
        raise NestedRepoError(nested)
    linked = tuple(change.path for change in changes if change.old_mode == GITLINK)
    if linked:
        raise SubmoduleChangedError(linked)
    # Jobs see the stored bytes, so what they write there never went through the filter; a removal is whole.
    written = tuple(change.path for change in changes if change.status != "D")
    filtered = filtered_paths(store, base, written)
    if filtered:
        raise FilterUnsupportedError(filtered)


def _prove_bytes(diff: bytes, sha256: str, length_bytes: int | None) -> None:
    if length_bytes is not None and len(diff) != length_bytes:
        raise PatchIntegrityError(f"it has {len(diff)} bytes and should have {length_bytes}")
    found = hashlib.sha256(diff).hexdigest()
    if found != sha256.lower():
        raise PatchIntegrityError(f"its SHA-256 is {found} and should be {sha256}")


def _tree_of(store: Store, treeish: str) -> str:
    return store.git(["rev-parse", "--verify", f"{treeish}^{{tree}}"]).out.decode().strip()


def _apply(index: Index, diff: bytes) -> str:
    """Apply the diff to the index; return the tree it gives."""
    end = index.git(APPLY, stdin=diff, check=False)
    if end.code != 0:
        raise PatchIntegrityError(f"git cannot apply it ({' '.join(end.err.split())[:MAX_REASON]})")
    try:
        return index.write_tree()
    except GitCommandError as error:
        raise PatchIntegrityError(f"it gives no tree ({' '.join(error.err.split())[:MAX_REASON]})") from error
