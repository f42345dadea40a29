"""What a tree holds that the loop handles otherwise than a person's git: each is a note.

Limits: reads the branch's tip and the checkout's hooks.
"""

import os
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from loop.doctor.finding import Finding, note, ok
from loop.doctor.surroundings import Surroundings
from loop.git.attributes import filtered_paths
from loop.git.changes import GITLINK
from loop.git.checkout import read_settings
from loop.git.paths import show_path

HOOKS = (
    *("pre-commit", "pre-merge-commit", "prepare-commit-msg", "commit-msg", "post-commit"),
    *("pre-push", "pre-rebase", "post-merge", "reference-transaction"),
)
"""What git would start where a person does by hand what the loop does (githooks(5), read 2026-11-30)."""
HOOK_TOOLS = (".pre-commit-config.yaml", ".husky", "lefthook.yml", ".lefthook.yml", ".overcommit.yml")
SHOWN = 5


def look_at_submodules(surroundings: Surroundings) -> Finding:
    """Folders that stand for another repository."""
    links = [e.path for e in surroundings.store.entries(surroundings.tip) if e.mode == GITLINK]
    if not links:
        return ok("none")
    mend = "a job sees an empty folder, and a task that moves one stops: submodule_changed"
    return note(f"{len(links)}: {_some(links)}", mend)


def look_at_filters(surroundings: Surroundings) -> Finding:
    """Files that git changes on the way in and out, such as those of LFS."""
    store, tip = surroundings.store, surroundings.tip
    paths = filtered_paths(store, tip, store.paths(tip))
    if not paths:
        return ok("no content filter, no LFS")
    mend = "a job sees what git stores (of LFS a pointer); a task that writes one stops: unsupported_filter"
    return note(f"a content filter such as LFS over {len(paths)}: {_some(paths)}", mend)


def look_at_hooks(surroundings: Surroundings) -> Finding:
    """Hooks of the checkout, which do not run where the loop commits, merges and pushes."""
    root = surroundings.checkout.root
    folder = _hooks_folder(surroundings)
    hooks = [name for name in HOOKS if os.access(folder / name, os.X_OK)]
    tops = {PurePosixPath(path).parts[0] for path in surroundings.store.paths(surroundings.tip)}
    tools = [name for name in HOOK_TOOLS if name in tops]
    if not hooks and not tools:
        return ok("none")
    where = folder.relative_to(root) if folder.is_relative_to(root) else folder
    said = [f"{', '.join(hooks)} in {where}"] if hooks else []
    mend = "the loop runs no hook: put what they look at into [checks]"
    return note("; ".join([*said, *tools]), mend)


def _hooks_folder(surroundings: Surroundings) -> Path:
    checkout = surroundings.checkout
    # Our own git is told to use none, and says so among the settings.
    found = [
        value
        for key, value in read_settings(checkout)
        if key == "core.hookspath" and value not in ("", os.devnull)
    ]
    return checkout.root / Path(found[-1]).expanduser() if found else checkout.common_dir / "hooks"


def look_at_case(surroundings: Surroundings) -> Finding:
    """Paths that are one and the same where a file system does not tell case apart."""
    twins = same_but_for_case(surroundings.store.paths(surroundings.tip))
    if not twins:
        return ok("no two paths differ by case alone")
    said = ", ".join(" and ".join(map(show_path, pair)) for pair in twins[:SHOWN])
    mend = "on macOS and Windows one takes the other's place in a checkout: rename one of each"
    return note(f"{len(twins)}: {said}", mend)


def same_but_for_case(paths: Iterable[str]) -> list[tuple[str, ...]]:
    """Groups of paths, folders too, that differ by case alone; what lies below such a folder is left out."""
    groups: dict[tuple[str, str], set[str]] = defaultdict(set)
    for path in paths:
        for part in (PurePosixPath(path), *PurePosixPath(path).parents):
            groups[str(part.parent), part.name.casefold()].add(str(part))
    return [tuple(sorted(group)) for _, group in sorted(groups.items()) if len(group) > 1]


def _some(paths: Iterable[str]) -> str:
    shown = list(paths)
    more = len(shown) - SHOWN
    said = ", ".join(map(show_path, shown[:SHOWN]))
    return f"{said} and {more} more" if more > 0 else said
