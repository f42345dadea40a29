"""Containers and volumes of the engine, in typed verbs.

Talks to the Docker Engine; nothing is removed by itself and nothing restarts.
"""

import contextlib
import socket
import tempfile
import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import IO, Any

from jobs.classify import Meaning
from jobs.engine.client import Api, mapped, remove_until_gone
from jobs.engine.states import ContainerState, parse_container, parse_time
from jobs.errors import EngineRefusedError
from jobs.pod import OPEN_FILES, ContainerSpec

CHUNK_BYTES = 1024 * 1024
SPOOL_BYTES = 8 * 1024 * 1024
LEAST_WAIT_S = 0.01
"""A timeout of nothing is an error to the SDK."""
ABSENT = (Meaning.ABSENT,)
ENDED = (Meaning.ABSENT, Meaning.NOT_RUNNING)


def label_filters(labels: Mapping[str, str]) -> dict[str, list[str]]:
    """The engine's filter for exactly these values; an empty value means any."""
    return {"label": [f"{name}={value}" if value else name for name, value in labels.items()]}


class Containers:
    """Of one engine. Not for several threads at once, but for the start of one container beside another."""

    def __init__(self, quick: Api, slow: Api) -> None:
        self._api = quick
        self._slow = slow

    def create(self, spec: ContainerSpec) -> str:
        """Create a container, return its id.

        Raises:
            NameTakenError: A container of this name exists.
            ObjectAbsentError: The image does not exist.
        """
        with mapped(f"create {spec.name}"):
            raw: Any = self._api.create_container(
                spec.image,
                command=[],
                name=spec.name,
                entrypoint=list(spec.entrypoint),
                user="0:0",
                working_dir="/",
                labels=dict(spec.labels),
                healthcheck={"test": ["NONE"]},
                stdin_open=spec.stdin,
                use_config_proxy=False,  # the host's proxy settings stay out of our containers
                host_config=self._host_config(spec),
            )
        return str(raw["Id"])

    def _host_config(self, spec: ContainerSpec) -> Any:  # noqa: ANN401 - the SDK's own dictionary
        limits: Any = [
            {"Name": "nofile", "Soft": OPEN_FILES, "Hard": OPEN_FILES},
            {"Name": "core", "Soft": 0, "Hard": 0},
        ]
        if spec.file_bytes is not None:
            limits.append({"Name": "fsize", "Soft": spec.file_bytes, "Hard": spec.file_bytes})
        mounts: Any = [
            {"Type": "volume", "Source": m.volume, "Target": m.target, "ReadOnly": m.read_only}
            for m in spec.mounts
        ]
        log: Any = {"Type": "json-file", "Config": {"max-size": "1m", "max-file": "1"}}
        return self._api.create_host_config(
            init=True,
            network_mode=spec.network,
            cap_drop=["ALL"],
            cap_add=list(spec.capabilities),
            security_opt=["no-new-privileges:true"],
            mem_limit=spec.memory_bytes,
            memswap_limit=spec.memory_bytes,
            pids_limit=spec.pids,
            nano_cpus=None if spec.cpus is None else round(spec.cpus * 1e9),
            ulimits=limits,
            read_only=spec.read_only,
            tmpfs=dict(spec.tmpfs) or None,
            mounts=mounts,
            log_config=log,
            auto_remove=False,
            runtime=spec.runtime,
        )

    def start(self, container: str) -> None:
        """Start it; started already is no error."""
        with mapped(f"start {container}"):
            self._api.start(container)

    def start_with_input(self, container: str, line: bytes) -> None:
        """Start it with `line` on its standard input, which is then closed."""
        with mapped(f"start {container}"):
            stream: Any = self._api.attach_socket(container, params={"stdin": 1, "stream": 1})
            raw = getattr(stream, "_sock", stream)
            try:
                self._api.start(container)
                raw.sendall(line)
                # A TLS socket cannot be half closed; the reader takes one line and needs no end.
                with contextlib.suppress(OSError, AttributeError):
                    raw.shutdown(socket.SHUT_WR)
            finally:
                # The answer first: it flushes what it reads from, and fails if that is closed.
                response = getattr(stream, "_response", None)
                if response is not None:
                    response.close()
                raw.close()

    def inspect(self, container: str) -> ContainerState | None:
        """Look at one container; none where it does not exist."""
        with mapped(f"inspect {container}", ignore=ABSENT):
            return parse_container(self._api.inspect_container(container))
        return None

    def wait(self, container: str, within_s: float) -> None:
        """Return after so long, and at once where it has ended; over a network always after so long.

        A wait that runs out costs its connection: by ssh that would be a new login every second.
        """
        if not self._api.is_local:
            time.sleep(max(within_s, 0))
            return
        # Slow is what is asked for here: whether the engine hangs, the next look at the container shows.
        with mapped(f"wait for {container}", ignore=(Meaning.ABSENT, Meaning.SLOW)):
            timeout_s: Any = max(within_s, LEAST_WAIT_S)  # the SDK's types say whole seconds
            self._api.wait(container, timeout=timeout_s)

    def find(self, labels: Mapping[str, str], *, statuses: Sequence[str] = ()) -> tuple[ContainerState, ...]:
        """All containers that carry every one of these labels with these values.

        Args:
            labels: An empty value means any.
            statuses: Only those in one of these; none: running or not.
        """
        filters = label_filters(labels) | ({"status": list(statuses)} if statuses else {})
        with mapped("list containers"):
            rows: Any = self._api.containers(all=True, filters=filters)
        states = (self.inspect(row["Id"]) for row in rows)
        return tuple(state for state in states if state is not None)

    def kill(self, container: str, signal: str = "SIGKILL") -> None:
        """Send a signal to its first process; not running or absent is no error."""
        with mapped(f"kill {container}", ignore=ENDED):
            self._api.kill(container, signal)

    def remove(self, container: str) -> None:
        """Remove it with its anonymous volumes, running or not; absent is no error.

        Raises:
            EngineRefusedError: It is still there after a minute of trying.
        """
        remove_until_gone(
            f"remove {container}",
            lambda: self.inspect(container) is None,
            lambda: self._api.remove_container(container, v=True, force=True),
        )

    def put(self, container: str, path: str, tar: IO[bytes]) -> None:
        """Unpack a tar archive at a folder of a container, started or not."""
        with mapped(f"put files into {container}"):
            self._slow.put_archive(container, path, tar)

    def get(self, container: str, path: str, *, max_bytes: int) -> IO[bytes] | None:
        """The tar archive of a path of a container, dead or alive; cut after `max_bytes`.

        Returns:
            A file at its start, which the caller closes; none where path or container is absent.
        """
        with mapped(f"read {path} of {container}", ignore=ABSENT):
            response = self._slow.open_archive(container, path)
            kept: IO[bytes] = tempfile.SpooledTemporaryFile(max_size=SPOOL_BYTES)  # noqa: SIM115
            with response:
                for chunk in response.iter_content(CHUNK_BYTES):
                    kept.write(chunk)
                    if kept.tell() > max_bytes:
                        kept.truncate(max_bytes)
                        break
            kept.seek(0)
            return kept
        return None

    def tail(self, container: str, lines: int) -> bytes:
        """The last lines that it wrote, for a person to read; never followed, empty where it is gone."""
        with mapped(f"read the log of {container}", ignore=ABSENT):
            text: Any = self._api.logs(container, stdout=True, stderr=True, follow=False, tail=lines)
            return bytes(text)
        return b""

    def commit(self, container: str, tag: str, changes: Sequence[str]) -> str:
        """Keep a container's files as an image under `tag`, return the image's id."""
        repository, _, version = tag.rpartition(":")
        with mapped(f"commit {container}"):
            raw: Any = self._slow.commit(container, repository, version, changes="\n".join(changes))
        return str(raw["Id"])


