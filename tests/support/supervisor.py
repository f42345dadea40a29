"""Runs the supervisor in a real container, as the host side starts it, without the host side.

Limits: removes every container and image it made, by its own label.
"""

import io
import json
import secrets
import tarfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import docker
from docker.models.containers import Container

from instrument.schema.job import JobReport
from jobs.engine import Engine
from jobs.images import ImageShelf
from support.gitkit import Repo

INSIDE = Path(__file__).parents[2] / "jobs" / "inside"
SECRET = "correct-horse-battery"


@dataclass(frozen=True)
class Done:
    """What one supervisor handed back; `out` maps paths below `/job/out` to their bytes."""

    report: JobReport
    out: Mapping[str, bytes]
    exit_code: int
    took_s: float
    container: Container

    @property
    def diff(self) -> bytes:
        return self.out["diff.patch"]

    def read(self, path: str) -> dict[str, bytes]:
        """Files of the ended container below a path."""
        return _read_archive(self.container, path)


@dataclass(frozen=True)
class Box:
    """Starts supervisors; all of their containers carry `label`."""

    client: docker.DockerClient
    image: str
    label: str

    def run(
        self, repo: Repo, packed: str, *, image: str | None = None, prompt: bytes = b"", **order: Any
    ) -> Done:
        """Run one job to its end; `order` holds what differs from a coder without an agent."""
        container = self.create(repo, packed, image=image, prompt=prompt, **order)
        began = time.monotonic()
        container.start()
        code = container.wait(timeout=120)["StatusCode"]
        took = time.monotonic() - began
        out = {name.removeprefix("out/"): data for name, data in _read_archive(container, "/job/out").items()}
        assert "job.json" in out, container.logs().decode()
        return Done(JobReport.model_validate_json(out["job.json"]), out, code, took, container)

    def create(
        self, repo: Repo, packed: str, *, image: str | None = None, prompt: bytes = b"", **order: Any
    ) -> Container:
        """The container with its order put in, not started."""
        container = self.client.containers.create(
            image or self.image,
            entrypoint=["python3", "-I", "/job/inside"],
            labels={"factory-loop": "1", "factory.run": self.label},
            init=True,
            network_mode="none",
            cap_drop=["ALL"],
            cap_add=["SETUID", "SETGID", "KILL", "DAC_READ_SEARCH"],
            security_opt=["no-new-privileges"],
            mem_limit=order.pop("mem_limit", "1g"),
            pids_limit=512,
        )
        pack = make_pack(repo, packed)
        assert container.put_archive("/job", _job_tar(make_order(packed, **order), pack, prompt))
        return container

    def keep_as_image(self, done: Done) -> str:
        """What an ended container holds as an image, the id of it; gone with the box."""
        labels = f"LABEL factory-loop=1 factory.run={self.label}"
        return str(done.container.commit(changes=[labels]).id)

    def remove_all(self) -> None:
        """Remove every container and image that this box made."""
        ours = {"label": f"factory.run={self.label}"}
        for container in self.client.containers.list(all=True, filters=ours):
            container.remove(force=True, v=True)
        for image in self.client.images.list(all=True, filters=ours):
            self.client.images.remove(image.id, force=True)


@contextmanager
def open_box(engine: Engine, runs: set[str]) -> Iterator[Box]:
    """A box on the image that real jobs start from; its containers are gone afterwards."""
    client = docker.from_env()
    box = Box(client, ImageShelf(engine).job(), secrets.token_hex(8))
    runs.add(box.label)
    try:
        yield box
    finally:
        box.remove_all()
        client.close()


def make_order(packed: str, *, role: str = "coder", run: str | None = None, **more: Any) -> dict[str, Any]:
    """An order as the host writes it; `run` is a shell line as the agent."""
    agent = {"argv": ["bash", "-c", run], "env": {}, "stdin": "null", "review_path": None}
    document = {
        "schema_version": 1,
        "key": f"repo-007-{role}-1-0a1b2c3d",
        "role": role,
        "commit": packed,
        "pack": "/job/in/tree.pack",
        "deadline_s": 60.0,
        "first_call_s": 30.0,
        "disk_bytes": 1 << 30,
        "patch_bytes": 32 << 20,
        "patch_files": 5000,
        "same_command": 10,
        "gate_commands": [],
        "env": {},
        "secrets": [SECRET],
        "always": [],
        "commands": [],
        "agent": agent if run is not None else None,
        "socket": None,
        "first_call_marker": None,
    }
    document.update(more)
    return document


def command(name: str, run: str, timeout_s: float = 20, **env: str) -> dict[str, Any]:
    """One command of an order."""
    return {"name": name, "run": run, "timeout_s": timeout_s, "env": env}


def make_pack(repo: Repo, commit: str) -> bytes:
    """The commit with its history."""
    return repo.git("pack-objects", "--revs", "--stdout", "-q", stdin=commit.encode() + b"\n")


def prove(repo: Repo, done: Done, scratch: Path) -> str:
    """Apply the diff on its base in an index of our own; the tree it gives."""
    env = {"GIT_INDEX_FILE": str(scratch / "index")}
    assert done.report.tree is not None
    repo.git("read-tree", done.report.tree.base_commit, env=env)
    if done.diff:
        repo.git("apply", "--cached", "--whitespace=nowarn", stdin=done.diff, env=env)
    return repo.git("write-tree", env=env).decode().strip()


def _job_tar(document: dict[str, Any], pack: bytes, prompt: bytes) -> bytes:
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w") as tar:
        for folder in ("in", "inside", "out"):
            entry = tarfile.TarInfo(folder)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o700
            tar.addfile(entry)
        _add(tar, "order.json", json.dumps(document).encode(), 0o600)
        _add(tar, "in/tree.pack", pack, 0o600)
        _add(tar, "in/prompt.md", prompt, 0o600)
        for path in sorted(INSIDE.glob("*.py")):
            _add(tar, f"inside/{path.name}", path.read_bytes(), 0o600)
    return target.getvalue()


def _add(tar: tarfile.TarFile, name: str, data: bytes, mode: int) -> None:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(data), mode
    tar.addfile(entry, io.BytesIO(data))


def _read_archive(container: Container, path: str) -> dict[str, bytes]:
    stream, _ = container.get_archive(path)
    found = {}
    with tarfile.open(fileobj=io.BytesIO(b"".join(stream))) as tar:
        for entry in tar:
            file = tar.extractfile(entry) if entry.isreg() else None
            if file is not None:
                found[entry.name] = file.read()
    return found
