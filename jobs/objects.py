"""Git objects that an engine keeps, so that a large repository travels to it once.

Talks to the engine. One volume a pack, filled through a container that never starts; jobs get it
read-only, so that none can write what another reads.
"""

import io
import tarfile
import tempfile
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import IO

from jobs.engine import Engine
from jobs.errors import EngineRefusedError, NameTakenError
from jobs.order import MIB
from jobs.pod import OBJECTS_FOLDER, OURS, ContainerSpec, Mount, objects_volume

HELD = "factory.objects"
"""Label of the empty volume that says: the other one, with this commit's history, is complete."""
MARK = "-held"
PART = {OURS: "1", "factory.part": "objects"}
FILLING = timedelta(minutes=30)
"""Longer than the one transfer may take."""
UNUSED = timedelta(days=30)
"""No use is noted on a volume, so that one of this age goes: making it again is one transfer."""
SPOOL_BYTES = 16 * MIB


class DockerObjects:
    """`jobs.ports.Objects` on one engine; `image` names any local image, which is never started."""

    def __init__(self, engine: Engine, image: Callable[[], str]) -> None:
        self._engine = engine
        self._image = image

    def held(self) -> tuple[str, ...]:
        """See `jobs.ports.Objects.held`."""
        marks = self._engine.volumes.find({OURS: "1", HELD: ""})
        return tuple(sorted(labels[HELD] for _, labels in marks))

    def hold(self, commit: str, pack: Path, *, instead_of: str | None) -> None:
        """See `jobs.ports.Objects.hold`."""
        if commit not in self.held():
            with suppress(NameTakenError):  # another loop fills it at this moment
                self._fill(commit, pack)
        if instead_of is not None and instead_of != commit:
            self._engine.volumes.remove(_mark(instead_of))
        self.sweep(None)

    def check(self, commit: str) -> None:
        """Make sure of the objects that a container just created mounts: an absent volume is made, empty.

        Raises:
            EngineRefusedError: They went; the next order will do without.
        """
        volumes = self._engine.volumes
        if objects_volume(commit) not in {name for name, _ in volumes.find(PART)}:
            volumes.remove(_mark(commit))
        if commit not in self.held():
            raise EngineRefusedError(f"The engine no longer keeps the objects of {commit}; run again.")

    def stale(self, now: datetime | None) -> tuple[str, ...]:
        """Volumes that no container has and that are incomplete or, where the time is told, old."""
        volumes = self._engine.volumes
        unused = {name for name, _ in volumes.find(PART, unused=True)}
        fresh = {
            objects_volume(commit)
            for commit in self.held()
            if now is None or now - (volumes.created_utc(objects_volume(commit)) or now) <= UNUSED
        }
        return tuple(sorted(unused - fresh))

    def sweep(self, now: datetime | None) -> tuple[str, ...]:
        """Remove what is stale; return the names."""
        gone = self.stale(now)
        for name in gone:
            self._engine.volumes.remove(f"{name}{MARK}")
            self._engine.volumes.remove(name)
        return gone

    def _fill(self, commit: str, pack: Path) -> None:
        name = objects_volume(commit)
        filling = f"{name}-filling"
        for container in self._engine.containers.find(PART):
            age = datetime.now(UTC) - (container.created_utc or datetime.now(UTC))
            if container.name == filling and age > FILLING:
                # Whoever made it was killed: its name would keep everybody else away.
                self._engine.containers.remove(container.id)
        self._engine.volumes.create(name, PART)
        spec = ContainerSpec(
            name=filling,
            image=self._image(),
            labels=PART,
            entrypoint=("true",),
            network="none",
            memory_bytes=64 * MIB,
            pids=1,
            mounts=(Mount(name, OBJECTS_FOLDER),),
        )
        filler = self._engine.containers.create(spec)
        try:
            with _archive(commit, pack) as tar:
                self._engine.containers.put(filler, OBJECTS_FOLDER, tar)
        finally:
            self._engine.containers.remove(filler)
        self._engine.volumes.create(_mark(commit), {OURS: "1", HELD: commit})


def _mark(commit: str) -> str:
    return f"{objects_volume(commit)}{MARK}"


def _archive(commit: str, pack: Path) -> IO[bytes]:
    target: IO[bytes] = tempfile.SpooledTemporaryFile(max_size=SPOOL_BYTES)  # noqa: SIM115 - the caller's
    with tarfile.open(fileobj=target, mode="w") as tar:
        folder = tarfile.TarInfo("pack")
        folder.type, folder.mode = tarfile.DIRTYPE, 0o755
        tar.addfile(folder)
        for path in (pack, pack.with_suffix(".idx")):
            entry = tarfile.TarInfo(f"pack/pack-{commit}{path.suffix}")
            entry.size, entry.mode = path.stat().st_size, 0o444
            with path.open("rb") as stream:
                tar.addfile(entry, stream)
    target.seek(0, io.SEEK_SET)
    return target
