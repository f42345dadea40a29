"""`factory-origin.json`: which repository a bare one of ours is a copy of.

Pure: no I/O. Written by `loop.git.store`.
"""

from instrument.schema.base import Frozen

ORIGIN_FILE = "factory-origin.json"
"""In `<home>/repos/<repo>.git`."""


class Origin(Frozen):
    """`<home>/repos/<repo>.git/factory-origin.json`."""

    root_commit: str
    checkout: str
    """The folder it was first made from, for the person's eyes."""