class Volumes:
    """Of one engine. Not for several threads at once."""

    def __init__(self, quick: Api) -> None:
        self._api = quick

    def create(self, name: str, labels: Mapping[str, str]) -> None:
        """Create a volume; the very same one is no error.

        Raises:
            EngineRefusedError: One of that name exists with other labels: the engine returns an old
                one in silence, and it would hold another pod's socket.
        """
        with mapped(f"create volume {name}"):
            raw: Any = self._api.create_volume(name, labels=dict(labels))
        if (raw.get("Labels") or {}) != dict(labels):
            raise EngineRefusedError(f"A volume named {name} exists and is not this job's; remove it.")

    def find(
        self, labels: Mapping[str, str], *, unused: bool = False
    ) -> tuple[tuple[str, Mapping[str, str]], ...]:
        """Names and labels of all volumes that carry every one of these labels with these values.

        Args:
            labels: An empty value means any.
            unused: Only those that no container has, running or not.
        """
        filters = label_filters(labels) | ({"dangling": ["true"]} if unused else {})
        with mapped("list volumes"):
            raw: Any = self._api.volumes(filters=filters)
        return tuple((row["Name"], row.get("Labels") or {}) for row in raw.get("Volumes") or ())

    def created_utc(self, name: str) -> datetime | None:
        """When a volume was made; none where it does not exist, or its driver does not say."""
        with mapped(f"inspect volume {name}", ignore=ABSENT):
            raw: Any = self._api.inspect_volume(name)
            return parse_time(raw.get("CreatedAt") or "")
        return None

    def remove(self, name: str) -> None:
        """Remove a volume; absent is no error.

        Raises:
            EngineRefusedError: It is still there after a minute of trying.
        """
        remove_until_gone(
            f"remove volume {name}", lambda: self._is_gone(name), lambda: self._api.remove_volume(name)
        )

    def _is_gone(self, name: str) -> bool:
        with mapped(f"inspect volume {name}", ignore=ABSENT):
            self._api.inspect_volume(name)
            return False
        return True
