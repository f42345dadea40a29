"""The supervisor's modules with their bytecode beside them, for a container's Python of our own version.

Limits: another version passes it by and compiles the source, as it would without. Pure but for the reading.
"""

import importlib.util
import marshal
import sys
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

UNCHECKED = 1
"""The flag of bytecode that stands for itself: what it was made of is not looked at again (PEP 552)."""


def program_files(inside: Path) -> Iterator[tuple[str, bytes]]:
    """Name and content of each file.

    Compiling every module at every start took longer than laying a small tree; see docs/benchmarks.md.
    """
    tag = sys.implementation.cache_tag
    for path in sorted(inside.glob("*.py")):
        source = path.read_bytes()
        yield path.name, source
        if tag is not None:
            yield f"__pycache__/{path.stem}.{tag}.pyc", _bytecode(source, path.name)


@lru_cache(maxsize=256)
def _bytecode(source: bytes, name: str) -> bytes:
    # Whoever loads it puts the source's path in place of the name.
    code = compile(source, name, "exec", dont_inherit=True)
    head = importlib.util.MAGIC_NUMBER + UNCHECKED.to_bytes(4, "little") + bytes(8)
    return head + marshal.dumps(code)
