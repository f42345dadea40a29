"""What is usual for a Python repository with such files.

Pure: no I/O.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

from loop.doctor.suggest_found import Fact, Files, Found, Image, Part, Rank, line_of

PYPROJECT = "pyproject.toml"
DEFAULT_MINOR = 11
"""Of the Python in the default base image."""
VENV = "python3 -m venv .venv"
PIP = ".venv/bin/pip install"
_LOCKS = (
    ("uv.lock", "uv sync --locked", "uv run --no-sync "),
    ("poetry.lock", "poetry install", "poetry run "),
    ("pdm.lock", "pdm install", "pdm run "),
)
"""`--no-sync`: a check has no network."""
_EXTRAS = ("dev", "test", "tests", "testing", "develop", "all")
_GROUPS = ("dev", "test", "tests", "testing")
_REQUIREMENTS = re.compile(r"requirements[-_]?(?:dev|test|tests|ci)?\.txt")
_TOOLS = ("pytest", "mypy", "ruff", "tox", "nox")


def read_python(files: Files) -> Iterator[Fact]:
    """The set-up by the lock file or with pip, and a check for each tool that is configured."""
    project = _load(files.get(PYPROJECT, ""))
    manifests = [f for f in (PYPROJECT, "setup.py", "setup.cfg", *_requirements(files)) if f in files]
    if not manifests:
        return
    checks = list(_checks(files, project))
    lock = next((entry for entry in _LOCKS if entry[0] in files), None)
    if lock is not None:
        inputs = (lock[0], *(f for f in manifests if f == PYPROJECT))
        yield Found(Part.SETUP, lock[1], lock[0], 1, Rank.GUESS, inputs)
    else:
        yield from _with_pip(files, project, tuple(manifests), [check.run.split()[0] for check in checks])
    prefix = lock[2] if lock else ""
    for check in checks:
        yield Found(check.part, prefix + check.run, check.file, check.line, Rank.GUESS)
    yield from _image(files, project)


def _load(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError):
        return {}


def _inner(value: Any, *keys: str) -> Mapping[str, Any]:  # noqa: ANN401 - a foreign file
    """A table in tables; empty where there is none."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def _requirements(files: Files) -> list[str]:
    return [name for name in files if _REQUIREMENTS.fullmatch(name)]


def _checks(files: Files, project: Mapping[str, Any]) -> Iterator[Found]:
    """One a tool, told by its configuration: the line is where that begins."""
    tool = _inner(project, "tool")
    place = _place(files, "pytest", tool, ("pytest.ini", "conftest.py"))
    mentioned = next((f for f in ("tox.ini", *_declaring(files)) if "pytest" in files.get(f, "")), None)
    if place or mentioned:
        file, line = place or (str(mentioned), line_of(files[str(mentioned)], "pytest"))
        yield Found(Part.TEST, "pytest", file, line, Rank.GUESS)
    elif "tox.ini" in files or "tox" in tool:
        file, line = _place(files, "tox", tool, ("tox.ini",)) or ("tox.ini", 1)
        yield Found(Part.TEST, "tox run -e py", file, line, Rank.GUESS)
    elif "noxfile.py" in files:
        yield Found(Part.TEST, "nox --reuse-existing-virtualenvs", "noxfile.py", 1, Rank.GUESS)
    elif "tests" in files or "test" in files:
        folder = "tests" if "tests" in files else "test"
        yield Found(Part.TEST, f"python3 -m unittest discover {folder}", folder, 1, Rank.GUESS)
    if place := _place(files, "mypy", tool, ("mypy.ini",)):
        has_own = any(_inner(tool, "mypy").get(key) for key in ("files", "packages", "modules"))
        yield Found(Part.TYPES, "mypy" if has_own else "mypy .", *place, Rank.GUESS)
    if place := _place(files, "ruff", tool, ("ruff.toml",)):
        yield Found(Part.LINT, "ruff check --no-fix .", *place, Rank.GUESS)
        if "format" in _inner(tool, "ruff"):
            yield Found(Part.FORMAT, "ruff format --check .", *place, Rank.GUESS)


def _place(
    files: Files, name: str, tool: Mapping[str, Any], others: tuple[str, ...]
) -> tuple[str, int] | None:
    if name in tool:
        return PYPROJECT, line_of(files[PYPROJECT], f"[tool.{name}")
    return next(((other, 1) for other in others if other in files), None)


def _declaring(files: Files) -> list[str]:
    return [f for f in (PYPROJECT, "setup.cfg", "setup.py", *_requirements(files)) if f in files]


def _with_pip(
    files: Files, project: Mapping[str, Any], manifests: tuple[str, ...], tools: list[str]
) -> Iterator[Fact]:
    """A virtual environment with the project, what it wants for tests, and the tools it does not name."""
    is_package = bool(_inner(project, "project") or "build-system" in project or "setup.py" in files)
    extra = _first(_EXTRAS, _inner(project, "project", "optional-dependencies"))
    group = _first(_GROUPS, _inner(project, "dependency-groups"))
    wanted = [f"-r {name}" for name in _requirements(files)]
    wanted += [f"--group {group}"] if group else []
    wanted += [f"-e '.[{extra}]'" if extra else "-e ."] if is_package else []
    known = "\n".join(files[name] for name in _declaring(files))
    wanted += [
        tool
        for tool in dict.fromkeys(tools)
        if tool in _TOOLS and not re.search(rf"(?m)[\"'\s]{tool}\b(?!\])|^{tool}\b", known)
    ]
    if wanted:
        new_pip = f"{PIP} -U pip && " if group else ""
        run = f"{VENV} && {new_pip}{PIP} {' '.join(wanted)}"
        yield Found(Part.SETUP, run, manifests[0], 1, Rank.GUESS, manifests)


def _first(names: tuple[str, ...], table: Mapping[str, Any]) -> str | None:
    return next((name for name in names if name in table), None)


def _image(files: Files, project: Mapping[str, Any]) -> Iterator[Image]:
    """A base with a newer Python where the default one's is too old."""
    pinned = re.match(r"3\.(\d+)", files.get(".python-version", "").strip())
    asked = re.search(r">=?\s*3\.(\d+)", str(_inner(project, "project").get("requires-python", "")))
    file, match = (".python-version", pinned) if pinned else (PYPROJECT, asked)
    if match and int(match[1][:3]) > DEFAULT_MINOR:
        line = line_of(files[file], "requires-python") if file == PYPROJECT else 1
        yield Image(f"python:3.{match[1][:3]}", file, line)
