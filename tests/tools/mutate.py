"""`make mutate`: breaks each rule of the machine in turn and names those that no story misses.

Limits: each broken machine lives in a forked process; no file of the repository is changed.
"""

import argparse
import os
import re
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from click import echo

from tests.tools.mutants import MODULES, Mutant, all_mutants

ROOT = Path(__file__).resolve().parents[2]
RAM_DISK = Path("/dev/shm")
HANGS_S = 120
"""Stories that take longer have lost their end: the mutant is found."""
QUIET = ("cacheprovider", "xdist", "hypothesispytest", "timeout", "anyio")
REFERRING = ("loop", "support", "stories", "test_", "conftest")
"""How the names of modules begin that may hold something of a mutant's module under their own names."""


def read_sources() -> dict[str, str]:
    """The machine's modules as they stand."""
    return {name: (ROOT / f"{name.replace('.', '/')}.py").read_text(encoding="utf-8") for name in MODULES}


def break_machine(mutant: Mutant) -> None:
    """Put a mutant in its module's place, in every module of ours that took something from it by name."""
    module = sys.modules[mutant.module]
    before = dict(module.__dict__)
    exec(mutant.compile(), module.__dict__)
    renewed = {id(old): module.__dict__[name] for name, old in before.items() if not name.startswith("__")}
    for name, other in list(sys.modules.items()):
        if other is module or not any(part.startswith(REFERRING) for part in name.split(".")):
            continue
        for key, value in list(vars(other).items()):
            if id(value) in renewed:
                setattr(other, key, renewed[id(value)])


@dataclass
class Breaker:
    """A pytest plugin that runs the stories, collected once, against each mutant in a process of its own."""

    mutants: Sequence[Mutant | None]
    """`None` stands for the machine as it is."""
    processes: int
    output: Path
    """What the last story said that failed by itself."""
    survivors: list[Mutant | None] = field(default_factory=list)
    has_run: bool = False

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Instead of pytest's own: a process a mutant, as many at once as allowed."""
        if session.testsfailed or not session.items:
            return True
        self.has_run = True
        running: dict[int, Mutant | None] = {}
        waiting = list(self.mutants)
        try:
            while waiting or running:
                while waiting and len(running) < self.processes:
                    mutant = waiting.pop(0)
                    running[self._fork(mutant, session)] = mutant
                pid, status = os.wait()
                mutant = running.pop(pid)
                if os.waitstatus_to_exitcode(status) == 0:
                    self.survivors.append(mutant)
        finally:
            for pid in running:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
        return True

    def _fork(self, mutant: Mutant | None, session: pytest.Session) -> int:
        sys.stdout.flush()
        pid = os.fork()
        if pid:
            return pid
        code = 1
        try:
            signal.alarm(HANGS_S)
            code = self._run(mutant, session)
        finally:
            os._exit(code)

    def _run(self, mutant: Mutant | None, session: pytest.Session) -> int:
        """0 where every story passes; the likeliest to fail comes first, and is the last."""
        if mutant is not None:
            break_machine(mutant)
            words = _words(mutant.name)
            session.items.sort(key=lambda item: -len(words & _words(item.nodeid)))
        for number, item in enumerate(session.items):
            after = session.items[number + 1] if number + 1 < len(session.items) else None
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=after)
            if session.testsfailed:
                if mutant is None:
                    self.output.write_text(f"{item.nodeid} fails", encoding="utf-8")
                return 1
        return 0


def _words(name: str) -> set[str]:
    return set(re.findall(r"[a-z]{3,}", name.lower()))


def find_survivors(
    mutants: Sequence[Mutant | None], stories: Sequence[str], folder: Path, processes: int
) -> Breaker:
    """Run the stories against each mutant.

    Args:
        mutants: `None` stands for the machine as it is.
        stories: Files, folders or node ids, from the root.
        folder: For the stories' temporary files.
        processes: How many at once.
    """
    breaker = Breaker(mutants, processes, folder / "out")
    quiet = [word for plugin in QUIET for word in ("-p", f"no:{plugin}")]
    words = [*quiet, "-qq", "--no-summary", f"--basetemp={folder / 'base'}", *stories]
    with (folder / "said").open("w") as said, redirect_stdout(said):
        pytest.main(words, plugins=[breaker])
    return breaker


@contextmanager
def ram_folder() -> Iterator[Path]:
    """A folder for the stories' files, in memory where that can be: they sync after every line."""
    where = RAM_DISK if os.access(RAM_DISK, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="mutate-", dir=where, ignore_cleanup_errors=True) as name:
        yield Path(name)


def main(words: Sequence[str] | None = None) -> int:
    """Exit code 1 where a rule can be broken unnoticed, or the stories fail as they are."""
    parser = argparse.ArgumentParser(prog="mutate", description=__doc__)
    parser.add_argument("--only", default="", help="mutants whose name this pattern is found in")
    parser.add_argument("--take", type=int, help="this many of them, spread evenly")
    parser.add_argument("--stories", nargs="+", default=["tests/stories"], help="what must notice")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    asked = parser.parse_args(words)
    os.chdir(ROOT)
    broken = [mutant for mutant in all_mutants(read_sources()) if re.search(asked.only, mutant.name)]
    if asked.take:
        broken = broken[:: max(1, len(broken) // asked.take)][: asked.take]
    with ram_folder() as folder:
        return _report(broken, asked.stories, folder, asked.processes)


def _report(broken: list[Mutant], stories: list[str], folder: Path, processes: int) -> int:
    began = time.monotonic()
    found = find_survivors([None, *broken], stories, folder, processes)
    if not found.has_run or None not in found.survivors:
        echo(found.output.read_text(encoding="utf-8") if found.output.exists() else "no story was collected")
        echo("the stories fail as they are; mend them first")
        return 1
    unnoticed = [mutant for mutant in found.survivors if mutant is not None]
    for mutant in unnoticed:
        echo(f"no story misses it: {mutant.name}")
    took_s = time.monotonic() - began
    echo(f"{len(broken)} rules broken in turn, {len(unnoticed)} unnoticed, {took_s:.0f} s")
    return 1 if unnoticed or not broken else 0


if __name__ == "__main__":
    sys.exit(main())
