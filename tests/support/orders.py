"""Orders of jobs for tests, with plain values.

Pure but for the paths that it is given.
"""

from pathlib import Path
from typing import Any

from instrument.schema.vocabulary import Purpose, Role
from jobs.order import MIB, Identity, JobOrder, Limits

COMMIT = "1" * 40


def make_order(root: Path, **changes: Any) -> JobOrder:
    """A coder's order whose pack is an empty file; name what should differ."""
    pack = root / "tree.pack"
    if "pack" not in changes:
        root.mkdir(parents=True, exist_ok=True)
        pack.touch()
    values: dict[str, Any] = {
        "identity": Identity("0a1b2c3d", "demo-001-implement-1-99aabbcc", "demo-001", Purpose.DEMO),
        "role": Role.CODER,
        "image": "sha256:" + "0" * 64,
        "commit": COMMIT,
        "pack": pack,
        "folder": root / "jobs" / "0002-coder-1",
        "limits": Limits(memory_bytes=512 * MIB, deadline_s=60),
    }
    return JobOrder(**{**values, **changes})
