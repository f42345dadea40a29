"""How many commits a second `factory replay` carries in its fast mode, on a repository of 5,000 files.

Limits: needs a Docker Engine and the project's images; the history is made up, below a temporary folder.
"""

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from jobs.engine import Engine
from jobs.images import ImageShelf

FILES = 5_000
FOLDERS = 100
COMMITS = 200
CHANGED = 3
"""Files that a commit edits; it adds one and removes one, too."""
LINES = 60
RUN = "from loop.cli import main; main(['replay', *__import__('sys').argv[1:]])"
WHEN = "Someone <someone@example.org> 1760000000 +0000"


class ReplayError(Exception):
    """Not every commit travelled."""


def measure(rounds: int) -> dict[str, Any]:
    """A round replays the whole history from the beginning, in a process of its own.

    Raises:
        ReplayError: A commit did not travel.
        JobsError: The engine or an image is not there.
    """
    engine = Engine.connect()
    ImageShelf(engine).job()
    engine.close()
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        folder = Path(name)
        make_history(folder / "repo")
        done = []
        for n in range(1, rounds + 1):
            one = _replay(folder)
            rate = COMMITS / one["carrying_s"]
            sys.stderr.write(
                f"round {n} of {rounds}: {rate:.1f} commits/s, {one['process_s']:.1f} s in all\n"
            )
            done.append(one)
    return {"files": FILES, "commits": COMMITS, "rounds": done}


def _replay(folder: Path) -> dict[str, float]:
    line = [sys.executable, "-c", RUN, "--repo", "repo", "--last", str(COMMITS), "--restart", "--json"]
    begun_s = time.monotonic()
    done = subprocess.run(
        line,
        cwd=folder,
        env={**os.environ, "FACTORY_HOME": str(folder / "home")},
        capture_output=True,
        text=True,
        check=False,
    )
    process_s = time.monotonic() - begun_s
    if done.returncode != 0:
        raise ReplayError(f"the replay ended with {done.returncode}: {(done.stdout + done.stderr)[-1000:]}")
    told = json.loads(done.stdout.splitlines()[-1])
    if told["travelled"] != COMMITS:
        raise ReplayError(f"only {told['travelled']} of {COMMITS} commits travelled")
    return {"process_s": round(process_s, 3), "carrying_s": told["seconds"]}


def make_history(repo: Path) -> None:
    """A bare repository with a first commit of all files, then `COMMITS` small ones."""
    subprocess.run(["git", "init", "--quiet", "--bare", "--initial-branch=main", str(repo)], check=True)
    line = ["git", "-C", str(repo), "fast-import", "--quiet"]
    subprocess.run(line, input=b"".join(_commits(random.Random(7))), check=True)


def _commits(chance: random.Random) -> Iterator[bytes]:
    paths = [f"package{n % FOLDERS:02}/module{n:04}.py" for n in range(FILES)]
    yield _head("Begin")
    yield from (_file(path, chance) for path in paths)
    for n in range(COMMITS):
        yield _head(f"Change {n}")
        edited, gone = chance.sample(range(FILES), CHANGED), chance.randrange(FILES)
        yield from (_file(paths[at], chance) for at in edited if at != gone)
        yield f"D {paths[gone]}\n".encode()
        paths[gone] = f"package{n % FOLDERS:02}/added{n:03}.py"
        yield _file(paths[gone], chance)


def _head(subject: str) -> bytes:
    return f"commit refs/heads/main\ncommitter {WHEN}\ndata {len(subject)}\n{subject}\n".encode()


def _file(path: str, chance: random.Random) -> bytes:
    text = "".join(f"value_{n} = {chance.random()}\n" for n in range(LINES)).encode()
    return f"M 100644 inline {path}\ndata {len(text)}\n".encode() + text + b"\n"
