"""This machine: its git, and room on its disks.

Limits: starts git once, asks file systems for their room.
"""

import os
import re
import shutil
from pathlib import Path

from jobs.collect import LEDGER_CAP_BYTES, most_out_bytes
from jobs.engine.client import DEFAULT_SOCKET, address
from loop.doctor.finding import Finding, failed, note, ok
from loop.doctor.surroundings import Surroundings
from loop.git.errors import GitMissingError
from loop.git.process import NEEDED, require_git, run_git
from loop.git.profiles import SEALED
from loop.slots import JOBS_VARIABLE, job_count

GIB = 1024**3
UNIX = "unix://"


def look_at_git(_: Surroundings) -> Finding:
    """Whether git is there and new enough."""
    needed = ".".join(map(str, NEEDED))
    try:
        require_git()
    except GitMissingError as error:
        found = "git is not installed" if error.found is None else f"git {error.found} is too old"
        return failed(found, f"install git {error.needed} or newer")
    said = run_git(["version"], profile=SEALED).out.decode("utf-8", "replace")
    version = re.search(r"\d[\w.]*", said)
    return ok(f"{version[0] if version else said.strip()} ({needed} or newer is needed)")


def look_at_disk(surroundings: Surroundings) -> Finding:
    """Whether there is room for what jobs may write, where they write it and where it is kept."""
    limits, count = surroundings.config.limits, job_count(surroundings.environment)
    kept_bytes = most_out_bytes(limits) + LEDGER_CAP_BYTES
    places = [("the home", _nearest(surroundings.home), kept_bytes)]
    root = _engine_root(surroundings)
    if root is not None:
        places.append(("the engine", root, limits.disk_bytes))
    free = {name: shutil.disk_usage(path).free for name, path, _ in places}
    said = ", ".join(f"{_gib(free[name])} for {name}" for name in free)
    said += "" if root else "; the engine's disk is not this machine's"
    for name, path, need_bytes in places:
        if free[name] < need_bytes:
            mend = f"one job may need {_gib(need_bytes)} there: make room, or lower [limits]"
            return failed(f"{_gib(free[name])} free for {name} in {path}", mend)
    for name, path, need_bytes in places:
        if free[name] < count * need_bytes:
            mend = f"{count} jobs at once ({JOBS_VARIABLE}) may need {_gib(count * need_bytes)} there"
            return note(f"{_gib(free[name])} free for {name} in {path}", mend)
    return ok(f"{said}; a job may write {_gib(limits.disk_bytes)}, {count} at once")


def _nearest(path: Path) -> Path:
    """The folder itself, or the one that it will be made in."""
    return next(folder for folder in (path, *path.parents) if folder.exists())


def _engine_root(surroundings: Surroundings) -> Path | None:
    """Where the engine keeps what jobs write; none where that is no folder of this machine."""
    root = Path(surroundings.info.root)
    where = str(address().get("base_url") or DEFAULT_SOCKET)
    is_here = where.startswith(UNIX) and root.is_absolute() and os.access(root, os.F_OK)
    return root if is_here else None


def _gib(size_bytes: int) -> str:
    return f"{size_bytes / GIB:.1f} GiB"
