"""A run folder of some weeks, for tests of the page: calm, stopped, restarted, damaged and hostile tasks.

Writes state, events and ledgers as the loop and the sidecar do.
"""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

HOSTILE = "</script><script>document.title = 'taken'</script><img src=x onerror=alert(1)>"
MONDAY = datetime(2026, 3, 2, 9, tzinfo=UTC)
AGENTS = {"coder": 0.6, "reviewer": 0.3}
MODEL = "claude-sonnet-4-5"


class Past:
    """One task's life, from its ready commit on."""

    def __init__(self, home: Path, name: str, ready: datetime) -> None:
        self.name = name
        self.folder = home / "tasks" / name
        self.folder.mkdir(parents=True)
        self.ready = self.now = ready
        self.lines: list[dict[str, Any]] = []
        self.cost = self.jobs = self.seq = self.job_ms = 0
        self.counters: dict[str, Any] = {"coder_rounds": 0, "review_rounds": 0, "interventions": 0}
        self.passes(40)
        self.tells(kind="run_started", pid=1, host="box", version="1")

    def passes(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)

    def tells(self, **event: Any) -> None:
        common = {"schema_version": 1, "n": len(self.lines) + 1, "at_utc": self.now.isoformat()}
        common |= {"task_id": self.name, "run_id": "0a1b2c3d", "purpose": "task"}
        self.lines.append(common | event)

    def job(self, effect: str, role: str, seconds: int, calls: int = 0, **end: Any) -> str:
        """A job with its calls, evenly over its time; returns its key."""
        self.jobs += 1
        key = f"{self.name}-{effect}-{self.jobs}-0a0a0a0a"
        round_ = max(1, self.counters["coder_rounds"])
        self.tells(kind="attempt_started", key=key, effect=f"job.{effect}", round=round_)
        self.passes(2)
        began = self.now
        folder = self.folder / "jobs" / f"{self.jobs:04d}-{role}-{round_}"
        folder.mkdir(parents=True)
        cost = 0
        rows: list[dict[str, Any]] = []
        for n in range(1, calls + 1):
            usage = {"input_tokens": 12, "cache_read_tokens": 9_000 + 700 * n, "cache_write_5m_tokens": 900}
            usage |= {"output_tokens": 240 + n}
            price = 3_900 + 97 * n
            cost += price
            start = began + timedelta(seconds=seconds * n / (calls + 1))
            ms = int(seconds * 1000 * AGENTS[role] / (calls + 1))
            rows += [
                {"kind": "call_started", "n": n, "at_utc": start.isoformat(), "path": "/v1/messages"}
                | {"model": MODEL, "reserved_microusd": 90_000, "user_agent": "agent"},
                {"kind": "call_ended", "n": n, "at_utc": (start + timedelta(milliseconds=ms)).isoformat()}
                | {"cost_microusd": price, "estimated": False, "duration_ms": ms, "status": 200}
                | {"model": MODEL, "usage": usage},
            ]
            self.tells(
                kind="model_call", key=key, call=n, role=role, round=round_, model_asked=MODEL,
                model_answered=MODEL, status=200, error_type=None, usage=usage, cost_microusd=price,
                settled=True, estimated=False, unknown_price=False, duration_ms=ms,
            )  # fmt: skip
        if rows:
            (folder / "ledger.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        self.passes(seconds)
        self.cost += cost
        self.job_ms += seconds * 1000
        known = {"runtime": "claude", "version": "2.1.332", "model_asked": MODEL, "model_answered": MODEL}
        fields = {"lost": False, "sidecar_lost": False, "ended": "exited", "exit_code": 0, "oom": False}
        fields |= {"peak_memory_bytes": 410 * 1024**2, "peak_pids": 31, "lower_bound": False}
        fields |= known if calls else dict.fromkeys(known)
        fields |= {"effect": f"job.{effect}", "role": role, "round": round_, "cost_microusd": cost}
        fields |= {"folder": str(folder.relative_to(self.folder)), "duration_ms": seconds * 1000}
        self.tells(kind="job_ended", key=key, calls=calls, **(fields | end))
        self.passes(1)
        return key

    def moves(self, key: str, outcome: str, before: str, after: str, **fields: Any) -> None:
        self.seq += 1
        fields |= {"from_stage": before, "to_stage": after, "spent_microusd": self.cost}
        self.tells(
            kind="transition", state_seq=self.seq, key=key, outcome=outcome, lower_bound=False, **fields
        )

    def git(self, effect: str, outcome: str, stage: str, after: str, **fields: Any) -> None:
        key = f"{self.name}-{effect}-{self.seq}-0b0b0b0b"
        self.tells(kind="attempt_started", key=key, effect=f"git.{effect}", round=0)
        self.passes(3)
        self.moves(key, outcome, stage, after, **fields)

    def begins(self) -> None:
        self.git("find_base", "base_found", "ready", "implement")
        self.moves(self.job("setup", "setup", 25), "image_ready", "ready", "implement")
        self.moves(self.job("baseline", "check", 18), "baseline_passed", "ready", "implement")

    def codes(self, seconds: int = 240, calls: int = 14, stop: str | None = None) -> None:
        self.counters["coder_rounds"] += 1
        key = self.job("implement", "coder", seconds, calls)
        if stop:
            self.moves(key, "coder_blocked", "implement", "stopped", stop=stop)
            self.tells(kind="run_ended", exit_code=3)
            return
        self.moves(key, "diff_returned", "implement", "check")
        self.git("commit_candidate", "candidate_committed", "implement", "check")

    def checks(self, outcome: str = "checks_passed") -> None:
        self.moves(self.job("check", "check", 45), outcome, "check", "review")

    def reviews(self, outcome: str = "review_approved") -> None:
        self.counters["review_rounds"] += 1
        self.moves(self.job("review", "reviewer", 95, 6), outcome, "review", "rebase")

    def answered_after(self, hours: float, reason: str) -> None:
        self.passes(hours * 3600)
        self.counters["interventions"] += 1
        self.tells(kind="run_started", pid=2, host="box", version="1")
        self.tells(kind="ruling_recorded", stop=reason, digest="0")
        self.tells(kind="continued", state_seq=self.seq, how="ruling", stop=reason, to_stage="implement")

    def merges(self, **state: Any) -> None:
        self.git("rebase", "rebased", "rebase", "gate")
        self.moves(self.job("gate", "gate", 60), "gate_passed", "gate", "merge")
        self.counters["effects"] = {"job.gate": 1}
        self.git("merge", "merged", "merge", "done", done="merged")
        self.tells(kind="run_ended", exit_code=0)
        self.saves(stage="done", done="merged", ended_utc=self.now.isoformat(), **state)

    def saves(self, **state: Any) -> None:
        spend = {"microusd": self.cost, "job_ms": self.job_ms} | state.pop("spend", {})
        agent = {"runtime": "claude", "model": MODEL}
        whole = {"run_id": "0a1b2c3d", "nonce": "0" * 32, "task_id": self.name, "purpose": "task"}
        whole |= {"created_utc": self.ready.isoformat(), "ready_utc": self.ready.isoformat()}
        whole |= {"repo": self.name.partition("-")[0], "task_path": "tasks/7.md", "task_blob": "1" * 40}
        whole |= {"terms": {"coder": agent, "reviewer": agent}, "counters": self.counters, "spend": spend}
        (self.folder / "state.json").write_text(json.dumps(whole | state))
        (self.folder / "events.jsonl").write_text("".join(json.dumps(line) + "\n" for line in self.lines))


def write_past(home: Path) -> None:
    """Twelve tasks in four weeks: eight calm ones, one answered, one stopped, one damaged, one hostile."""
    for n in range(8):
        calm = Past(home, f"shop-{n + 1:03d}", MONDAY + timedelta(days=3 * n, hours=n % 3))
        calm.begins()
        for round_ in range(1 + n % 3):
            calm.codes(180 + 50 * n, 8 + 3 * n)
            calm.checks("checks_passed" if round_ or n % 3 != 2 else "check_failed")
        calm.reviews()
        calm.merges()
    write_trouble(home)


def write_trouble(home: Path) -> None:
    """What a page must not smooth over."""
    asks = Past(home, "shop-020", MONDAY + timedelta(days=15, hours=6))
    asks.begins()
    asks.codes(300, 20, stop="blocked")
    asks.answered_after(16.5, "blocked")
    asks.codes(200, 11)
    asks.checks()
    asks.reviews()
    asks.merges()
    stuck = Past(home, "shop-021", MONDAY + timedelta(days=18))
    stuck.begins()
    stuck.codes(600, 40)
    stuck.moves(stuck.job("check", "check", 300, oom=True), "checks_failed_too_often", "check", "stopped",
                stop="checks_exhausted")  # fmt: skip
    stop = {"reason": "checks_exhausted", "stage": "check", "outcome": "checks_failed_too_often"}
    stuck.saves(stage="stopped", stop=stop)
    torn = Past(home, "shop-022", MONDAY + timedelta(days=20))
    torn.begins()
    torn.codes(120, 9)
    torn.saves()
    (torn.folder / "state.json").unlink()
    (torn.folder / "jobs" / "0003-coder-1" / "ledger.jsonl").unlink()
    hostile = Past(home, f"web-\x1b<b>{HOSTILE.replace('/', '')}", MONDAY + timedelta(days=22))
    hostile.begins()
    hostile.codes(150, 9)
    hostile.checks()
    hostile.reviews()
    finding = {"id": "F1", "severity": "note", "path": f"{HOSTILE}.py", "line": 3, "quote": "", "round": 1}
    finding |= {"text": f"\x1b[31m\u202e{HOSTILE}", "evidence": ""}
    hostile.merges(findings=[finding], spend={"lower_bound": True, "unmetered_jobs": 1})
