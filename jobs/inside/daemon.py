"""The Docker daemon of a job that asked for one: there before the work, gone before the capture.

Limits: what runs in it is not looked at. Whoever reaches its socket is root in this container, as with any
Docker daemon: what holds then is the container runtime around it.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import time
from typing import Iterator, Sequence

from .order import Order
from .output import Masker, Tail
from .places import Places, User
from .process import start
from .watch import Pump

# A process namespace of its own: one signal to its first process ends daemon, helpers and containers
# together, and the mounts that it made go with it. An init is first there: the daemon reaps no orphans.
APART = ("unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "docker-init", "--")
# The socket stays where every client looks: `group` lets the agent's user in.
PROGRAM = ("dockerd", "--log-level=warn")
START_S = 60.0
END_S = 10.0
LOG = "commands/docker-daemon.txt"
_LOG_BYTES = 64 * 1024
_LINE_CHARACTERS = 300
_KNOCK_S = 2.0
_LOOK_S = 0.05
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")


class DaemonError(Exception):
    """There is no daemon to work with; the text is one sentence."""


@contextlib.contextmanager
def open_daemon(
    order: Order, places: Places, pump: Pump, deadline: float, program: Sequence[str] = (*APART, *PROGRAM)
) -> Iterator[None]:
    """Have a daemon answer inside the block; nothing is started where the order asks for none.

    Args:
        order: Says whether, and by which proxy it reaches registries.
        places: Where its socket is.
        pump: Drains what it prints, from now on.
        deadline: The job's own, a moment of `time.monotonic()`.
        program: What is started; another one only in tests.

    Raises:
        DaemonError: It does not start, does not answer in time, or ended by itself inside the block.
        OSError: A folder cannot be written.
    """
    if not order.docker:
        yield
        return
    path = os.path.join(places.out, LOG)
    log = Tail(path, _LOG_BYTES, Masker(order.secrets))
    child = _start(order, places, pump, log, program)

    def require_alive(what: str) -> None:
        if child.poll() is not None:
            pump.settle([log])
            how = f"exit code {child.returncode}" if child.returncode >= 0 else f"signal {-child.returncode}"
            raise DaemonError(f"The job's Docker daemon {what} ({how}): {_last_line(path)}")

    try:
        until = min(time.monotonic() + START_S, deadline)
        while not _answers(places.docker_socket):
            require_alive("did not start")
            if time.monotonic() >= until:
                raise DaemonError("The job's Docker daemon did not answer in time.")
            pump.turn(_LOOK_S)
        yield
        require_alive("ended during the work")
    finally:
        _end(child)
        pump.settle([log])


def _start(
    order: Order, places: Places, pump: Pump, log: Tail, program: Sequence[str]
) -> subprocess.Popen[bytes]:
    # What the set-up's daemon left in the image, such as the number of a process that is now another.
    shutil.rmtree(places.docker_state, ignore_errors=True)
    for path in (places.docker_pid, places.docker_socket):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
    names = (*_PROXIES, *map(str.lower, _PROXIES))
    env = {"PATH": os.environ.get("PATH") or _PATH, "HOME": "/root"}
    env.update({name: order.env[name] for name in names if name in order.env})
    reader, writer = os.pipe()
    pump.add(reader, log)
    try:
        with open(os.devnull, "rb") as nothing:
            return start(
                [*program, f"--group={places.user.gid}"], None, cwd="/", env=env,
                stdin=nothing.fileno(), stdout=writer, stderr=writer,
            )  # fmt: skip
    except OSError as error:
        raise DaemonError(f"The job's Docker daemon cannot be started: {error}") from error
    finally:
        os.close(writer)


def _last_line(path: str) -> str:
    with open(path, "rb") as file:
        lines = file.read().decode("utf-8", "replace").split("\n")
    return next((line[:_LINE_CHARACTERS] for line in reversed(lines) if line.strip()), "it said nothing")


def _answers(path: str) -> bool:
    with contextlib.closing(socket.socket(socket.AF_UNIX)) as knocking:
        knocking.settimeout(_KNOCK_S)
        try:
            knocking.connect(path)
            knocking.sendall(b"GET /_ping HTTP/1.0\r\n\r\n")
            return knocking.recv(64).split()[1:2] == [b"200"]
        except OSError:
            return False


def _end(child: subprocess.Popen[bytes]) -> None:
    """SIGKILL: whatever the daemon holds goes with the container anyway.

    Raises:
        DaemonError: Something of it did not go.
    """
    # The first process of the namespace is gone only once all others in it are.
    for pid in _children(child.pid) or [child.pid]:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    try:
        child.wait(END_S)
    except subprocess.TimeoutExpired as error:
        child.kill()
        raise DaemonError("The job's Docker daemon could not be ended.") from error


def _children(pid: int) -> list[int]:
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            return [int(word) for word in file.read().split()]
    except OSError:
        return []


def give_back(folder: str, user: User) -> None:
    """Make everything below the user's again: a container that had it mounted wrote there as root.

    To be called once nothing of that user runs. What cannot be named or changed stays as it is.
    """
    waiting = [folder]
    while waiting:
        with contextlib.suppress(OSError), os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
                if entry.stat(follow_symlinks=False).st_uid != user.uid:
                    os.chown(entry.path, user.uid, user.gid, follow_symlinks=False)
