"""What a pod consists of: names, labels and the fence of its containers.

Pure: no I/O.
"""

import hashlib
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from instrument.schema.vocabulary import Role
from jobs.errors import EngineRefusedError
from jobs.order import MIB, Identity, JobOrder

OURS = "factory-loop"
SOCKET_FOLDER = "/run/factory"
SOCKET = f"{SOCKET_FOLDER}/proxy.sock"
MARKER = f"{SOCKET_FOLDER}/called"
LEDGER_FOLDER = "/ledger"
JOB_FOLDER = "/job"
OBJECTS_FOLDER = "/objects"
"""Git objects that the engine keeps for many jobs; none of them can write there."""

DOCKER_FOLDER = "/var/lib/docker"
"""Where a job's own daemon keeps images: a volume, since its overlays cannot lie on the container's own."""

JOB_CAPABILITIES = ("SETUID", "SETGID", "KILL", "DAC_READ_SEARCH")
DOCKER_CAPABILITIES = (
    *("SYS_ADMIN", "NET_ADMIN"),  # what it is itself: mounts and namespaces, a bridge and its rules
    *("CHOWN", "DAC_OVERRIDE", "FOWNER", "SYS_CHROOT"),  # unpacking an image, whoever owns its files
    # Beside those, what each of its containers has: a process hands on only what it holds itself.
    *("FSETID", "MKNOD", "NET_RAW", "NET_BIND_SERVICE", "SETPCAP", "SETFCAP", "AUDIT_WRITE"),
)
"""Added where a job has a daemon: they count in the user namespace alone that its runtime gave the container.

Each was left out once: then the daemon, or a container of it, did not start. That no process gains rights
stays: a setuid program in one of its containers gives none.
"""
SIDECAR_MEMORY_BYTES = 512 * MIB
SIDECAR_PIDS = 64
OPEN_FILES = 16384
"""Below the 20000 and more that hosts give an engine: one without CAP_SYS_RESOURCE cannot raise it."""

NAME_LIMIT = 200
"""Volume names become a folder's name, at most 255 bytes with the suffix."""


@dataclass(frozen=True, slots=True)
class Mount:
    """A volume of ours in a container."""

    volume: str
    target: str
    read_only: bool = False


@dataclass(frozen=True, slots=True)
class ContainerSpec:
    """Everything that the engine is asked for; nothing here is a secret."""

    name: str
    image: str
    labels: Mapping[str, str]
    entrypoint: tuple[str, ...]
    network: str | None
    """`none`, or none for the engine's default network."""
    memory_bytes: int
    pids: int
    cpus: float | None = None
    capabilities: tuple[str, ...] = ()
    """Added after all are dropped."""
    mounts: tuple[Mount, ...] = ()
    tmpfs: Mapping[str, str] = field(default_factory=dict)
    read_only: bool = False
    stdin: bool = False
    """Standard input is open for one attachment; else it is /dev/null."""
    file_bytes: int | None = None
    """The largest file that a process may write (ulimit fsize)."""
    runtime: str | None = None
    """Container runtime by the name that the engine knows it by; none: its default."""


def pod_name(identity: Identity) -> str:
    """`factory-<run>-<key>`, shortened with a hash where it would be too long or hold other letters."""
    name = f"factory-{identity.run_id}-{identity.key}"
    clean = re.sub(r"[^a-zA-Z0-9_.-]", "-", name)
    if clean == name and len(name) <= NAME_LIMIT:
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[:12]
    return f"{clean[: NAME_LIMIT - 13]}-{digest}"


def sidecar_name(identity: Identity) -> str:
    """Of the proxy's container."""
    return f"{pod_name(identity)}-proxy"


def socket_volume(identity: Identity) -> str:
    """Of the volume that only this pod's two containers share."""
    return f"{pod_name(identity)}-sock"


def ledger_volume(identity: Identity) -> str:
    """Of the sidecar's only place to write.

    Its root is read-only, so the ledger needs a mount; a tmpfs would be gone with the process,
    and a volume is still read through the dead container.
    """
    return f"{pod_name(identity)}-ledger"


def work_volume(identity: Identity) -> str:
    """Of a set-up job's `/job`.

    A commit leaves volumes out, so the order with its secrets is never in the image.
    """
    return f"{pod_name(identity)}-job"


def objects_volume(commit: str) -> str:
    """Of the volume with the history of a commit, which many jobs share."""
    return f"factory-objects-{commit}"


