"""`owner.json`: whose a task is, where a driver carries it on over many processes.

Pure: no I/O. Written by `loop.ownership`.
"""

from typing import Literal

from pydantic import AwareDatetime

from instrument.schema.base import Frozen

OWNER_FILE = "owner.json"
"""In the task's folder; absent where the task is anybody's."""


class Owner(Frozen):
    """`<task folder>/owner.json`."""

    schema_version: Literal[1] = 1
    driver: str
    """Such as `engine`."""
    command: str
    """What a person types to take the task over from it."""
    since_utc: AwareDatetime
