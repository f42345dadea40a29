"""`make mutate`: breaks each rule of the machine in turn and names those that no story misses.

Limits: each broken machine lives in a forked process; no file of the repository is changed.
"""

import argparse
import importlib
import importlib.abc
import importlib.util
import os
import re
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

import pytest
from click import echo

from tests.tools.mutants import MODULES, Mutant, all_mutants

ROOT = Path(__file__).resolve().parents[2]
RAM_DISK = Path("/dev/shm")
HANGS_S = 120
"""A story that takes longer has lost its end: the mutant is found."""
OUTPUT = ".out"
QUIET = ("cacheprovider", "xdist", "hypothesispytest", "timeout", "anyio")
WARM = ("instrument.schema.events", "instrument.schema.state", "orjson", "jinja2", "filelock")
"""Imported once, before the forks; nothing of them is ever broken."""


class Replacement(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Gives a mutant where its module is imported."""

    def __init__(self, mutant: Mutant) -> None:
        self._mutant = mutant

    def find_spec(self, name: str, _: object, __: object = None) -> ModuleSpec | None:
        if name != self._mutant.module:
            return None
        return importlib.util.spec_from_loader(name, self)

    def exec_module(self, module: ModuleType) -> None:
        exec(compile(self._mutant.tree, f"<{self._mutant.name}>", "exec"), module.__dict__)


class LikeliestFirst:
    """Has pytest begin with the stories whose names share the most words with the mutant's."""

    def __init__(self, name: str) -> None:
        self._words = _words(name)

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items.sort(key=lambda item: -len(self._words & _words(item.nodeid)))


def _words(name: str) -> set[str]:
    return set(re.findall(r"[a-z]{3,}", name.lower()))


def read_sources() -> dict[str, str]:
    """The machine's modules as they stand."""
    return {name: (ROOT / f"{name.replace('.', '/')}.py").read_text(encoding="utf-8") for name in MODULES}


def find_survivors(
    mutants: Sequence[Mutant | None], stories: Sequence[str], folder: Path, processes: int
) -> Iterator[tuple[Mutant | None, bool]]:
    """Run the stories against each mutant; yield it with whether they all passed, as they end.

    Args:
        mutants: `None` stands for the machine as it is.
        stories: Files, folders or node ids, from the root.
        folder: For the stories' temporary files.
        processes: How many at once.
    """
    running: dict[int, Mutant | None] = {}
    waiting = list(enumerate(mutants))
    try:
        while waiting or running:
            while waiting and len(running) < processes:
                number, mutant = waiting.pop(0)
                running[_fork(mutant, stories, folder / str(number))] = mutant
            pid, status = os.wait()
            yield running.pop(pid), os.waitstatus_to_exitcode(status) == 0
    finally:
        for pid in running:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def _fork(mutant: Mutant | None, stories: Sequence[str], folder: Path) -> int:
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        signal.alarm(HANGS_S)
        folder.parent.mkdir(parents=True, exist_ok=True)
        with folder.with_suffix(OUTPUT).open("w") as output:
            os.dup2(output.fileno(), 1)
            os.dup2(output.fileno(), 2)
        code = _run_stories(mutant, stories, folder)
        shutil.rmtree(folder, ignore_errors=True)
    finally:
        os._exit(code)


def _run_stories(mutant: Mutant | None, stories: Sequence[str], folder: Path) -> int:
    """Pytest's exit code, in a process that imports the machine for the first time."""
    if mutant is not None:
        sys.meta_path.insert(0, Replacement(mutant))
    quiet = [word for plugin in QUIET for word in ("-p", f"no:{plugin}")]
    order = [] if mutant is None else [LikeliestFirst(mutant.name)]
    return int(pytest.main([*quiet, "-x", "-q", f"--basetemp={folder}", *stories], plugins=order))


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
    for name in WARM:
        importlib.import_module(name)
    with ram_folder() as folder:
        return _report(broken, asked.stories, folder, asked.processes)


def _report(broken: list[Mutant], stories: list[str], folder: Path, processes: int) -> int:
    began = time.monotonic()
    (_, is_sound), *_ = find_survivors([None], stories, folder / "intact", 1)
    if not is_sound:
        echo((folder / "intact" / f"0{OUTPUT}").read_text(errors="replace"))
        echo("the stories fail as they are; mend them first")
        return 1
    unnoticed = 0
    for mutant, has_passed in find_survivors(broken, stories, folder, processes):
        if mutant is not None and has_passed:
            unnoticed += 1
            echo(f"no story misses it: {mutant.name}")
    took_s = time.monotonic() - began
    echo(f"{len(broken)} rules broken in turn, {unnoticed} unnoticed, {took_s:.0f} s")
    return 1 if unnoticed or not broken else 0


if __name__ == "__main__":
    sys.exit(main())
