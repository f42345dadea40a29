"""Runs of the loop on the demo's task, as processes of their own, and the clock in what they leave.

Limits: works in the folders of a `Stand`.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import orjson

from instrument.schema.vocabulary import Purpose
from loop.demo import TASK_ID, Stand, arguments

T = TypeVar("T")
PROGRAM = (sys.executable, "-m", "loop.run_task")
LIMIT_S = 300.0
LOOK_S = 0.005
SAID = "said.txt"
"""What the processes of a stand printed."""
UNDER_WAY = b"(found under way"
_AGENTS = {"job.implement", "job.review"}


class RunError(Exception):
    """A run did not do what the demo does."""


def words() -> list[str]:
    """The arguments of `factory run` for the demo's task, answered by its story at once."""
    return arguments({}, purpose=Purpose.PROBE)


def environment(stand: Stand) -> dict[str, str]:
    """A person's, with a home of the run's own."""
    return {**os.environ, "FACTORY_HOME": str(stand.home)}


def run_folder(stand: Stand) -> Path:
    """Where the task's state and record lie."""
    return stand.home / "tasks" / TASK_ID


def start(stand: Stand, *more: str) -> subprocess.Popen[bytes]:
    """Begin a run, or go on with one."""
    with (stand.folder / SAID).open("ab") as out:
        return subprocess.Popen(
            [*PROGRAM, *(more or words())],
            cwd=stand.checkout,
            env=environment(stand),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
        )


@contextmanager
def ending(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """It has ended when the block has, whatever happened there."""
    try:
        yield
    finally:
        process.kill()
        process.wait()


def run_whole(stand: Stand) -> dict[str, float]:
    """Carry the task to its merge; seconds, in all and by what they went to.

    Raises:
        RunError: It ended otherwise.
    """
    begun_s = time.time()
    process = start(stand)
    with ending(process):
        code = process.wait(LIMIT_S)
    ended_s = time.time()
    if code != 0:
        raise RunError(f"the loop ended with exit code {code}: {said(stand).decode(errors='replace')[-800:]}")
    return {"total_s": ended_s - begun_s, **parts_of(events(stand), begun_s, ended_s)}


def program_start_s(stand: Stand) -> float:
    """What the process costs before it does anything: its start and its imports, and its end."""
    begun_s = time.perf_counter()
    start(stand, "--help").wait(LIMIT_S)
    return time.perf_counter() - begun_s


def wait_for(process: subprocess.Popen[bytes], stand: Stand, effect: str) -> None:
    """Wait until the record has the begin of this effect.

    Raises:
        RunError: The process ended before.
    """

    def look() -> bool | None:
        begun = (e["effect"] for e in events(stand) if e["kind"] == "attempt_started")
        return effect in begun or None

    _wait(process, stand, look)


def wait_for_next(process: subprocess.Popen[bytes], stand: Stand, seen: int, said_bytes: int) -> float:
    """Wait until a loop that was started again takes an effect up; its moment.

    That is the begin of one in the record after its first `seen` events; or, since one that was under way is
    not recorded again, the line about it in what is said after the first `said_bytes`.

    Raises:
        RunError: The process ended before.
    """

    def look() -> float | None:
        if UNDER_WAY in said(stand)[said_bytes:]:
            return time.time()
        begun = (moment_of(e) for e in events(stand)[seen:] if e["kind"] == "attempt_started")
        return next(begun, None)

    return _wait(process, stand, look)


def _wait(process: subprocess.Popen[bytes], stand: Stand, look: Callable[[], T | None]) -> T:
    end_s = time.monotonic() + LIMIT_S
    while time.monotonic() < end_s:
        has_ended = process.poll() is not None
        found = look()
        if found is not None:
            return found
        if has_ended:
            break
        time.sleep(LOOK_S)
    raise RunError(f"the loop did not come to its next effect: {said(stand).decode(errors='replace')[-800:]}")


def said(stand: Stand) -> bytes:
    """What the stand's processes have printed so far."""
    return (stand.folder / SAID).read_bytes()


def events(stand: Stand) -> list[dict[str, Any]]:
    """The record so far; a line that is being written is left out."""
    try:
        data = (run_folder(stand) / "events.jsonl").read_bytes()
    except FileNotFoundError:
        return []
    return [orjson.loads(line) for line in data.split(b"\n")[:-1]]


def moment_of(event: Mapping[str, Any]) -> float:
    """Seconds of the host's clock."""
    return datetime.fromisoformat(event["at_utc"]).replace(tzinfo=UTC).timestamp()


def parts_of(record: Sequence[Mapping[str, Any]], begun_s: float, ended_s: float) -> dict[str, float]:
    """Seconds from a whole run's record: by kind of effect, between two of them, before and after. Pure."""
    parts = dict.fromkeys(("agents_s", "commands_s", "git_s", "between_s", "inside_s"), 0.0)
    effect, last_s, first_s = "", begun_s, None
    for event in record:
        at_s = moment_of(event)
        match event["kind"]:
            case "attempt_started":
                first_s = at_s if first_s is None else first_s
                parts["between_s"] += at_s - last_s if effect else 0.0
                effect, last_s = event["effect"], at_s
            case "job_ended":
                parts["inside_s"] += event["duration_ms"] / 1000
            case "transition":
                parts[_part_of(effect)] += at_s - last_s
                last_s = at_s
            case _:
                pass
    return {**parts, "start_s": (first_s or begun_s) - begun_s, "end_s": ended_s - last_s}


def _part_of(effect: str) -> str:
    if effect in _AGENTS:
        return "agents_s"
    # Looking the set-up's image up is no job where it is there.
    return "commands_s" if effect.startswith("job.") and effect != "job.setup" else "git_s"
