"""`make bench-report`: what a report over 10,000 tasks and a million events takes, against the floor.

The floor reads the same bytes once and parses them with orjson, in one process. Every figure is a ratio
within one run; each program is a process of its own. Writes `build/bench/report.json`.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
BEGIN = datetime(2026, 1, 5, tzinfo=UTC)
FLOOR = """
import sys, orjson
from pathlib import Path
for folder in Path(sys.argv[1], "tasks").iterdir():
    orjson.loads((folder / "state.json").read_bytes())
    with (folder / "events.jsonl").open("rb") as file:
        for line in file:
            orjson.loads(line)
"""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--tasks", type=int, default=10_000)
    parser.add_argument("--events", type=int, default=100, help="of a task")
    parser.add_argument("--runs", type=int, default=3)
    asked = parser.parse_args()
    home = ROOT / "build" / "bench" / "home"
    shutil.rmtree(home, ignore_errors=True)
    build(home, asked.tasks, asked.events)
    # Files changed just now are not put into the index.
    time.sleep(3)
    floor, first, again = [], [], []
    report = [str(Path(sys.executable).with_name("instrument")), "report"]
    for _ in range(asked.runs):
        floor.append(timed(home, [sys.executable, "-c", FLOOR, str(home)]))
        shutil.rmtree(home / "index", ignore_errors=True)
        first.append(timed(home, report))
        again.append(timed(home, report))
    result = {
        "tasks": asked.tasks,
        "events": asked.tasks * asked.events,
        "first_over_floor": ratio(first, floor, "wall_s"),
        "first_over_floor_cpu": ratio(first, floor, "cpu_s"),
        "unchanged_over_floor": ratio(again, floor, "wall_s"),
        "unchanged_over_floor_cpu": ratio(again, floor, "cpu_s"),
        "first_peak_mib": max(run.peak_mib for run in first),
        "unchanged_peak_mib": max(run.peak_mib for run in again),
        "floor_s": [round(run.wall_s, 2) for run in floor],
    }
    (ROOT / "build" / "bench" / "report.json").write_text(json.dumps(result) + "\n")
    sys.stdout.write(json.dumps(result, indent=2) + "\n")


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


def ratio(runs: list[Took], floors: list[Took], what: str) -> float:
    """The median of the runs' ratios to their own floors."""
    pairs = zip(runs, floors, strict=True)
    return round(statistics.median(getattr(run, what) / getattr(floor, what) for run, floor in pairs), 2)


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


if __name__ == "__main__":
    main()
