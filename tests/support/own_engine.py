"""A Docker Engine of a test's own, which may be stopped, killed, filled and given other runtimes.

Needs root on Linux. It lives in namespaces of its own for processes, mounts and the network, with a bridge of
its own and its data on a RAM disk: when their first process is killed, or the test's own process dies, all of
it is gone.
"""

import io
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

import docker
import pytest

from jobs.engine import Engine
from jobs.engine.client import address
from jobs.images import ImageShelf
from jobs.pod import OURS

FIRST = (
    "import signal; signal.signal(signal.SIGCHLD, signal.SIG_IGN); print('up', flush=True); signal.pause()"
)
"""Process 1 of the namespace: ignoring SIGCHLD, it reaps whatever is left to it."""
RUNSC = ("--network=none", "--host-uds=all")
"""What gVisor is told: no network of its own, and the way to the proxy's socket."""
STAND_IN = Path(__file__).parent / "sysbox_stand_in.py"
REMAPPED = "daemon"
"""A user of every Linux, whose share of user ids is the containers' under the stand-in."""
NEEDED = ("dockerd", "setpriv", "unshare", "nsenter", "mount")
START_S = 60
UNNEEDED = (
    *("usr/share/doc/", "usr/share/locale/", "usr/share/man/", "var/lib/apt/", "var/cache/"),
    "usr/local/bin/",  # the agent programs
)
COPY_S = 120


