"""Many tasks with instant jobs in one repository, two real loops at a time: how fast, and if it stays so.

Limits: needs a Docker Engine and the project's images; writes below a temporary folder. The engine keeps
nothing of it, which is a part of what is measured.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from instrument.schema.state import TaskState
from jobs.engine import Engine
from jobs.images import ImageShelf
from jobs.pod import select_labels
from jobs.runner import DockerJobs
from loop.git.seed import seed_repository

AT_ONCE = 2
LIMIT_S = 700.0
"""No task begins after that."""
RUN = "from loop.cli import main; main(['run', *__import__('sys').argv[1:]])"
TASK = """\
---
status: ready
files: [notes/{n:03}.txt]
---
# Write note {n}

A file with one line.
"""
CONFIG = """\
[repo]
name = "many"
branch = "main"
remote = "origin"

[checks]
fast = ["notes"]
gate = ["notes"]

[checks.notes]
run = "! grep -L . notes/*.txt | grep ."

[agent]
runtime = "command"

[reviewer]
runtime = "command"

[agent.command]
coder = '''
path=$(grep -o 'notes/[0-9]*\\.txt' "$FACTORY_PROMPT" | head -n 1)
echo a line > "$path"
'''
reviewer = '''
token=$(grep -o 'verdict [0-9a-f]\\{16\\}' "$FACTORY_PROMPT" | tail -n 1)
path=$(grep -o 'notes/[0-9]*\\.txt' "$FACTORY_PROMPT" | head -n 1)
mkdir -p "$(dirname "$FACTORY_REVIEW_FILE")"
printf '```%s\\n{"verdict": "approve", "covered": ["%s"], "findings": []}\\n```\\n' \\
  "$token" "$path" > "$FACTORY_REVIEW_FILE"
'''

[merge]
push = true
"""


class ScaleError(Exception):
    """A task was not merged, or something was left of it."""


@dataclass(frozen=True, slots=True)
class Ended:
    """One task's way to its merge."""

    begun_s: float
    ended_s: float
    """Both since the bench began."""
    peak_kib: int
    """The most resident memory of the loop's process, or of a program that it started."""
    gates: int
    """More than one: another task landed in between."""


@dataclass(frozen=True, slots=True)
class Stand:
    """The repository with its tasks, and the home of all loops."""

    folder: Path

    @property
    def checkout(self) -> Path:
        """The person's."""
        return self.folder / "many"

    @property
    def home(self) -> Path:
        """`$FACTORY_HOME`."""
        return self.folder / "home"

    def state(self, n: int) -> TaskState | None:
        """A task's; none where it never began."""
        path = self.home / "tasks" / f"many-{n:03}" / "state.json"
        return TaskState.model_validate_json(path.read_bytes()) if path.exists() else None


def measure(tasks: int) -> dict[str, Any]:
    """Carry so many tasks to their merge, or as many as there is time for; oldest end first.

    Raises:
        ScaleError: One was not merged, or the engine still has something of one.
        JobsError: The engine or an image is not there.
    """
    with _stand(tasks) as stand:
        began_s = time.monotonic()
        ended: list[Ended] = []

        def carry(n: int) -> None:
            if time.monotonic() - began_s > LIMIT_S:
                return
            ended.append(_carry(stand, n, began_s))
            sys.stderr.write(f"task {n}: {len(ended)} of {tasks} merged, {ended[-1].ended_s:.0f} s\n")

        with ThreadPoolExecutor(AT_ONCE) as pool:
            list(pool.map(carry, range(1, tasks + 1)))
        left = _left(stand, tasks)
        if left:
            raise ScaleError(f"{len(left)} containers and volumes were left, such as {left[0]}")
    return {"at_once": AT_ONCE, "rounds": [asdict(one) for one in sorted(ended, key=lambda e: e.ended_s)]}


@contextmanager
def _stand(tasks: int) -> Iterator[Stand]:
    engine = Engine.connect()
    # What a first job would build is no part of this.
    ImageShelf(engine).job()
    engine.close()
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        stand, source = Stand(Path(folder)), Path(folder) / "source"
        (source / "tasks").mkdir(parents=True)
        (source / "notes").mkdir()
        (source / "notes/000.txt").write_text("a line\n")
        (source / "factory.toml").write_text(CONFIG)
        for n in range(1, tasks + 1):
            (source / f"tasks/{n:03}-note.md").write_text(TASK.format(n=n))
        seed_repository(source, stand.checkout, Path(folder) / "origin.git")
        try:
            yield stand
        finally:
            _clear(stand, tasks)


def _carry(stand: Stand, n: int, began_s: float) -> Ended:
    """`factory run` of one task, a process of its own.

    Raises:
        ScaleError: It ended otherwise than with a merge.
    """
    begun_s, log = time.monotonic(), stand.folder / f"log-{n:03}"
    words = [f"tasks/{n:03}-note.md", "--auto-merge", "--wait", "--json", "--purpose", "demo"]
    with log.open("wb") as file:
        process = subprocess.Popen(
            [sys.executable, "-c", RUN, *words],
            cwd=stand.checkout,
            env={**os.environ, "FACTORY_HOME": str(stand.home)},
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
        )
        _, status, used = os.wait4(process.pid, 0)
    # It is waited for already: nobody shall wait for that number again.
    process.returncode = os.waitstatus_to_exitcode(status)
    state = stand.state(n)
    if process.returncode != 0 or state is None:
        raise ScaleError(f"task {n} ended with {process.returncode}: {log.read_text()[-1000:]}")
    end_s = time.monotonic()
    gates = state.counters.effects["job.gate"]
    return Ended(round(begun_s - began_s, 3), round(end_s - began_s, 3), used.ru_maxrss, gates)


def _left(stand: Stand, tasks: int) -> list[str]:
    """Names of the containers and volumes of these tasks that the engine has."""
    engine = Engine.connect()
    names = []
    for n in range(1, tasks + 1):
        if state := stand.state(n):
            labels = select_labels(state.run_id)
            names += [each.name for each in engine.containers.find(labels)]
            names += [name for name, _ in engine.volumes.find(labels)]
    engine.close()
    return names


def _clear(stand: Stand, tasks: int) -> None:

    jobs = DockerJobs()
    for n in range(1, tasks + 1):
        if state := stand.state(n):
            jobs.reap(state.run_id, keep=None)
    jobs.close()
