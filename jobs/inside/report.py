"""`job.json`, gathered while the job goes on and written last.

Limits: writes one file; what it says is what `JobReport` of the host reads.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from typing import Any

from .capture import Captured
from .cgroup import Counters
from .handback import ABSENT

EXITED, DEADLINE, NO_FIRST_CALL = "exited", "deadline", "no_first_call"
SIDECAR_MISSING, DISK, NO_PROGRESS = "sidecar_missing", "disk", "no_progress"
HUNG_AT_END = "hung_at_end"
HOST_DISK = "host_disk"


@dataclass(frozen=True)
class CommandEnd:
    """How one command ended; `output` is a file below the job's folder on the host."""

    name: str
    run: str
    output: str
    exit_code: int | None = None
    signal: int | None = None
    timed_out: bool = False
    duration_ms: int = 0

    @property
    def has_passed(self) -> bool:
        """Whether it ended by itself with exit code 0."""
        return self.exit_code == 0 and not self.timed_out


@dataclass
class Report:
    """What is known so far; a failure of our own leaves it as it stands then."""

    key: str = ""
    role: str = "check"
    ended: str = EXITED
    exit_code: int | None = None
    signal: int | None = None
    agent_ms: int = 0
    survivors: int = 0
    setup_failed: str | None = None
    commands: list[CommandEnd] = field(default_factory=list)
    tree: Captured | None = None
    result_file: str = ABSENT
    review_file: str = ABSENT
    transcript_truncated: bool = False
    error: str | None = None
    stalled_command: str | None = None
    stalled_count: int = 0
    peak_pids: int | None = None
    """The most that were seen; the kernel's own count goes before it."""

    def fail(self, sentence: str) -> None:
        """Note a failure of the supervisor; the first one stands."""
        self.error = self.error or " ".join(sentence.split())


def as_document(report: Report, counters: Counters, started: datetime, duration_s: float) -> dict[str, Any]:
    """The JSON object, every key of the host's model in it but `agent`, which the host adds."""
    return {
        "schema_version": 1,
        **asdict(report),
        **asdict(counters),
        "peak_pids": report.peak_pids if counters.peak_pids is None else counters.peak_pids,
        "started_utc": started.astimezone(timezone.utc).isoformat(),
        "duration_ms": milliseconds(duration_s),
    }


def milliseconds(seconds: float) -> int:
    """Rounded, never below zero."""
    return max(0, round(seconds * 1000))


def write_document(path: str, document: dict[str, Any]) -> None:
    """Whole or not at all: the host takes the file's presence for the job's end.

    Raises:
        OSError: The folder cannot be written.
    """
    data = json.dumps(document, ensure_ascii=True, indent=1).encode("ascii", "replace")
    with open(path + ".new", "wb") as file:
        file.write(data + b"\n")
        file.flush()
        os.fsync(file.fileno())
    os.replace(path + ".new", path)
    folder = os.open(os.path.dirname(path), os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
