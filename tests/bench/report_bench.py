"""What a report over 10,000 tasks and a million events takes, against the floor.

The floor reads the same bytes once and parses them with orjson, in one process. Limits: each program is a
process of its own; writes below build/.
"""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
BEGIN = datetime(2026, 1, 5, tzinfo=UTC)
TASKS = 10_000
EVENTS = 100
"""Of a task."""
FLOOR = """
import sys, orjson
from pathlib import Path
for folder in Path(sys.argv[1], "tasks").iterdir():
    orjson.loads((folder / "state.json").read_bytes())
    with (folder / "events.jsonl").open("rb") as file:
        for line in file:
            orjson.loads(line)
"""


def measure(rounds: int) -> dict[str, Any]:
    """A round: the floor, a report without an index, and one over unchanged files."""
    home = ROOT / "build" / "bench" / "home"
    shutil.rmtree(home, ignore_errors=True)
    try:
        build(home, TASKS, EVENTS)
        # Files changed just now are not put into the index.
        time.sleep(3)
        done = list(_rounds(home, rounds))
    finally:
        shutil.rmtree(home, ignore_errors=True)
    return {"tasks": TASKS, "events": TASKS * EVENTS, "rounds": done}


def _rounds(home: Path, count: int) -> Iterator[dict[str, Any]]:
    report = [str(Path(sys.executable).with_name("instrument")), "report"]
    for n in range(1, count + 1):
        floor = timed(home, [sys.executable, "-c", FLOOR, str(home)])
        shutil.rmtree(home / "index", ignore_errors=True)
        first, again = timed(home, report), timed(home, report)
        sys.stderr.write(
            f"round {n} of {count}: first {first.wall_s / floor.wall_s:.2f}, again"
            f" {again.wall_s / floor.wall_s:.2f} of the floor\n"
        )
        yield {"floor": asdict(floor), "first": asdict(first), "again": asdict(again)}


@dataclass(frozen=True)
class Took:
    """What one process took."""

    wall_s: float
    cpu_s: float
    peak_mib: int


def timed(home: Path, argv: list[str]) -> Took:
    """Run one process to its end."""
    began = time.perf_counter()
    environment = {**os.environ, "FACTORY_HOME": str(home)}
    process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, env=environment)
    _, status, used = os.wait4(process.pid, 0)
    assert status == 0, argv
    return Took(time.perf_counter() - began, used.ru_utime + used.ru_stime, used.ru_maxrss // 1024)


def build(home: Path, tasks: int, events: int) -> None:
    """Write the folder: merged and stopped tasks with calls, checks and transitions."""
    for n in range(tasks):
        folder = home / "tasks" / f"shop-{n:05d}"
        folder.mkdir(parents=True)
        lines = list(lines_of(folder.name, BEGIN + timedelta(minutes=n), events))
        (folder / "events.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        cost = sum(line.get("cost_microusd", 0) for line in lines if line["kind"] == "model_call")
        (folder / "state.json").write_text(json.dumps(state_of(folder.name, n, cost, lines[-1]["at_utc"])))


def lines_of(task_id: str, begin: datetime, count: int) -> Any:
    """A task's life in so many events."""
    stamp = {"schema_version": 1, "task_id": task_id, "run_id": "0a1b2c3d", "purpose": "task"}
    key = f"{task_id}-implement-1-aaaaaaaa"
    for n in range(1, count + 1):
        common = {**stamp, "n": n, "at_utc": (begin + timedelta(seconds=n)).isoformat()}
        if n == 1:
            yield common | {"kind": "run_started", "pid": 7, "host": "box", "version": "1"}
        elif n == count:
            yield common | transition(key, "merge", "merged", "done", done="merged")
        elif n % 10 == 2:
            yield common | {"kind": "attempt_started", "key": key, "effect": "job.implement", "round": 1}
        elif n % 10 == 3:
            yield common | transition(key, "implement", "diff_returned", "implement")
        elif n % 10 == 4:
            yield (
                common
                | {"kind": "check_ended", "key": key, "name": "unit", "exit_code": 0}
                | {
                    "timed_out": False,
                    "duration_ms": 1200,
                }
            )
        else:
            yield common | {
                "kind": "model_call",
                "key": key,
                "call": n,
                "role": "coder",
                "round": 1,
                "model_asked": "claude-sonnet-4-5",
                "model_answered": "claude-sonnet-4-5-20250929",
                "status": 200,
                "error_type": None,
                "usage": {"input_tokens": 10, "cache_read_tokens": 40_000, "output_tokens": 300},
                "cost_microusd": 16_530,
                "settled": True,
                "estimated": False,
                "unknown_price": False,
                "duration_ms": 4000,
            }


def transition(key: str, before: str, outcome: str, after: str, **fields: Any) -> dict[str, Any]:
    return {
        "kind": "transition",
        "state_seq": 1,
        "key": key,
        "from_stage": before,
        "outcome": outcome,
        "to_stage": after,
        "spent_microusd": 1,
        "lower_bound": False,
    } | fields


def state_of(task_id: str, n: int, cost: int, end: str) -> dict[str, Any]:
    return {
        "run_id": "0a1b2c3d",
        "nonce": "0" * 32,
        "task_id": task_id,
        "purpose": "task",
        "created_utc": BEGIN.isoformat(),
        "repo": "shop",
        "task_path": "tasks/007-retry.md",
        "task_blob": "1" * 40,
        "terms": {
            "coder": {"runtime": "claude", "model": "claude-sonnet-4-5"},
            "reviewer": {"runtime": "claude", "model": "claude-sonnet-4-5"},
        },
        "ready_utc": (BEGIN + timedelta(minutes=n)).isoformat(),
        "stage": "done",
        "done": "merged",
        "ended_utc": end,
        "counters": {"coder_rounds": 1, "review_rounds": 1, "effects": {"job.gate": 1}},
        "spend": {"microusd": cost, "job_ms": 60_000},
    }
