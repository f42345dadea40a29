"""The worker that `engine up` starts beside the server, one a version of our code.

Limits: one a home and version; further ones are started by hand with `engine worker`.
"""

import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from engine.detached import POLL_S, Detached
from engine.errors import EngineError
from engine.server import FOLDER
from engine.worker import READY
from loop.home import make_private

START_S = 60


def start_worker(home: Path, options: Sequence[str], build: str) -> Detached:
    """Have the worker of a version run: it does already, or is started.

    Args:
        home: The home that all workers share.
        options: Of `engine` itself, such as `--address`.
        build: The version; that of this process.

    Raises:
        EngineError: It ended before it was ready; its log says why.
    """
    program = _detached(home, f"worker-{build}")
    with program.alone():
        if not program.is_running():
            words = (sys.executable, "-P", "-m", "engine", *options, "worker")
            program.start(words, {**os.environ, "FACTORY_HOME": str(home)})
            _wait_until_ready(program)
        return program


def stop_workers(home: Path, but: str = "") -> int:
    """End those of every version but one; how many were running."""
    locks = sorted((home / FOLDER).glob("worker-*.lock"))
    names = {lock.stem.removesuffix("-up") for lock in locks} - {f"worker-{but}"}
    return sum(_stop(_detached(home, name)) for name in sorted(names))


def _stop(program: Detached) -> bool:
    with program.alone():
        return program.stop()


def _detached(home: Path, name: str) -> Detached:
    return Detached(make_private(home / FOLDER), name)


def _wait_until_ready(program: Detached) -> None:
    deadline = time.monotonic() + START_S
    while READY not in program.log.read_text(errors="replace"):
        if not program.is_running() or time.monotonic() > deadline:
            raise EngineError(f"The engine's worker does not come up; {program.log} says why.")
        time.sleep(POLL_S)
