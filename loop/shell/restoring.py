"""A commit of the task with some of its paths as the base has them.

Limits: writes one ref below `refs/factory/`, where there is such a path at all.
"""

from collections.abc import Sequence

from loop.git.restore import restore_paths
from loop.shell.context import Context


def with_base_paths(
    context: Context, task_id: str, commit: str, *, base: str, paths: Sequence[str], what: str, name: str
) -> str:
    """The commit with the base's `paths` put back; the same each time.

    Args:
        context: Where the store is.
        task_id: Whose ref it is.
        commit: What is taken but for the paths; without any it is the answer.
        base: Whose paths they are, and the new commit's parent.
        paths: One that the base lacks is taken out.
        what: What the paths are, for the commit's subject.
        name: The last part of the ref.
    """
    if not paths:
        return commit
    return restore_paths(
        context.store,
        commit,
        source=base,
        paths=paths,
        parent=base,
        subject=f"Restore the base's {what}",
        ref=f"refs/factory/{task_id}/{name}",
    )
