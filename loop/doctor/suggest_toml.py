"""A plan as the text of a `factory.toml`.

Pure: no I/O.
"""

import json
from collections.abc import Iterator

from loop.doctor.suggest_found import Found, Part, Rank
from loop.doctor.suggest_plan import Plan

HEAD = """\
# Proposed by `factory doctor --suggest`; nothing was written. Read it, change it, save it as factory.toml,
# commit it. A comment names the file and line that a command comes from.
"""
NOTHING = """\
# Nothing in this repository says how it is checked: write the commands below and take their marks off.
"""
_SKELETON = """\
# [setup]                     # run once for one content of the inputs, with a network; checks have none
# cached = ["python3 -m venv .venv && .venv/bin/pip install -r requirements.txt"]
# inputs = ["requirements.txt"]

# [checks]
# fast = ["test"]             # while an agent works
# gate = ["test"]             # before the merge
# [checks.test]
# run = ".venv/bin/pytest -q"
"""
_AGENT = """\
[agent]
runtime = "claude"            # or "opencode", "codex", or "command": any shell line
model = "claude-sonnet-4-5"   # yours to choose
"""
_SLOW = {Part.TEST, Part.WHOLE}
SLOW_S = 1800
MAX_NOTE_CHARS = 300


def render(plan: Plan, name: str) -> str:
    """The whole file; `name` is the repository's."""
    repo = f"[repo]\nname = {_text(name)}\n"
    if not plan.checks:
        found = _setup(plan) if plan.setup else []
        parts = [HEAD + NOTHING, repo, *_image(plan), *found, _SKELETON if not found else _skeleton_checks()]
    else:
        notes = "".join(f"# Note: {_one_line(note)}.\n" for note in plan.notes)
        parts = [HEAD + notes, repo, *_image(plan), *_setup(plan), _checks(plan), *_commands(plan)]
    return "\n".join([*parts, _AGENT])


def _one_line(note: str) -> str:
    """A job's name is its author's: a line break in it would begin a line that is no comment."""
    return "".join(char if char.isprintable() else "?" for char in note)[:MAX_NOTE_CHARS]


def _skeleton_checks() -> str:
    return _SKELETON[_SKELETON.index("# [checks]") :]


def _image(plan: Plan) -> list[str]:
    if plan.image is None:
        return []
    image = plan.image
    why = f"{image.file}:{image.line}; the default one has only Python"
    return [f"[image]\nbase = {_text(image.name)}   # {why}\n"]


def _setup(plan: Plan) -> list[str]:
    if not plan.setup:
        return []
    lines = [f"    {_text(found.run)},  # {_origin(found)}" for found in plan.setup]
    inputs = f"inputs = {_list(plan.inputs)}   # add what else it reads: a change sets up anew"
    return ["\n".join(["[setup]", "cached = [", *lines, "]", inputs, ""])]


def _checks(plan: Plan) -> str:
    return f"[checks]\nfast = {_list(plan.fast)}\ngate = {_list(plan.gate)}\n"


def _commands(plan: Plan) -> Iterator[str]:
    for name, found in plan.checks.items():
        slow = f"timeout_s = {SLOW_S}\n" if found.part in _SLOW else ""
        yield f"[checks.{name}]\nrun = {_text(found.run)}   # {_origin(found)}\n{slow}"


def _origin(found: Found) -> str:
    words = {Rank.GUESS: "usual with ", Rank.NEEDED: "needed by "}
    return words.get(found.rank, "") + found.where


def _list(items: tuple[str, ...]) -> str:
    return f"[{', '.join(map(_text, items))}]"


def _text(value: str) -> str:
    """A basic string of TOML; JSON's escapes are among TOML's."""
    return json.dumps(value, ensure_ascii=False)
