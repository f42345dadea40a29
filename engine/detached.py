"""A program that lives on without us, one of its name a folder: started, found again, ended.

Its lock is held by the program itself through a descriptor that it inherits, so it is free at the moment
of its death; the lock file holds its process id, which is therefore never another process's.
Limits: ends no process but the one that holds the lock.
"""

import fcntl
import os
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path

from engine.errors import EngineError
from loop.atomic import PRIVATE_FILE
from loop.leases import hold_briefly

ALONE_S = 60
STOP_S = 30
POLL_S = 0.05
DETACH = 'umask 077; lock=$1; shift; "$@" & echo $! > "$lock"'
"""The shell leaves at once, so that the program is nobody's child and no zombie stays."""


class Detached:
    """Files `NAME.lock` and `NAME.log` in a folder."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        self._name = name
        self._lock_file = folder / f"{name}.lock"

    @property
    def log(self) -> Path:
        """What it says; that of the one before it has `.old` behind its name."""
        return self._folder / f"{self._name}.log"

    @property
    def pid(self) -> int:
        """Of the one that runs, or of the last one."""
        return int(self._lock_file.read_text())

    def alone(self) -> AbstractContextManager[None]:
        """Let nobody else start or end it meanwhile.

        Raises:
            BusyError: Another process does, and does not come to an end.
        """
        what = f"another process has been starting or ending the {self._name}"
        return hold_briefly(self._folder / f"{self._name}-up.lock", ALONE_S, what)

    def is_running(self) -> bool:
        """Whether it lives."""
        try:
            with self._hold(fcntl.LOCK_SH | fcntl.LOCK_NB):
                return False
        except BlockingIOError:
            return True
        except FileNotFoundError:
            return False

    def start(self, words: Sequence[str], environment: Mapping[str, str]) -> None:
        """Start it; the caller is alone."""
        if self.log.exists():
            self.log.replace(self.log.with_name(f"{self.log.name}.old"))
        # Nobody else wants the lock for longer than a look.
        with ExitStack() as stack:
            descriptor = stack.enter_context(self._hold(fcntl.LOCK_EX, os.O_CREAT))
            log = os.open(self.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, PRIVATE_FILE)
            stack.callback(os.close, log)
            subprocess.run(
                ["/bin/sh", "-c", DETACH, "sh", self._lock_file.name, *words],
                check=True,
                cwd=self._folder,
                env=dict(environment),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=(descriptor,),
                # Ctrl-C in the terminal that started it is not meant for it.
                start_new_session=True,
            )

    def stop(self) -> bool:
        """End it and wait for its end; whether one was running. The caller is alone.

        Raises:
            EngineError: It did not end in time; it is left as it is.
        """
        if not self.is_running():
            return False
        pid = self.pid
        with suppress(ProcessLookupError):  # it ended by itself just now
            os.kill(pid, signal.SIGTERM)
        deadline = time.monotonic() + STOP_S
        while self.is_running():
            if time.monotonic() > deadline:
                raise EngineError(f"The engine's {self._name}, process {pid}, does not end: see {self.log}.")
            time.sleep(POLL_S)
        return True

    @contextmanager
    def _hold(self, how: int, flags: int = 0) -> Iterator[int]:
        """Hold the lock; the descriptor may be given to a child, which then holds it too."""
        descriptor = os.open(self._lock_file, os.O_RDWR | os.O_CLOEXEC | flags, PRIVATE_FILE)
        try:
            fcntl.flock(descriptor, how)
            yield descriptor
        finally:
            os.close(descriptor)
