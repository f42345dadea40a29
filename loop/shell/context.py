"""What the shell works with, fixed for one run of the program.

Pure: no I/O.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from instrument.schema.vocabulary import RuntimeName
from jobs.ports import Jobs
from loop.git.store import Store


@dataclass(frozen=True, slots=True)
class Provider:
    """Where model calls go; with a story, a scripted provider answers them instead."""

    base_url: str
    auth: str
    secret: str = field(repr=False)
    story: bytes | None = None


@dataclass(frozen=True, slots=True)
class Context:
    """The places, the seams and the person's choices."""

    home: Path
    folder: Path
    """The task's own."""
    store: Store
    branch: str
    remote: str | None
    """Where to push; none: the local branch is all there is."""
    jobs: Jobs
    provider: Provider
    environment: Mapping[str, str]
    """The host's, of which `[job] env` names are handed on."""
    now: Callable[[], datetime]
    runtime: RuntimeName | None = None
    """`--runtime`, which overrides the task and the repo."""
    model: str | None = None
    """`--model`, likewise."""
