"""What the sidecar adds, against direct, nginx and LiteLLM, all to one fake provider.

Limits: loopback and Unix sockets only; ends by itself within about five minutes.
"""

import gc
import os
import random
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from tests.bench import rivals, ways
from tests.bench.loads import LoadError, call, event_lags_us, latencies_us, requests_per_s
from tests.bench.provider import EVENTS, INTERVAL_S
from tests.bench.proxy_figures import DIRECT, DISK, LITELLM, MEMORY, NGINX, Record, Round, added_us
from tests.bench.rivals import Programs
from tests.bench.ways import ROOT, Way

SCRATCH = ROOT / "build/bench/run"
MEMORY_FOLDER = Path("/dev/shm")
CALLS, FEW_CALLS = 400, 30
CONNECTIONS = 32
WINDOW_S = 1.0
STARTS = 5
FLUSHES = 50
ROW = b"x" * 250 + b"\n"
LIMIT_S = 280.0
SIZES = {
    "events": EVENTS,
    "pause_ms": INTERVAL_S * 1000,
    "calls": CALLS,
    "few": FEW_CALLS,
    "window_s": WINDOW_S,
    "connections": CONNECTIONS,
    "starts": STARTS,
}


def measure(rounds: int) -> dict[str, Any]:
    """All ways, at most so many rounds: fewer where the time is over.

    Raises:
        rivals.MissingError: A program is not there.
        LoadError: An answer was no answer.
    """
    ours = rivals.find_python(), rivals.compile_code()
    programs = Programs(*ours, rivals.find_nginx(), rivals.find_litellm())
    return asdict(_measure(programs, rounds))


def _measure(programs: Programs, rounds: int) -> Record:
    """Start every way, and measure until the rounds or the time are over."""
    end_s = time.monotonic() + LIMIT_S
    nginx = partial(ways.nginx, programs.nginx)
    sidecar = partial(ways.sidecar, programs.python, programs.code)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-")))
        host, port = stack.enter_context(ways.provider(folder / "provider"))
        disk = stack.enter_context(_scratch(SCRATCH))
        starts = {
            NGINX: _starts(lambda at: nginx(at, port), folder / "n"),
            DISK: _starts(lambda at: sidecar(at, disk / at.name, port), folder / "s"),
        }
        up: dict[str, Way] = {DIRECT: Way((host, port), None, 0.0)}
        up[NGINX] = stack.enter_context(nginx(folder / "nginx", port))
        up[DISK] = stack.enter_context(sidecar(folder / "disk", disk, port))
        if MEMORY_FOLDER.is_dir():
            memory = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=MEMORY_FOLDER)))
            up[MEMORY] = stack.enter_context(sidecar(folder / "memory", memory, port))
        if programs.litellm is not None:
            up[LITELLM] = stack.enter_context(ways.litellm(programs.litellm, folder / "litellm", port))
            starts[LITELLM] = [up[LITELLM].start_ms]
        done = list(_rounds(up, disk, rounds, end_s))
        resident = {name: size for name, way in up.items() if (size := way.resident_bytes())}
    return Record(rivals.versions(programs), SIZES, done, starts, resident)


@contextmanager
def _scratch(folder: Path) -> Iterator[Path]:
    """A folder on the disk, empty and gone at the end; build/ is where this repository keeps such things."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _starts(start: Callable[[Path], AbstractContextManager[Way]], folder: Path) -> list[float]:
    """How long a program takes from its start to its first answer, a few times; milliseconds."""
    taken = []
    for n in range(STARTS):
        with start(folder.with_name(f"{folder.name}{n}")) as way:
            taken.append(way.start_ms)
    return taken


def _rounds(up: Mapping[str, Way], disk: Path, count: int, end_s: float) -> Iterator[Round]:
    """Rounds, at least one; a line on standard error for each."""
    longest_s = 0.0
    for n in range(1, count + 1):
        begun_s = time.monotonic()
        if n > 1 and begun_s + longest_s > end_s:
            return
        one = _round(up, disk)
        longest_s = max(longest_s, time.monotonic() - begun_s)
        sys.stderr.write(f"round {n} of {count}: {_added(one)}\n")
        yield one


def _added(one: Round) -> str:
    """A round in a few words."""
    return ", ".join(f"{way} +{added_us(one, way):.0f} µs" for way in one.median_us if way != DIRECT)


def _round(up: Mapping[str, Way], disk: Path) -> Round:
    """Every way once under each load, in an order of its own for each."""
    small = call(is_stream=False, key=ways.LITELLM_KEY)
    stream = call(is_stream=True)
    gc.disable()
    try:
        return Round(
            median_us={
                name: statistics.median(latencies_us(up[name].address, small, _calls(name)))
                for name in _shuffled(up)
            },
            requests_per_s={
                name: requests_per_s(up[name].address, small, CONNECTIONS, WINDOW_S) for name in _shuffled(up)
            },
            lag_p99_us={
                name: _p99(event_lags_us(up[name].address, stream, CONNECTIONS))
                for name in _shuffled(up)
                if name != LITELLM
            },
            flush_us=_flush_us(disk / "flush.tmp"),
        )
    finally:
        gc.enable()
        gc.collect()


def _shuffled(up: Mapping[str, Way]) -> list[str]:
    return random.sample(list(up), len(up))


def _calls(name: str) -> int:
    return FEW_CALLS if name == LITELLM else CALLS


def _p99(lags_us: list[float]) -> float:
    if len(lags_us) != CONNECTIONS * EVENTS:
        raise LoadError(f"{len(lags_us)} events came, {CONNECTIONS * EVENTS} were sent")
    return statistics.quantiles(lags_us, n=100)[98]


def _flush_us(path: Path) -> float:
    """The median time of an append that is synced; microseconds."""
    taken = []
    with path.open("ab", buffering=0) as file:
        for _ in range(FLUSHES):
            begun = time.perf_counter_ns()
            file.write(ROW)
            os.fdatasync(file)
            taken.append((time.perf_counter_ns() - begun) / 1000)
    return statistics.median(taken)
