"""A new task file, from the template.

Limits: writes one new file, never over an old one.
"""

import re
from collections.abc import Iterable
from importlib import resources
from pathlib import Path

from loop.git.checkout import committed_paths, default_branch, find_checkout
from loop.problems import Problem, Problems, show
from loop.taskfile import task_number

_SLUG = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
MAX_SLUG_CHARS = 60
_TITLE = "TITLE"
FOLDER = "tasks"


def render_new(slug: str, existing_numbers: Iterable[int], *, template: str | None = None) -> tuple[str, str]:
    """Return the file's name and its text; `files` is empty in it, so it cannot run as it is.

    Args:
        slug: Words in small letters with a hyphen between, such as `retry-on-429`.
        existing_numbers: Of every task there is, on any branch that counts; 0 is the canary.
        template: A text other than `tasks/TEMPLATE.md`.

    Raises:
        Problems: The slug cannot be a file's name.
    """
    if not _SLUG.fullmatch(slug) or len(slug) > MAX_SLUG_CHARS:
        sentence = (
            f"{show(slug)} is no slug; use small letters and digits with single hyphens between, "
            f"{MAX_SLUG_CHARS} characters at most, such as retry-on-429"
        )
        raise Problems([Problem("factory new", None, sentence)])
    number = max(existing_numbers, default=0) + 1
    text = template if template is not None else _default()
    title = slug.replace("-", " ").capitalize()
    return f"{number:03d}-{slug}.md", text.replace(f"# {_TITLE}\n", f"# {title}\n")


def write_new(slug: str, repo: Path) -> Path:
    """Write a new task below the repository's `tasks/`; return its path from the repository's root.

    Raises:
        Problems: The slug cannot be a file's name.
        GitError: `repo` is in no repository.
    """
    checkout = find_checkout(repo)
    branch = default_branch(checkout, None)
    committed = committed_paths(checkout, branch, FOLDER)
    folder = checkout.root / FOLDER
    present = [entry.name for entry in folder.iterdir()] if folder.is_dir() else []
    numbers = (task_number(name) for name in (*committed, *present))
    name, text = render_new(slug, (number for number in numbers if number is not None))
    folder.mkdir(exist_ok=True)
    with (folder / name).open("x", encoding="utf-8") as file:
        file.write(text)
    return Path(FOLDER) / name


def _default() -> str:
    return resources.files("loop").joinpath("task_template.md").read_text(encoding="utf-8")
