"""What the loop's own process does with its time: one run under the interpreter's profiler.

Limits: the profiler slows Python itself, so the seconds say what is large and not how long it takes. It
sees the main thread alone.
"""

import cProfile
import os
import pstats
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

LIMIT_S = 600.0
WAITS = (
    ("waiting for the engine", ("'recv_into' of '_socket", "'connect' of '_socket", "'sendall' of '_socket")),
    ("waiting for git", ("'poll' of 'select.epoll'", "posix.waitpid")),
    ("starting git", ("fork_exec", "posix.read")),
    ("syncing files", ("fsync", "fdatasync")),
    ("waiting for another thread", ("'acquire' of '_thread", "'acquire' of '_thread.lock'")),
    ("waiting by the clock", ("time.sleep",)),
    ("importing", ("importlib", "marshal.loads", "_imp.", "open_code")),
)
"""What the name of a function tells; the rest is Python."""


def main() -> None:
    """In the profiled process: OUT and the arguments of `factory run`."""
    out, *words = sys.argv[1:]
    profile = cProfile.Profile()
    profile.enable()
    try:
        from loop.cli import run  # noqa: PLC0415 - its import is measured too

        run(words)
    finally:
        profile.disable()
        profile.dump_stats(out)


def profile_run(
    words: Sequence[str], checkout: Path, environment: Mapping[str, str], out: Path
) -> dict[str, float]:
    """Seconds by what they went to, the largest first.

    Raises:
        CalledProcessError: The run did not end with a merge.
    """
    line = [sys.executable, str(Path(__file__)), str(out), *words]
    subprocess.run(line, cwd=checkout, env=environment, capture_output=True, check=True, timeout=LIMIT_S)
    stats = pstats.Stats(os.fspath(out)).stats  # type: ignore[attr-defined]
    return sums((f"{file}:{name}", own_s) for (file, _, name), (_, _, own_s, *_) in stats.items())


def sums(functions: Iterable[tuple[str, float]]) -> dict[str, float]:
    """Own seconds by what they went to, the largest first. Pure."""
    found: dict[str, float] = {}
    for name, own_s in functions:
        what = next((what for what, marks in WAITS if any(mark in name for mark in marks)), "Python")
        found[what] = found.get(what, 0.0) + own_s
    return dict(sorted(found.items(), key=lambda item: -item[1]))


if __name__ == "__main__":
    main()
