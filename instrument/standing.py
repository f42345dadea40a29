"""Where every task that is not over stands: interrupted, waiting for a person, or running.

Reads `state.json`, the end of `events.jsonl` and the brief, and asks each lock whether it is held: for a
moment it holds a free one itself, which a loop that starts in that moment waits out. Writes nothing.
"""

import os
import shlex
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Literal

from filelock import FileLock, Timeout
from pydantic import AwareDatetime, NonNegativeInt, ValidationError

from instrument.found import find_tasks
from instrument.lines import readable
from instrument.schema.base import Frozen
from instrument.schema.events import AnyEvent
from instrument.schema.origin import ORIGIN_FILE, Origin
from instrument.schema.owner import OWNER_FILE, Owner
from instrument.schema.state import TaskState
from instrument.schema.vocabulary import EffectKind, Stage, StopReason
from instrument.states import read_state

_TAIL_BYTES = 256 * 1024
_BRIEF_BYTES = 8192
_CONTINUE = "To continue:"


class Standing(Frozen):
    """One task that is not done: a line of `instrument status --json`."""

    schema_version: Literal[1] = 1
    task_id: str
    how: Literal["interrupted", "waiting", "running", "unreadable"]
    """Waiting: stopped for a person. Interrupted: a stage is open and nobody holds or drives the task."""
    stage: Stage | None
    effect: EffectKind | None
    """What is under way, or was when the loop died."""
    stop: StopReason | None
    since_utc: AwareDatetime | None
    """Running: since the loop took it; interrupted: since its last event; waiting: since the stop."""
    pid: NonNegativeInt | None
    """Of the loop that holds it, or held it last."""
    host: str | None
    driver: str | None = None
    """Who carries it on over many processes; none: one loop at a time does."""
    cost_microusd: NonNegativeInt | None
    lower_bound: bool
    command: str | None
    """What continues it; typed anywhere, but in the checkout where nobody knows which one that is."""
    fault: str | None
    """Why its state cannot be read."""


_ORDER = ("interrupted", "unreadable", "waiting", "running")


def find_standing(home: Path) -> list[Standing]:
    """Every task that is not done: interrupted ones first, then by how long it has been so.

    Raises:
        OSError: `home` cannot be listed, or is no folder.
    """
    found = list(_standing(home))
    return sorted(found, key=lambda each: (_ORDER.index(each.how), _age(each), each.task_id))


def _age(each: Standing) -> float:
    return each.since_utc.timestamp() if each.since_utc else 0.0


def _standing(home: Path) -> Iterator[Standing]:
    for task in find_tasks(home):
        folder = task.folders[-1]
        state, fault = read_state(folder)
        if state is None or state.done is None:
            yield _stand(task.task_id, folder, state, fault)


def _stand(task_id: str, folder: Path, state: TaskState | None, fault: str) -> Standing:
    driver = _driver(folder)
    is_held = _is_held(folder / "lock") or (driver is not None and state is not None and state.stop is None)
    started, last = _last_run(folder)
    if state is None:
        how: Literal["interrupted", "waiting", "running", "unreadable"] = "unreadable"
    elif is_held:
        how = "running"
    else:
        how = "waiting" if state.stop is not None else "interrupted"
    since = {"running": started[0], "waiting": state.ended_utc if state else None}.get(how, last)
    return Standing(
        task_id=task_id,
        how=how,
        stage=state.stage if state else None,
        effect=state.attempt.kind if state and state.attempt else None,
        stop=state.stop.reason if state and state.stop else None,
        since_utc=since,
        pid=started[1],
        host=started[2],
        driver=driver,
        cost_microusd=state.spend.microusd if state else None,
        lower_bound=state.spend.lower_bound if state else True,
        command=None if how == "running" else _command(folder, state, task_id),
        fault=fault or None,
    )


def _is_held(lock: Path) -> bool:
    """Whether a loop holds the task; without the file none ever did."""
    if not lock.exists():
        return False
    mine = FileLock(lock, timeout=0)
    try:
        mine.acquire()
    except (Timeout, OSError):
        return True
    mine.release()
    return False


def _driver(folder: Path) -> str | None:
    """Who drives the task; none where nobody does, or the mark cannot be read."""
    try:
        return Owner.model_validate_json((folder / OWNER_FILE).read_bytes()).driver
    except (OSError, ValidationError):
        return None


def _last_run(folder: Path) -> tuple[tuple[datetime | None, int | None, str | None], datetime | None]:
    """When, as which process and where the last run began, and the time of the last event."""
    started: tuple[datetime | None, int | None, str | None] = (None, None, None)
    last: datetime | None = None
    for event in _tail(folder / "events.jsonl"):
        last = event.at_utc
        if (pid := getattr(event, "pid", None)) is not None:
            started = (event.at_utc, pid, getattr(event, "host", None))
    return started, last


def _tail(file: Path) -> Iterator[AnyEvent]:
    """The last events, in order; none where there are none. A line that cannot be read is left out."""
    try:
        with file.open("rb") as opened:
            size = os.fstat(opened.fileno()).st_size
            opened.seek(max(0, size - _TAIL_BYTES))
            lines = opened.read().split(b"\n")
    except OSError:
        return
    yield from readable(lines[size > _TAIL_BYTES :])


def _command(folder: Path, state: TaskState | None, task_id: str) -> str:
    """The first command that the brief offers; without one the plain command."""
    try:
        with (folder / "brief.md").open(encoding="utf-8", errors="replace") as file:
            _, found, after = file.read(_BRIEF_BYTES).partition(f"\n{_CONTINUE}\n")
    except OSError:
        found, after = "", ""
    plain = shlex.join(["factory", "run", state.task_path if state else task_id])
    command = plain
    if found and state is not None and state.stop is not None:
        command = next(iter(after.strip().splitlines()), plain).strip()
    if command.removeprefix(plain).startswith(" --repo ") or not command.startswith(plain):
        return command
    # A task that has no brief, or one from before briefs named their repo.
    return f"{plain}{_repo(folder, task_id)}{command.removeprefix(plain)}"


def _repo(folder: Path, task_id: str) -> str:
    """The option that names the task's checkout; empty where that is not known."""
    file = folder.parent.parent / "repos" / f"{task_id.rpartition('-')[0]}.git" / ORIGIN_FILE
    try:
        return f" --repo {shlex.quote(Origin.model_validate_json(file.read_bytes()).checkout)}"
    except (OSError, ValidationError):
        return ""