class OwnEngine:
    """One engine, started and stopped as often as a test likes; its containers' files outlive that.

    With `has_sysbox` it knows a stand-in for sysbox-runc, and every container has a user namespace.
    """

    def __init__(self, folder: Path, size: str, *, has_sysbox: bool = False) -> None:
        self._folder = folder
        self.address = f"unix://{folder}/engine.sock"
        self._size = size
        self._daemon: subprocess.Popen[bytes] | None = None
        self._run_files = "exec"
        self._data = folder / "data"
        self._data.mkdir()
        mount = f"mount -t tmpfs -o size={size},mode=0711 tmpfs {self._data}"
        if has_sysbox:
            mount += f" && {_share_ids(folder / 'etc')}"
        away = [
            "setpriv",
            "--pdeathsig",
            "KILL",
            "unshare",
            "--net",
            "--mount",
            "--pid",
            "--fork",
            "--kill-child",
            "--mount-proc",
        ]
        self._outer = subprocess.Popen(
            [*away, "sh", "-c", f'{mount} && exec "$@"', "sh", sys.executable, "-c", FIRST],
            stdout=subprocess.PIPE,
        )
        assert self._outer.stdout is not None
        assert self._outer.stdout.readline() == b"up\n"
        children = Path(f"/proc/{self._outer.pid}/task/{self._outer.pid}/children").read_text().split()
        self._first = int(children[0])
        runsc = find_runsc()
        runtimes: dict[str, Any] = {"runsc": {"path": runsc, "runtimeArgs": list(RUNSC)}} if runsc else {}
        config: dict[str, Any] = {"runtimes": runtimes}
        if has_sysbox:
            runtimes["sysbox-runc"] = {"path": _write_stand_in(folder)}
            # As sysbox wants it, whatever the machine's init would have chosen.
            config |= {"userns-remap": REMAPPED, "exec-opts": ["native.cgroupdriver=cgroupfs"]}
        (folder / "daemon.json").write_text(json.dumps(config))

    def inside(self, *argv: str) -> subprocess.Popen[bytes]:
        """Start a program in the engine's namespaces."""
        enter = ["nsenter", "--target", str(self._first), "--net", "--mount", "--pid"]
        with (self._folder / "log").open("ab") as log:
            return subprocess.Popen([*enter, *argv], stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def start(self) -> None:
        """Start the daemon and wait until it answers."""
        flags = {"config-file": "daemon.json", "exec-root": self._run_files, "pidfile": "pid"}
        options = [f"--{name}={self._folder / value}" for name, value in flags.items()]
        self._daemon = self.inside(
            "dockerd", *options, f"--data-root={self._data}/docker", f"--host={self.address}"
        )
        deadline = time.monotonic() + START_S
        while not self._answers():
            assert self._daemon.poll() is None, self.log
            assert time.monotonic() < deadline, self.log
            time.sleep(0.1)

    def _answers(self) -> bool:
        with socket.socket(socket.AF_UNIX) as knocking:
            if knocking.connect_ex(self.address.removeprefix("unix://")):
                return False
        docker.APIClient(base_url=self.address, version="auto", timeout=START_S).close()
        return True

    @property
    def log(self) -> str:
        """The daemon's last words."""
        return (self._folder / "log").read_text(errors="replace")[-2000:]

    def stop(self, sig: int = signal.SIGTERM) -> None:
        """End the daemon, by SIGTERM as a service manager does, or by SIGKILL; may be called twice."""
        if self._daemon is not None and self._daemon.poll() is None:
            # nsenter forked: the daemon itself is named by its file, in its own namespace's numbers.
            number = (self._folder / "pid").read_text().strip()
            self.inside("kill", f"-{sig}", number).wait()
            self._daemon.wait(timeout=START_S)
            (self._folder / "pid").unlink(missing_ok=True)
        self._daemon = None

    def lose_power(self) -> None:
        """End the daemon, its helpers and every container at one time, as a machine does that goes off."""
        self.inside("kill", "-KILL", "-1").wait()
        if self._daemon is not None:
            self._daemon.wait(timeout=START_S)
        self._daemon = None
        # What a machine has in memory alone.
        (self._folder / "pid").unlink(missing_ok=True)
        self._run_files += "+"

    def run(self, *argv: str) -> None:
        """Run a program in the engine's namespaces to its end."""
        assert self.inside(*argv).wait() == 0, self.log

    def leave_free(self, kib: int) -> None:
        """Make its disk so small that no more than this is left."""
        usage = os.statvfs(f"/proc/{self._first}/root{self._data}")
        used = (usage.f_blocks - usage.f_bfree) * usage.f_frsize // 1024
        self.run("mount", "-o", f"remount,size={used + kib}k", str(self._data))

    def make_room(self) -> None:
        """Give its disk back what it began with."""
        self.run("mount", "-o", f"remount,size={self._size}", str(self._data))

    def end(self) -> None:
        """End everything that runs in its namespaces."""
        self.stop(signal.SIGKILL)
        self._outer.kill()
        self._outer.communicate()


def _share_ids(folder: Path) -> str:
    """Shell commands that give the engine user ids to share out, without a change of the machine's /etc."""
    layers = f"lowerdir=/etc,upperdir={folder}/upper,workdir={folder}/work"
    return (
        f"mkdir {folder} && mount -t tmpfs tmpfs {folder} && mkdir {folder}/upper {folder}/work"
        f" && mount -t overlay -o {layers} overlay /etc"
        f" && echo {REMAPPED}:100000:65536 | tee /etc/subuid >/etc/subgid"
    )


def _write_stand_in(folder: Path) -> str:
    folder.chmod(0o711)  # the containers' root is nobody here, and its files are below
    path = folder / "sysbox-runc"
    path.write_text(f'#!/bin/sh\nexec {sys.executable} -I {STAND_IN} "$@"\n')
    path.chmod(0o755)
    return str(path)


def leave_out(reason: str) -> NoReturn:
    """Skip the test; in CI nothing is left out."""
    if os.environ.get("CI"):
        pytest.fail(f"CI is set: {reason}", pytrace=False)
    pytest.skip(reason)


def find_runsc() -> str | None:
    """Where gVisor's runtime is; in CI it is installed where Debian's packages can be had."""
    is_installable = os.environ.get("CI") and os.geteuid() == 0 and shutil.which("apt-get")
    if shutil.which("runsc") is None and is_installable:
        for arguments in (["update"], ["install", "-y", "--no-install-recommends", "runsc"]):
            subprocess.run(["apt-get", "-qq", *arguments], check=False, capture_output=True)
    return shutil.which("runsc")


@contextmanager
def open_own_engine(size: str = "3g", *, has_sysbox: bool = False) -> Iterator[OwnEngine]:
    """A running engine without any image; all of it is gone afterwards."""
    missing = [name for name in NEEDED if shutil.which(name) is None]
    if os.geteuid() != 0 or missing:
        leave_out(f"an engine of a test's own needs {', '.join(missing) or 'root'}")
    with tempfile.TemporaryDirectory(prefix="own-", dir="/tmp") as folder:
        engine = OwnEngine(Path(folder), size, has_sysbox=has_sysbox)
        try:
            engine.start()
            yield engine
        finally:
            engine.end()


def copy_images(engine: Engine, target: OwnEngine, *, has_docker: bool = False) -> str:
    """Bring what a pod needs from the engine that every other test uses.

    Returns:
        Id of the job image, which is without the agent programs: runtime `command` alone works on it.
    """
    shelf = ImageShelf(engine)
    here = docker.APIClient(**address(), version="auto", timeout=COPY_S)
    there = docker.APIClient(base_url=target.address, version="auto", timeout=COPY_S)
    try:
        _copy_whole(here, there, shelf.sidecar())
        job = _copy_small(here, there, shelf.job(has_docker=has_docker))
    finally:
        here.close()
        there.close()
    return job


def _copy_whole(here: docker.APIClient, there: docker.APIClient, image: str) -> None:
    """Copy an image and those that it was built from, with ids and tags: the tags of ours are made of ids."""
    names = [tag for row in here.history(image) for tag in row["Tags"] or ()]
    url = f"{here.base_url}/v{here.api_version}/images/get"
    with here.get(url, params={"names": names}, stream=True) as saved:
        for _ in there.load_image(saved.raw):
            pass


def _copy_small(here: docker.APIClient, there: docker.APIClient, image: str) -> str:
    """Copy an image's files as one layer under its tag, less what no test needs; return its id."""
    tag = here.inspect_image(image)["RepoTags"][0]
    container = here.create_container(image, ["true"], labels={OURS: "1"}, entrypoint=[])["Id"]
    try:
        with tempfile.TemporaryFile() as small:
            stream = io.BufferedReader(_Chunks(here.export(container)), 1 << 20)
            with (
                tarfile.open(fileobj=stream, mode="r|") as whole,
                tarfile.open(fileobj=small, mode="w|") as tar,
            ):
                for entry in whole:
                    if not entry.name.startswith(UNNEEDED):
                        tar.addfile(entry, whole.extractfile(entry) if entry.isreg() else None)
            small.seek(0)
            repository, _, version = tag.rpartition(":")
            there.import_image_from_data(small, repository, version)
    finally:
        here.remove_container(container, force=True)
    return str(there.inspect_image(tag)["Id"])


class _Chunks(io.RawIOBase):
    """Pieces of bytes as a file."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._rest = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray) -> int:
        self._rest = self._rest or next(self._pieces, b"")
        taken, self._rest = self._rest[: len(buffer)], self._rest[len(buffer) :]
        buffer[: len(taken)] = taken
        return len(taken)
