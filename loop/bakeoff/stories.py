"""What a scripted provider answers in each cell: `--story [KEY=]FILE`, kept with the bake-off.

Limits: reads the files named, writes copies below the bake-off's folder.
"""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from instrument.schema.vocabulary import RuntimeName
from loop.atomic import write_atomic
from loop.bakeoff.plan import Cell, Plan
from loop.errors import UsageError
from loop.home import make_private
from loop.taskfile import task_number
from proxy.scripted.story import StoryError, load_story

FOLDER = "stories"
ALL = ""
"""The key of a story for every cell that has none of its own."""


def read_stories(texts: Sequence[str]) -> dict[str, bytes]:
    """Read `[KEY=]FILE` each; KEY is a task's number or a runtime.

    Raises:
        UsageError: A file cannot be read or is no story, or a key is unknown or there twice.
    """
    stories: dict[str, bytes] = {}
    for text in texts:
        key, mark, name = text.partition("=")
        key, name = (key, name) if mark else (ALL, text)
        if key.isdecimal():
            key = str(int(key))
        elif key and key not in [runtime.value for runtime in RuntimeName]:
            raise UsageError(
                f"--story {text}: write a task's number or a runtime before the =, such as codex"
            )
        if key in stories:
            raise UsageError(f"--story {text}: there is another story for the same; take one out")
        try:
            stories[key] = Path(name).read_bytes()
            load_story(stories[key].decode())
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"--story {text}: the file cannot be read ({error})") from error
        except StoryError as error:
            raise UsageError(f"--story {text}: {error}") from error
    return stories


def digests_of(stories: Mapping[str, bytes]) -> dict[str, str]:
    """Key to SHA-256 of the text."""
    return {key: hashlib.sha256(story).hexdigest() for key, story in stories.items()}


def keep_stories(folder: Path, stories: Mapping[str, bytes]) -> dict[str, str]:
    """Copy them into the bake-off's folder, so that it can go on without the files; key to name."""
    names: dict[str, str] = {}
    for n, (key, story) in enumerate(sorted(stories.items()), start=1):
        names[key] = f"{FOLDER}/{n}.yaml"
        write_atomic(make_private(folder / FOLDER) / f"{n}.yaml", story)
    return names


def key_of(known: Mapping[str, object], task_path: str, runtime: RuntimeName) -> str | None:
    """Which story serves: that of the task before that of the runtime before that of all; none: no one."""
    keys = (str(task_number(task_path)), runtime.value, ALL)
    return next((key for key in keys if key in known), None)


def story_for(folder: Path, plan: Plan, cell: Cell) -> bytes | None:
    """The cell's story; none where real providers answer."""
    subject, variant = plan.subjects[cell.subject], plan.variants[cell.variant]
    key = key_of(plan.stories, subject.path, variant.runtime)
    return None if key is None else (folder / plan.stories[key]).read_bytes()
