"""The Docker Engine in typed verbs.

Only `client.py` in here imports the SDK; only this package talks to the engine.
"""

from collections.abc import Mapping
from typing import Any, Self

from jobs.engine.client import QUICK_S, SLOW_S, Api, mapped, open_api
from jobs.engine.containers import Containers, Volumes, label_filters
from jobs.engine.images import Images
from jobs.engine.states import EngineInfo, parse_time
from jobs.errors import EngineRefusedError


class Engine:
    """One Docker Engine and the connections to it. Not for several threads at once."""

    def __init__(self, quick: Api, slow: Api) -> None:
        self._api = quick
        self._slow = slow
        self.containers = Containers(quick, slow)
        self.volumes = Volumes(quick)
        self.images = Images(quick, slow)

    @classmethod
    def connect(cls) -> Self:
        """Reach the engine that DOCKER_HOST or the docker command's current context names.

        Raises:
            EngineUnavailableError: None answers there.
        """
        return cls(open_api(QUICK_S), open_api(SLOW_S))

    def close(self) -> None:
        """Give the connections back; may be called twice."""
        self._api.close()
        self._slow.close()

    def info(self) -> EngineInfo:
        """Ask for the host's size and the engine's clock."""
        with mapped("describe itself"):
            raw: Any = self._api.info()
        now = parse_time(raw["SystemTime"])
        if now is None:
            raise EngineRefusedError("The Docker Engine does not tell its time.")
        version = str(raw.get("ServerVersion", ""))
        runtimes = tuple(sorted(raw.get("Runtimes") or ()))
        return EngineInfo(
            raw["NCPU"],
            raw["Architecture"],
            now,
            version,
            runtimes,
            storage=str(raw.get("Driver", "")),
            cgroups=str(raw.get("CgroupVersion", "")),
            root=str(raw.get("DockerRootDir", "")),
            memory_bytes=raw.get("MemTotal") or 0,
        )

    def networks(self, labels: Mapping[str, str]) -> tuple[str, ...]:
        """Names of the networks that carry these labels: we make none, and a test says so."""
        with mapped("list networks"):
            rows: Any = self._api.networks(filters=label_filters(labels))
        return tuple(row["Name"] for row in rows)
