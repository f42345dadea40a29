"""Forget what was kept for a task that is merged.

Limits: refs of ours only; may be called again.
"""

from loop.git.store import NAME, Store
from loop.git.worktrees import drop_refs

FACTORY_REFS = "refs/factory/"


def forget_task(store: Store, task_id: str) -> int:
    """Remove every ref of the task, from our repository and from the person's; return how many.

    In the person's there is none, unless someone fetched ours there by hand.
    """
    if NAME.fullmatch(task_id) is None:
        raise ValueError(f"{task_id!r} is no task id")
    prefix = f"{FACTORY_REFS}{task_id}/"
    return store.delete_refs(prefix) + drop_refs(store.checkout, prefix)
