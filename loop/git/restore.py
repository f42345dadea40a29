"""A commit with some paths as another commit has them: the base's tests on a candidate, say.

Limits: works on an index of ours; the commit is on no branch.
"""

from collections.abc import Sequence
from datetime import UTC, datetime

from loop.git.paths import encode_path
from loop.git.store import Store
from loop.git.trees import Signature, commit_tree, open_index

EPOCH = datetime(2000, 1, 1, tzinfo=UTC)
"""The same paths give the same commit, whenever they are restored."""
ABSENT = b"0 " + b"0" * 40


def restore_paths(
    store: Store, commit: str, *, source: str, paths: Sequence[str], parent: str, subject: str, ref: str
) -> str:
    """The commit's tree with `paths` as `source` has them, as a commit on `parent`, kept under `ref`.

    A path that `source` lacks is taken out.
    """
    entries = {entry.path: entry for entry in store.entries(source)}
    lines = []
    for path in paths:
        entry = entries.get(path)
        what = ABSENT if entry is None else f"{entry.mode} {entry.oid}".encode()
        lines.append(what + b"\t" + encode_path(path) + b"\0")
    with open_index(store, commit) as index:
        index.git(["update-index", "-z", "--index-info"], stdin=b"".join(lines))
        tree = index.write_tree()
    signature = Signature(subject, "factory loop <factory@localhost>", EPOCH)
    return commit_tree(store, tree=tree, parent=parent, signature=signature, ref=ref)
