"""A new task file, from the template.

Limits: reads nothing but the template, which `loop/task_template.md` links to.
"""

import re
from collections.abc import Iterable
from importlib import resources

from loop.problems import Problem, Problems, show

_SLUG = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
MAX_SLUG_CHARS = 60
_TITLE = "TITLE"


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


def _default() -> str:
    return resources.files("loop").joinpath("task_template.md").read_text(encoding="utf-8")
