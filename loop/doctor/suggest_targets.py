"""What Makefile, justfile and package.json call their targets.

Pure: no I/O.
"""

import json
import re
from collections.abc import Iterator

from loop.doctor.suggest_found import Fact, Files, Found, Part, Rank, line_of
from loop.doctor.suggest_words import part_of_name

MAKEFILES = ("GNUmakefile", "makefile", "Makefile")
"""In the order in which make looks for them."""
JUSTFILES = ("justfile", "Justfile", ".justfile")
_TARGET = re.compile(r"([A-Za-z][\w.-]*(?:[ \t]+[A-Za-z][\w.-]*)*)[ \t]*::?(?!=)")
_RECIPE = re.compile(r"@?([A-Za-z][\w-]*)[ \t]*:(?!=)")
"""Without parameters: one that wants some cannot be run by its name."""
_WRITES = re.compile(r"--(?:fix|write|watch|open|ui)\b|no test specified")


def read_makefile(files: Files) -> Iterator[Fact]:
    """Targets of known names."""
    yield from _targets(files, MAKEFILES, _TARGET, "make")


def read_justfile(files: Files) -> Iterator[Fact]:
    """Recipes of known names."""
    yield from _targets(files, JUSTFILES, _RECIPE, "just")


def _targets(files: Files, names: tuple[str, ...], pattern: re.Pattern[str], program: str) -> Iterator[Fact]:
    file = next((name for name in names if name in files), None)
    seen = set()
    for number, line in enumerate(files[file].split("\n") if file else (), start=1):
        match = pattern.match(line[:1000])
        for name in match[1].split() if match else ():
            part = part_of_name(name)
            if part is not None and name not in seen:
                seen.add(name)
                inputs = (str(file),) if part is Part.SETUP else ()
                yield Found(part, f"{program} {name}", str(file), number, Rank.TARGET, inputs)


def read_scripts(files: Files) -> Iterator[Fact]:
    """Scripts of package.json; one that writes files or watches them is left out."""
    text = files.get("package.json", "")
    program = package_manager(files)
    for name, script in scripts_of(text).items():
        part = part_of_name(name)
        if part is None or part is Part.SETUP or _WRITES.search(script):
            continue
        run = f"{program} test" if name == "test" else f"{program} run {name}"
        yield Found(part, run, "package.json", line_of(text, f'"{name}"'), Rank.TARGET)


def package_manager(files: Files) -> str:
    """The program whose lock file lies there."""
    locks = {"pnpm-lock.yaml": "pnpm", "yarn.lock": "yarn"}
    return next((program for lock, program in locks.items() if lock in files), "npm")


def scripts_of(text: str) -> dict[str, str]:
    """The scripts of a package.json; none where it is broken."""
    try:
        scripts = json.loads(text)["scripts"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return {}
    if not isinstance(scripts, dict):
        return {}
    return {k: v for k, v in scripts.items() if isinstance(v, str) and re.fullmatch(r"[\w:.-]+", k)}
