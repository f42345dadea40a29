"""`<home>/repos/<repo>.reverts.jsonl`: commits of the default branch that take others back, a line each.

Pure: no I/O. The loop writes it when it looks at the branch; an empty file says that it has looked.
"""

from typing import Literal

from pydantic import AwareDatetime

from instrument.schema.base import Frozen


class Revert(Frozen):
    """One commit that takes back a landing commit, or brings one back by reverting the revert."""

    schema_version: Literal[1] = 1
    commit: str
    reverts: str
    """The commit that it takes back; both are whole ids."""
    at_utc: AwareDatetime
    """When `commit` was made."""
