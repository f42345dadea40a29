"""Checks the layout of every Python file; prints each fault, exit code 1 if there is one."""

import ast
import sys
from pathlib import Path
from typing import Iterator

LIMIT = 100


def faults(path: Path) -> Iterator[str]:
    """Yield what is wrong in one file, a line each."""
    text = path.read_text(encoding="utf-8")
    for number, line in enumerate(text.splitlines(), start=1):
        if len(line) > LIMIT:
            yield f"{path}:{number}: longer than {LIMIT} characters"
        if line != line.rstrip() or "\t" in line:
            yield f"{path}:{number}: a tab, or a blank at the end"
    if text and not text.endswith("\n"):
        yield f"{path}: no newline at the end"
    if text and ast.get_docstring(ast.parse(text)) is None:
        yield f"{path}: no docstring"


def main() -> int:
    """Check the package, its tests and its scripts."""
    folders = ("durations", "tests", "scripts")
    paths = [path for name in folders for path in sorted(Path(name).glob("*.py"))]
    found = [fault for path in paths for fault in faults(path)]
    print("\n".join(found) or "style: ok")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
