"""The supervisor's own source: what the Python of an older image has to read."""

import ast
import sys
from pathlib import Path

import pytest

import jobs.inside

FILES = sorted(Path(jobs.inside.__path__[0]).glob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_python_3_9_reads_it_and_the_library_suffices(path: Path) -> None:
    tree = ast.parse(path.read_bytes(), feature_version=(3, 9))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            assert all(alias.name.partition(".")[0] in sys.stdlib_module_names for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 1 or (node.module or "").partition(".")[0] in sys.stdlib_module_names
