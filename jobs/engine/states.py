"""What the engine says of its objects, as values.

Pure: no I/O.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

YEAR_ONE = "0001-"
"""The engine's way to write that something has not happened."""

STAMP = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d+))?(Z|[+-]\d\d:\d\d)")


@dataclass(frozen=True, slots=True)
class EngineInfo:
    """What the engine says of its host; `now_utc` is its clock at the call."""

    cpus: int
    arch: str
    """As `uname -m` says it, such as `x86_64`."""
    now_utc: datetime
    version: str = ""


@dataclass(frozen=True, slots=True)
class ContainerState:
    """One inspection of a container."""

    id: str
    name: str
    status: str
    """created, running, paused, restarting, removing, exited or dead."""
    exit_code: int
    oom_killed: bool
    started_utc: datetime | None
    finished_utc: datetime | None
    labels: Mapping[str, str]

    @property
    def is_running(self) -> bool:
        """Whether its processes exist."""
        return self.status in ("running", "paused", "restarting")

    @property
    def has_started(self) -> bool:
        """Whether it ever ran."""
        return self.started_utc is not None


@dataclass(frozen=True, slots=True)
class ImageState:
    """One image of the engine."""

    id: str
    tags: tuple[str, ...]
    labels: Mapping[str, str]


def parse_time(text: str) -> datetime | None:
    """Read the engine's time of nanoseconds; none where the thing has not happened.

    Raises:
        ValueError: The text is no time.
    """
    if not text or text.startswith(YEAR_ONE):
        return None
    found = STAMP.fullmatch(text)
    if found is None:
        raise ValueError(f"The engine wrote a time that cannot be read: {text[:40]!r}")
    base, digits, zone = found.groups()
    return datetime.fromisoformat(f"{base}.{(digits or '')[:6]:0<6}{zone.replace('Z', '+00:00')}")


def parse_container(raw: Any) -> ContainerState:  # noqa: ANN401 - the engine's JSON
    """Read the answer to an inspection."""
    state = raw["State"]
    return ContainerState(
        id=raw["Id"],
        name=raw["Name"].lstrip("/"),
        status=state["Status"],
        exit_code=state["ExitCode"],
        oom_killed=bool(state.get("OOMKilled")),
        started_utc=parse_time(state["StartedAt"]),
        finished_utc=parse_time(state["FinishedAt"]),
        labels=raw["Config"].get("Labels") or {},
    )


def parse_image(raw: Any) -> ImageState:  # noqa: ANN401 - the engine's JSON
    """Read one image, from an inspection or from a row of a list."""
    labels = (raw.get("Config") or {}).get("Labels") or raw.get("Labels") or {}
    return ImageState(raw["Id"], tuple(raw.get("RepoTags") or ()), labels)
