"""Checks on a candidate with the base's test files: which commit that is.

Limits: writes one ref below `refs/factory/`.
"""

from collections.abc import Iterable

from loop.config import Config
from loop.git.changes import ChangedPath, changed_paths
from loop.machine.effects import CompareTests
from loop.shell.context import Context
from loop.shell.restoring import with_base_paths
from loop.test_guard import is_test_path

ABSENT = "000000"


def base_tests_changed(changed: Iterable[ChangedPath], config: Config) -> tuple[str, ...]:
    """The base's test files among what a candidate changes or deletes; new ones are no matter here."""
    return tuple(
        change.path
        for change in changed
        if change.old_mode != ABSENT and is_test_path(change.path, config.tests)
    )


def with_base_tests(context: Context, task_id: str, effect: CompareTests, config: Config) -> str:
    """The candidate with the base's test files restored, as a commit; the same each time."""
    changed = changed_paths(context.store, effect.base, effect.commit)
    return with_base_paths(
        context,
        task_id,
        effect.commit,
        base=effect.base,
        paths=base_tests_changed(changed, config),
        what="tests",
        name="compared",
    )
