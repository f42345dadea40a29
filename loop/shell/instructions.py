"""The instruction files of a reviewer's tree come from the base: a change must not instruct its own judge.

Limits: writes one ref below `refs/factory/`, where a candidate changes such a file at all.
"""

from collections.abc import Iterable

from loop.config import INSTRUCTION_FILES
from loop.git.changes import ChangedPath, changed_paths
from loop.git.restore import restore_paths
from loop.globs import compile_globs, fold_protection
from loop.machine.effects import Review
from loop.shell.context import Context


def instruction_files(changed: Iterable[ChangedPath]) -> tuple[str, ...]:
    """Those of the changed paths that an agent program takes orders from, in whatever folder."""
    patterns = compile_globs(fold_protection(pattern) for pattern in INSTRUCTION_FILES)
    return tuple(change.path for change in changed if patterns.match_file(change.path.casefold()))


def with_base_instructions(context: Context, task_id: str, effect: Review) -> str:
    """The commit that a review starts from: the candidate, with the base's instruction files put back."""
    paths = instruction_files(changed_paths(context.store, effect.base, effect.start))
    if not paths:
        return effect.start
    return restore_paths(
        context.store,
        effect.start,
        source=effect.base,
        paths=paths,
        parent=effect.base,
        subject="Restore the base's instruction files",
        ref=f"refs/factory/{task_id}/reviewed",
    )
