"""Make the commit that lands: the candidate's change on the branch's tip, its task marked as done.

Limits: works on trees only, so a conflict or a crash leaves nothing behind that would have to be aborted.
"""

import re
from dataclasses import dataclass
from datetime import datetime

from loop.git.candidate import Candidate
from loop.git.errors import GitCommandError, MergeConflictError, NothingAheadError, TaskLineError
from loop.git.paths import encode_path, split_paths
from loop.git.reading import check_oid
from loop.git.store import Store
from loop.git.trees import Index, Signature, commit_tree, open_index

MERGE_TREE = ("merge-tree", "--write-tree", "-z", "--name-only", "--no-messages")
FILE_MODES = ("100644", "100755")
FENCE = re.compile(rb"---[ \t]*\r?\n")
STATUS = re.compile(rb"""^(status:[ \t]*(["']?))ready(\2[ \t]*(?:[ \t]#[^\r\n]*)?\r?\n)""", re.MULTILINE)
ANY_STATUS = re.compile(rb"^status[ \t]*:", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Landing:
    """One commit on the branch's tip; exactly this is gated and merged."""

    commit: str
    tree: str


def make_landing(
    store: Store,
    *,
    onto: str,
    candidate: str,
    task_path: str,
    message: str,
    author: str,
    when_utc: datetime,
    ref: str,
) -> Landing:
    """Bring the candidate onto `onto` as one commit, with `status: ready` of the task file made `done`.

    May be called again with the same arguments: it gives the same commit.

    Args:
        store: Holds both commits.
        onto: The branch's tip; the only parent.
        candidate: The accepted candidate.
        task_path: The task file's path in the tree.
        message: Subject, body and trailers.
        author: `Name <mail>`.
        when_utc: Both dates of the commit.
        ref: Full name below `refs/factory/`.

    Raises:
        MergeConflictError: Both sides change the same places; nothing is left behind.
        NothingAheadError: `onto` already holds the change.
        TaskLineError: The merged task file has no single line `status: ready`.
    """
    merged = _merge_trees(store, onto, candidate)
    with open_index(store, merged) as index:
        _mark_done(store, index, task_path)
        tree = index.write_tree()
    signature = Signature(message, author, when_utc)
    return Landing(commit_tree(store, tree=tree, parent=onto, signature=signature, ref=ref), tree)


def rebase_candidate(
    store: Store,
    *,
    onto: str,
    candidate: str,
    message: str,
    author: str,
    when_utc: datetime,
    ref: str,
) -> Candidate:
    """The same change as one commit on `onto`, its task still ready: where a gate repair goes on from.

    Raises:
        MergeConflictError: Both sides change the same places; nothing is left behind.
        NothingAheadError: `onto` already holds the change.
    """
    tree = _merge_trees(store, onto, candidate)
    signature = Signature(message, author, when_utc)
    return Candidate(commit_tree(store, tree=tree, parent=onto, signature=signature, ref=ref), tree)


def mark_done(text: bytes, path: str) -> bytes:
    """The task file with the one word of its status line changed, every other byte kept.

    Raises:
        TaskLineError: There is no front matter, or not exactly one such line in it.
    """
    opening = FENCE.match(text)
    closing = None
    if opening:
        closing = re.compile(rb"^---[ \t]*(?:\r?\n|\Z)", re.MULTILINE).search(text, opening.end())
    if opening is None or closing is None:
        raise TaskLineError(path, "it has no front matter between two lines of '---'")
    head = text[: closing.start()]
    matches = list(STATUS.finditer(head))
    if len(matches) != 1 or len(ANY_STATUS.findall(head)) != 1:
        raise TaskLineError(path, "its front matter has no single line 'status: ready'")
    match = matches[0]
    return text[: match.start()] + match[1] + b"done" + match[3] + text[match.end() :]


def _merge_trees(store: Store, onto: str, candidate: str) -> str:
    """The tree of both changes together, which is never the one of `onto`."""
    end = store.git([*MERGE_TREE, check_oid(onto), check_oid(candidate)], check=False)
    fields = split_paths(end.out)
    # Exit code 1 also stands for "that is no commit": then there is no tree id either.
    if end.code > 1 or not fields:
        raise GitCommandError("merge-tree", end.code, end.err)
    if end.code == 1:
        raise MergeConflictError(tuple(dict.fromkeys(fields[1:])))
    if fields[0] == store.tree_of(onto):
        raise NothingAheadError
    return fields[0]


def _mark_done(store: Store, index: Index, path: str) -> None:
    """Replace the task file in the index."""
    listed = index.git(["--literal-pathspecs", "ls-files", "--stage", "-z", "--", path]).out
    entries = [record.split(b"\t", 1) for record in listed.split(b"\0") if record]
    heads = [head.decode().split(" ") for head, name in entries if name == encode_path(path)]
    if len(heads) != 1 or heads[0][0] not in FILE_MODES:
        raise TaskLineError(path, "it is not there as a regular file")
    mode, oid, _ = heads[0]
    done = mark_done(store.git(["cat-file", "blob", oid]).out, path)
    new_oid = store.git(["hash-object", "-w", "--stdin"], stdin=done).out.decode().strip()
    line = b"%s %s 0\t%s\0" % (mode.encode(), new_oid.encode(), encode_path(path))
    index.git(["update-index", "-z", "--index-info"], stdin=line)
