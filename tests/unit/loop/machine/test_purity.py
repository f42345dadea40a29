"""The machine takes every value from its caller: what it may import is listed, clocks are not on it."""

import ast
from pathlib import Path

import pytest

import loop.machine

MODULES = sorted(Path(loop.machine.__path__[0]).glob("*.py"))
LIBRARIES = {
    "collections.abc",
    "dataclasses",
    "datetime",
    "enum",
    "hashlib",
    "itertools",
    "json",
    "pydantic",
    "typing",
}
"""Of these only functions of their arguments are used; datetime for sums of given times."""
OURS = ("instrument.schema.", "instrument.money", "loop.machine.")
CLOCKS = {"now", "utcnow", "today"}


def imported(tree: ast.Module) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=aliases):
                names |= {alias.name for alias in aliases}
            case ast.ImportFrom(module=str(module), level=0):
                names.add(module)
            case ast.ImportFrom():
                names.add("a relative import")
    return names


def calls_of_clocks(tree: ast.Module) -> set[str]:
    return {n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute) and n.attr in CLOCKS}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_a_module_of_the_machine_imports_only_what_is_pure_and_asks_no_clock(path: Path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert {name for name in imported(tree) - LIBRARIES if not name.startswith(OURS)} == set()
    assert calls_of_clocks(tree) == set()


def test_what_is_looked_for_would_be_found():
    tree = ast.parse("import os\nfrom loop.git import store\nx = datetime.now(UTC)\n")
    assert imported(tree) == {"os", "loop.git"}
    assert calls_of_clocks(tree) == {"now"}
