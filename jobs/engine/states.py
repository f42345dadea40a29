"""What the engine says of its objects, as values.

Pure: no I/O.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

YEAR_ONE = "0001-"
"""The engine's way to write that something has not happened."""

LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)
"""Of an image whose maker left its time out."""

STAMP = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d+))?(Z|[+-]\d\d:\d\d)")


@dataclass(frozen=True, slots=True)
class EngineInfo:
    """What the engine says of its host; `now_utc` is its clock at the call."""

    cpus: int
    arch: str
    """As `uname -m` says it, such as `x86_64`."""
    now_utc: datetime
    version: str = ""
    runtimes: tuple[str, ...] = ()
    """Names of the container runtimes that it can be asked for; sorted."""
    storage: str = ""
    """Its storage driver, such as `overlay2`."""
    cgroups: str = ""
    """The version of the host's control groups, `1` or `2`."""
    root: str = ""
    """The folder on its host that holds what it keeps."""
    memory_bytes: int = 0
    """All that its host has; 0: it does not tell."""


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
    image: str = ""
    """Id of the image that it was made from."""
    created_utc: datetime | None = None
    memory_bytes: int = 0
    """How much it may take; 0: as much as there is."""

    @property
    def is_running(self) -> bool:
        """Whether its processes exist."""
        return self.status in ("running", "paused", "restarting")

    @property
    def is_going(self) -> bool:
        """Whether its removal was begun and has not come to an end: none of its files can be read."""
        return self.status in ("removing", "dead")

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
    created_utc: datetime = LONG_AGO
    size_bytes: int = 0
    """With everything that it shares with others."""
    layers: tuple[str, ...] = ()
    """Digests, the lowest first; only an inspection tells them."""


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
        image=raw.get("Image", ""),
        created_utc=parse_time(raw.get("Created", "")),
        memory_bytes=(raw.get("HostConfig") or {}).get("Memory") or 0,
    )


def parse_image(raw: Any) -> ImageState:  # noqa: ANN401 - the engine's JSON
    """Read one image, from an inspection or from a row of a list."""
    labels = (raw.get("Config") or {}).get("Labels") or raw.get("Labels") or {}
    created = raw.get("Created") or 0
    made = datetime.fromtimestamp(created, UTC) if isinstance(created, int) else parse_time(created)
    return ImageState(
        id=raw["Id"],
        tags=tuple(raw.get("RepoTags") or ()),
        labels=labels,
        created_utc=made or LONG_AGO,
        size_bytes=raw.get("Size") or 0,
        layers=tuple((raw.get("RootFS") or {}).get("Layers") or ()),
    )