def docker_volume(identity: Identity) -> str:
    """Of what a job's own Docker daemon keeps.

    It goes with the pod, of a set-up too: what shall stay is saved into a file and loaded in each job.
    """
    return f"{pod_name(identity)}-docker"


def select_labels(run_id: str, key: str | None = None) -> dict[str, str]:
    """The labels by which an object is found as ours: exact, never by name."""
    labels = {OURS: "1", "factory.run": run_id}
    return labels if key is None else labels | {"factory.key": key}


def object_labels(identity: Identity, role: Role, part: str) -> dict[str, str]:
    """The labels of a container or volume; `part` says which one of the pod's, such as `job` or `socket`."""
    of_slots = {"factory.home": identity.home, "factory.host": identity.host}
    return (
        select_labels(identity.run_id, identity.key)
        | {
            "factory.task": identity.task_id,
            "factory.purpose": identity.purpose.value,
            "factory.part": part,
            "factory.role": role.value,
        }
        | {name: value for name, value in of_slots.items() if value}
    )


def pod_volumes(order: JobOrder) -> dict[str, str]:
    """Volumes that the pod needs: name to part; may be empty."""
    identity = order.identity
    volumes = {}
    if order.proxy is not None:
        volumes[socket_volume(identity)] = "socket"
        volumes[ledger_volume(identity)] = "ledger"
    if order.role is Role.SETUP:
        volumes[work_volume(identity)] = "work"
    if order.limits.has_docker:
        volumes[docker_volume(identity)] = "docker"
    return volumes


def job_spec(order: JobOrder) -> ContainerSpec:
    """The container of the job; without network unless it is a set-up without an allowlist.

    The set-up keeps the engine's default runtime: it needs the network that others may not give. Where
    jobs have a daemon it has one, too: nowhere else can images be pulled; what runs daemons gives a network.
    """
    limits = order.limits
    is_plain = order.role is Role.SETUP and not limits.has_docker
    mounts = []
    if order.proxy is not None:
        mounts.append(Mount(socket_volume(order.identity), SOCKET_FOLDER, read_only=True))
    if order.kept is not None:
        mounts.append(Mount(objects_volume(order.kept), OBJECTS_FOLDER, read_only=True))
    if order.role is Role.SETUP:
        mounts.append(Mount(work_volume(order.identity), JOB_FOLDER))
    if limits.has_docker:
        mounts.append(Mount(docker_volume(order.identity), DOCKER_FOLDER))
    return ContainerSpec(
        name=pod_name(order.identity),
        image=order.image,
        labels=object_labels(order.identity, order.role, "job"),
        entrypoint=("python3", "-I", f"{JOB_FOLDER}/inside"),
        network=None if order.role is Role.SETUP and order.proxy is None else "none",
        memory_bytes=limits.memory_bytes,
        pids=limits.pids,
        cpus=limits.cpus,
        capabilities=JOB_CAPABILITIES + (DOCKER_CAPABILITIES if limits.has_docker else ()),
        mounts=tuple(mounts),
        file_bytes=limits.disk_bytes,
        runtime=None if is_plain else limits.container_runtime,
    )


def require_runtime(name: str | None, known: Collection[str]) -> None:
    """Refuse a container runtime that the engine does not know; none is its default.

    Raises:
        EngineRefusedError: It does not know it; the text names those that it does.
    """
    if name is not None and name not in known:
        raise EngineRefusedError(
            f"The Docker Engine has no container runtime {name} ([job] container_runtime); "
            f"it knows {', '.join(sorted(known)) or 'none by name'}: name one of these, or register it there."
        )


def sidecar_spec(order: JobOrder, image: str) -> ContainerSpec:
    """The proxy's container: root without capabilities, read-only but for its two volumes."""
    return ContainerSpec(
        name=sidecar_name(order.identity),
        image=image,
        labels=object_labels(order.identity, order.role, "proxy"),
        entrypoint=("python3", "-I", "-m", "proxy.sidecar"),
        network=None,
        memory_bytes=SIDECAR_MEMORY_BYTES,
        pids=SIDECAR_PIDS,
        mounts=(
            Mount(socket_volume(order.identity), SOCKET_FOLDER),
            Mount(ledger_volume(order.identity), LEDGER_FOLDER),
        ),
        tmpfs={"/tmp": "rw,noexec,nosuid,nodev,size=64m"},  # noqa: S108 - a path in the container
        read_only=True,
        stdin=True,
    )
