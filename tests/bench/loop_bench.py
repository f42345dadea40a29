"""What the loop adds to the demo's task over the same work by hand, and what a crash of it costs.

Limits: needs a Docker Engine and the project's images; all that it makes there is gone at the end.
"""

import json
import random
import secrets
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jobs.engine import Engine
from jobs.images import ImageShelf
from jobs.runner import DockerJobs
from loop.demo import Stand, prepare
from loop.store import load_state
from tests.bench import loop_runs as runs
from tests.bench.floor import Floor, cli_start_s, prepare_floor
from tests.bench.loop_profile import profile_run

KILLED_AT = {
    "git.find_base": 0.0,
    "job.baseline": 0.0,
    "job.implement": 2.0,
    "git.commit_candidate": 0.0,
    "job.check": 0.0,
}
"""The effects in which a loop is killed, and how many seconds after their begin: an agent while it works."""


def measure(rounds: int) -> dict[str, Any]:
    """A round carries the task by us and by hand, in a random order, and kills a loop at five moments.

    Raises:
        JobsError: The engine or an image is not there.
        RunError, FloorError: A run did not end with the demo's merge.
    """
    with tempfile.TemporaryDirectory(prefix="bench-") as name, _open_jobs() as jobs:
        bench = Bench(Path(name), jobs, _first(Path(name), jobs))
        done = []
        for n in range(1, rounds + 1):
            one = bench.round(n)
            ratio = one["loop"]["total_s"] / one["floor"]["total_s"]
            worst_s = max(each["rerun_s"] - each["start_s"] for each in one["crash"].values())
            sys.stderr.write(f"round {n} of {rounds}: {ratio:.2f} times the floor, crash {worst_s:.2f} s\n")
            done.append(one)
        return {"rounds": done, "profile_s": bench.profile()}


@contextmanager
def _open_jobs() -> Iterator[DockerJobs]:
    jobs = DockerJobs()
    try:
        yield jobs
    finally:
        jobs.close()


@contextmanager
def _clearing(stand: Stand, jobs: DockerJobs) -> Iterator[None]:
    """No container of the stand's run is left after the block."""
    try:
        yield
    finally:
        state = load_state(runs.run_folder(stand))
        if state is not None:
            jobs.reap(state.run_id, keep=None)


def _first(folder: Path, jobs: DockerJobs) -> Floor:
    """One run that is not measured: it makes what images miss, and the floor is made out of it."""
    stand = Stand(folder / "first")
    prepare(stand)
    with _clearing(stand, jobs):
        runs.run_whole(stand)
    state = load_state(runs.run_folder(stand))
    assert state is not None
    assert state.image is not None
    sidecar = ImageShelf(Engine.connect()).sidecar()
    return prepare_floor(folder / "inputs", runs.run_folder(stand), image=state.image, sidecar=sidecar)


@dataclass(frozen=True, slots=True)
class Bench:
    """One benchmark's scratch folder, engine and floor."""

    folder: Path
    jobs: DockerJobs
    floor: Floor

    def round(self, n: int) -> dict[str, Any]:
        """Seconds, by way.

        Raises:
            RunError: What the two landed is not the same.
        """
        ways: dict[str, Callable[[Stand], dict[str, Any]]] = {
            "loop": self._by_loop,
            "floor": self._by_hand,
            "crash": self._by_crashes,
        }
        stands = {way: Stand(self.folder / f"{way}-{n}") for way in ways}
        one = {}
        for way in random.sample(list(ways), len(ways)):
            prepare(stands[way])
            one[way] = ways[way](stands[way])
        if _landed(stands["loop"]) != _landed(stands["floor"]):
            raise runs.RunError("the script did not land what the loop landed")
        return one

    def _by_loop(self, stand: Stand) -> dict[str, float]:
        with _clearing(stand, self.jobs):
            return runs.run_whole(stand)

    def _by_hand(self, stand: Stand) -> dict[str, float]:
        work = stand.folder / "work"
        work.mkdir()
        begun_s = time.time()
        marks = self.floor.run(work, stand.checkout, f"factory-bench-{secrets.token_hex(4)}")
        return {"total_s": time.time() - begun_s, **marks, "cli_start_s": cli_start_s()}

    def _by_crashes(self, stand: Stand) -> dict[str, Any]:
        """By moment: from a rerun's begin to the effect that it takes up, and what its program's start is."""
        found: dict[str, dict[str, float]] = {}
        with ExitStack() as stack:
            stack.enter_context(_clearing(stand, self.jobs))
            process = runs.start(stand)
            stack.enter_context(runs.ending(process))
            for effect, after_s in KILLED_AT.items():
                runs.wait_for(process, stand, effect)
                time.sleep(after_s)
                process.kill()
                process.wait()
                # Beside the rerun, since an agent that still works takes its share of the machine.
                start_s = runs.program_start_s(stand)
                seen, said_bytes = len(runs.events(stand)), len(runs.said(stand))
                begun_s = time.time()
                process = runs.start(stand)
                stack.enter_context(runs.ending(process))
                moment_s = runs.wait_for_next(process, stand, seen, said_bytes)
                found[effect] = {"start_s": start_s, "rerun_s": moment_s - begun_s}
        return found

    def profile(self) -> dict[str, float]:
        """Where the loop's own process spends its time, in one more run."""
        stand = Stand(self.folder / "profiled")
        prepare(stand)
        with _clearing(stand, self.jobs):
            out = self.folder / "profile"
            return profile_run(runs.words(), stand.checkout, runs.environment(stand), out)


def _landed(stand: Stand) -> str:
    """The tree of what was pushed."""
    line = ["git", "-C", str(stand.origin), "rev-parse", "main^{tree}"]
    return subprocess.run(line, capture_output=True, check=True, text=True).stdout.strip()


if __name__ == "__main__":
    sys.stdout.write(json.dumps(measure(int(sys.argv[1]) if sys.argv[1:] else 5), indent=1) + "\n")
