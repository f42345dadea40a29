"""The files of a tree that instruct an agent.

A reviewer's come from the base: a change must not instruct its own judge.
Limits: writes one ref below `refs/factory/`, where a candidate changes such a file at all.
"""

from collections.abc import Iterable

from loop.config import INSTRUCTION_FILES
from loop.git.changes import ChangedPath, changed_paths
from loop.git.inputs import TreeEntry
from loop.git.store import Store
from loop.globs import compile_globs, fold_protection
from loop.machine.effects import Resolve, Review
from loop.shell.context import Context
from loop.shell.restoring import with_base_paths

TEXTS = ("AGENTS.md", "CLAUDE.md")
"""What programs look for in a folder that they work in."""
REGULAR = "100"
MOST_NESTED = 100
MOST_BYTES = 32 * 1024
"""Of each file; programs themselves cut longer ones."""


def instruction_files(changed: Iterable[ChangedPath]) -> tuple[str, ...]:
    """Those of the changed paths that an agent program takes orders from, in whatever folder."""
    patterns = compile_globs(fold_protection(pattern) for pattern in INSTRUCTION_FILES)
    return tuple(change.path for change in changed if patterns.match_file(change.path.casefold()))


def with_base_instructions(context: Context, task_id: str, effect: Review | Resolve) -> str:
    """What a review or a resolver starts from: the candidate, with the base's instruction files put back."""
    paths = instruction_files(changed_paths(context.store, effect.base, effect.start))
    return with_base_paths(
        context,
        task_id,
        effect.start,
        base=effect.base,
        paths=paths,
        what="instruction files",
        name="reviewed",
    )


def nested_instructions(store: Store, commit: str) -> dict[str, str]:
    """The texts below the top of the commit's tree, the first hundred in git's order: path to text.

    Those in hidden folders are left out: that is where programs keep their settings.
    """
    found = [entry for entry in store.entries(commit) if _is_nested_text(entry)][:MOST_NESTED]
    blobs = {entry.path: store.read_blob(commit, entry.path) or b"" for entry in found}
    return {path: blob[:MOST_BYTES].decode(errors="replace") for path, blob in blobs.items()}


def _is_nested_text(entry: TreeEntry) -> bool:
    *folders, name = entry.path.split("/")
    is_hidden = any(folder.startswith(".") for folder in folders)
    # A link has no text of its own; a path that cannot be shown stands in no prompt.
    is_plain = entry.mode.startswith(REGULAR) and entry.path.isprintable()
    return bool(folders) and name in TEXTS and is_plain and not is_hidden
