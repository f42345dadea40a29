"""One container in which many commits are written and captured, and what comes out of it batch by batch.

Talks to the engine; files go in and out by its archive API. Whatever happens, the container is removed.
"""

import dataclasses
import io
import itertools
import json
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import jobs
import loop.replay
from instrument.schema.job import Tree
from instrument.schema.vocabulary import Role
from jobs.engine import Engine
from jobs.errors import EngineRefusedError, JobsError
from jobs.inside.places import Places
from jobs.order import MIB, Identity, Limits
from jobs.pod import JOB_CAPABILITIES, JOB_FOLDER, ContainerSpec, object_labels, pod_name
from loop.replay.history import Step
from loop.replay.inside import lane_root

PROGRAM = f"{JOB_FOLDER}/program"
START = (
    f"import sys, runpy; sys.path.append({PROGRAM!r}); sys.dont_write_bytecode = True; "
    "runpy.run_module('loop.replay.inside', run_name='__main__')"
)
"""The folder goes last: a module of ours may not stand in for one of the library."""
BATCH_CAP_BYTES = 512 * MIB
"""Of one batch: some megabytes, and the largest diff that a job may hand back."""
POLL_S = 0.2
TELL_AFTER = 4
"""Batches after which the container hears that they were taken: a word to it costs the engine a process."""
LOG_LINES = 20
SPOOL_BYTES = 16 * MIB


@dataclasses.dataclass(frozen=True, slots=True)
class Captured:
    """What the container says of one step; without `tree` the `error` says why."""

    n: int
    tree: Tree | None
    error: str
    diff: bytes


@contextmanager
def open_box(
    engine: Engine, image: str, identity: Identity, lanes: Sequence[Sequence[Step]], feed: Path
) -> Iterator[str]:
    """A container that carries each lane's steps in order, all lanes at once; its id.

    Args:
        engine: The engine.
        image: A job image.
        identity: Whose the container is.
        lanes: Of steps that have a base.
        feed: A pack that holds every base and commit.

    Raises:
        JobsError: The engine failed.
    """
    limits = Limits()
    spec = ContainerSpec(
        name=pod_name(identity),
        image=image,
        labels=object_labels(identity, Role.CODER, "job"),
        entrypoint=("python3", "-I", "-c", START),
        network="none",
        memory_bytes=limits.memory_bytes,
        pids=limits.pids,
        capabilities=JOB_CAPABILITIES,
        file_bytes=limits.disk_bytes,
    )
    container = engine.containers.create(spec)
    try:
        with _inputs(lanes, feed, limits) as tar:
            engine.containers.put(container, JOB_FOLDER, tar)
        engine.containers.start(container)
        yield container
    finally:
        engine.containers.remove(container)


def read_lane(
    engine: Engine, container: str, lane: int, count: int, is_over: Callable[[], bool]
) -> Iterator[Captured]:
    """What a lane captured, `count` steps in order; the container works ahead meanwhile.

    Args:
        engine: For this thread alone.
        container: As `open_box` gave it.
        lane: Its number.
        count: Of its steps.
        is_over: Asked at each look; true ends it early.

    Raises:
        JobsError: The engine failed, or the container ended before its work did.
    """
    folder = Places(lane_root(lane)).job
    taken: dict[str, bytes] = {}
    for name in map("batch-{}.tar".format, itertools.count()):
        batch = _wait_for(engine, container, f"{folder}/out/{name}", is_over) if count else None
        if batch is None:
            return
        taken[f"taken/{name}"] = b""
        if len(taken) == TELL_AFTER:
            with suppress(JobsError), _tar(taken) as tar:
                engine.containers.put(container, folder, tar)
            taken.clear()
        for captured in _read_batch(batch):
            count -= 1
            yield captured


def _wait_for(engine: Engine, container: str, path: str, is_over: Callable[[], bool]) -> bytes | None:
    """A file of the container, once it is there; none: it is over."""
    has_ended = False
    while (found := _take(engine, container, path)) is None:
        if is_over():
            return None
        if has_ended:
            words = engine.containers.tail(container, LOG_LINES).decode(errors="replace").strip()
            raise EngineRefusedError(f"The container of the replay ended early: {words or 'no word'}")
        state = engine.containers.inspect(container)
        # One more look: it may have come just before the end.
        has_ended = state is None or not state.is_running
        time.sleep(POLL_S)
    return found


def _take(engine: Engine, container: str, path: str) -> bytes | None:
    archive = engine.containers.get(container, path, max_bytes=BATCH_CAP_BYTES)
    if archive is None:
        return None
    with archive, tarfile.open(fileobj=archive, mode="r|") as tar:
        entry = tar.next()
        file = tar.extractfile(entry) if entry is not None and entry.isreg() else None
        return file.read() if file is not None else None


def _read_batch(data: bytes) -> Iterator[Captured]:
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        files = {entry.name: tar.extractfile(entry) for entry in tar if entry.isreg()}
        for name, file in files.items():
            n, _, kind = name.partition(".")
            if kind != "json" or file is None:
                continue
            document: dict[str, Any] = json.loads(file.read())
            diff = files.get(f"{n}.diff")
            tree = document.get("tree")
            yield Captured(
                int(n),
                None if tree is None else Tree.model_validate_json(json.dumps(tree)),
                document.get("error", ""),
                b"" if diff is None else diff.read(),
            )


def _inputs(lanes: Sequence[Sequence[Step]], feed: Path, limits: Limits) -> IO[bytes]:
    document = {
        "pack": f"{JOB_FOLDER}/in/tree.pack",
        "patch_bytes": limits.patch_bytes,
        "patch_files": limits.patch_files,
        "lanes": [[{**dataclasses.asdict(step), "links": step.links} for step in lane] for lane in lanes],
    }
    files = {"replay.json": json.dumps(document).encode("ascii"), **_program()}
    return _tar(files, ("in", "out", "taken"), feed)


def _program() -> dict[str, bytes]:
    """What runs inside: a job's own supervisor, and the two modules of ours that write and hand over."""
    found = {}
    for package, patterns in ((jobs, ("__init__.py", "inside/*.py")), (loop, ("__init__.py",))):
        root = Path(package.__path__[0])
        for path in (path for pattern in patterns for path in root.glob(pattern)):
            found[f"program/{package.__name__}/{path.relative_to(root).as_posix()}"] = path.read_bytes()
    ours = Path(loop.replay.__path__[0])
    for name in ("__init__.py", "coder.py", "inside.py"):
        found[f"program/loop/replay/{name}"] = (ours / name).read_bytes()
    return found


def _tar(files: Mapping[str, bytes], folders: Sequence[str] = (), pack: Path | None = None) -> IO[bytes]:
    """An archive for `/job`, root's and readable by nobody else; the caller closes it."""
    target: IO[bytes] = tempfile.SpooledTemporaryFile(max_size=SPOOL_BYTES)  # noqa: SIM115 - the caller's
    with tarfile.open(fileobj=target, mode="w") as tar:
        for folder in folders:
            entry = tarfile.TarInfo(folder)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o700
            tar.addfile(entry)
        for name, data in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(data), 0o600
            tar.addfile(entry, io.BytesIO(data))
        if pack is not None:
            entry = tarfile.TarInfo("in/tree.pack")
            entry.size, entry.mode = pack.stat().st_size, 0o600
            with pack.open("rb") as stream:
                tar.addfile(entry, stream)
    target.seek(0)
    return target
