"""Ten tasks with every figure worked out by hand.

Every task was ready at 10:00 of its day. A loop takes it up a minute later; a coder takes 5 minutes, the
checks 2, a review 3, the gate 2. Each coder job costs 40,000 micro-dollars and each review 10,000.
"""

import os
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from instrument.asked import Asked
from instrument.figures import Report
from instrument.parts import Part
from instrument.report import build_comparison, build_report
from instrument.rows import read_rows
from instrument.schema.vocabulary import Purpose, RuntimeName
from instrument.window import parse_window

MINUTE = 60_000


class Life:
    """Writes one task's events, minute by minute."""

    def __init__(self, home: Any, events: Any, name: str, day: int, **how: Any) -> None:
        self.folder = home.folder(name, how.get("purpose", "task"))
        self.ready = datetime(2026, 3, day, 10, 0, tzinfo=UTC)
        self.runtime = how.get("runtime", "claude")
        self.minute = 0
        self.events: list[dict[str, Any]] = []
        self.made = events
        self.cost = 0
        self.jobs = 0
        self.coder_rounds = self.review_rounds = self.interventions = 0
        self.seq = 0
        self.passes(1)
        self.tells(kind="run_started", pid=1, host="box", version="1")

    def passes(self, minutes: int) -> None:
        self.minute += minutes

    def now(self) -> str:
        return (self.ready + timedelta(minutes=self.minute)).isoformat()

    def tells(self, **event: Any) -> None:
        self.events.append(event | {"at_utc": self.now()})

    def job(self, effect: str, role: str, minutes: int, cost: int = 0, **end: Any) -> None:
        self.jobs += 1
        key = f"{self.folder.path.name}-{effect}-{self.jobs}"
        self.tells(kind="attempt_started", key=key, effect=f"job.{effect}", round=1)
        self.passes(minutes)
        runtime = self.runtime if cost else None
        if cost:
            self.cost += cost
            usage = {"input_tokens": 100, "cache_read_tokens": 300, "output_tokens": 50}
            self.tells(**self.made.call(key, 1, cost, usage, role=role))
        fields = {"effect": f"job.{effect}", "role": role, "runtime": runtime} | end
        self.tells(**self.made.job(key, cost, int(bool(cost)), duration_ms=minutes * MINUTE, **fields))

    def codes(self, **end: Any) -> None:
        self.coder_rounds += 1
        self.job("implement", "coder", 5, 40_000, **end)
        self.moves("candidate_committed")

    def checks(self) -> None:
        self.job("check", "check", 2, peak_memory_bytes=300 * 1024**2, peak_pids=9)
        self.moves("checks_passed")

    def reviews(self) -> None:
        self.review_rounds += 1
        self.job("review", "reviewer", 3, 10_000)
        self.moves("review_approved")

    def gates(self) -> None:
        self.job("gate", "gate", 2)
        self.moves("gate_passed")

    def moves(self, outcome: str, stop: str | None = None) -> None:
        self.seq += 1
        fields = {"key": "", "from_stage": "implement", "outcome": outcome, "to_stage": "review"}
        fields |= {"spent_microusd": self.cost, "lower_bound": False}
        self.tells(kind="transition", state_seq=self.seq, stop=stop, **fields)

    def stops(self, reason: str) -> None:
        self.moves("coder_blocked", stop=reason)
        self.tells(kind="run_ended", exit_code=3)

    def answered(self, how: str, reason: str) -> None:
        self.tells(kind="run_started", pid=2, host="box", version="1")
        if how == "ruling":
            self.interventions += 1
            self.tells(kind="ruling_recorded", stop=reason, digest="0")
        self.tells(kind="continued", state_seq=9, how=how, stop=reason, to_stage="implement")

    def finishes(self, **state: Any) -> None:
        counters = {"coder_rounds": self.coder_rounds, "review_rounds": self.review_rounds}
        counters |= {"interventions": self.interventions}
        spend = {"microusd": self.cost, "job_ms": MINUTE} | state.pop("spend", {})
        times = {"ready_utc": self.ready.isoformat(), "ended_utc": self.now()}
        repo = self.folder.path.name.partition("-")[0]
        self.folder.write_state(**times, repo=repo, counters=counters, spend=spend, **state)
        self.folder.write_events(*self.events)

    def merges(self, **state: Any) -> None:
        self.gates()
        self.finishes(stage="done", done="merged", **state)


@pytest.fixture
def ten(home: Any, events: Any) -> Any:
    write_accepted(home, events)
    write_others(home, events)
    return home


def write_accepted(home: Any, events: Any) -> None:
    # 1: calm. Lead 1 + 5 + 2 + 3 + 2 = 13. Cost 50,000.
    calm = Life(home, events, "api-001", 2)
    calm.codes()
    calm.checks()
    calm.reviews()
    calm.merges()
    # 2: the review sends it back once. Lead 1 + 2 * (5 + 2 + 3) + 2 = 23. Cost 100,000.
    twice = Life(home, events, "api-002", 3)
    for _ in range(2):
        twice.codes()
        twice.checks()
        twice.reviews()
    twice.merges()
    # 3: asks, and is answered after 30 minutes. Lead 1 + 5 + 30 + 5 + 2 + 3 + 2 = 48. Cost 90,000.
    asks = Life(home, events, "api-003", 4)
    asks.codes()
    asks.stops("blocked")
    asks.passes(30)
    asks.answered("ruling", "blocked")
    asks.codes()
    asks.checks()
    asks.reviews()
    asks.merges()
    # 4: the provider's limit, run again after 15 minutes. Lead 1 + 5 + 15 + 5 + 2 + 3 + 2 = 33. Cost 90,000.
    limited = Life(home, events, "api-004", 5, runtime="codex")
    limited.codes()
    limited.stops("provider_rate_limited")
    limited.passes(15)
    limited.answered("rerun", "provider_rate_limited")
    limited.codes()
    limited.checks()
    limited.reviews()
    limited.merges()
    # 5: waits 10 minutes for another task and 4 for a slot. Lead 13 + 14 = 27. Cost 50,000.
    waits = Life(home, events, "api-005", 9)
    waits.passes(10)
    waits.tells(kind="waited", what="task", duration_ms=10 * MINUTE)
    waits.passes(4)
    waits.tells(kind="waited", what="slot", duration_ms=4 * MINUTE)
    waits.codes()
    waits.checks()
    waits.reviews()
    waits.merges()


def write_others(home: Any, events: Any) -> None:
    # 6: stopped for good after two rounds. Not merged: 80,000.
    stuck = Life(home, events, "api-006", 9)
    stuck.codes(oom=True)
    stuck.codes(ended="deadline")
    stuck.stops("checks_exhausted")
    stop = {"reason": "checks_exhausted", "stage": "check", "outcome": "checks_failed_too_often"}
    stuck.finishes(stage="stopped", stop=stop)
    # 7: nothing to merge. 40,000.
    upstream = Life(home, events, "api-007", 10, runtime="codex")
    upstream.codes()
    upstream.finishes(stage="done", done="already_upstream")
    # 8: the loop is killed in the coder's third minute and started again 20 minutes later; the job was
    # adopted and had ended by itself. Lead 1 + 3 + 20 + 2 + 2 + 3 + 2 = 33. Cost 50,000.
    killed = Life(home, events, "web-008", 11)
    key = "web-008-implement-1"
    killed.tells(kind="attempt_started", key=key, effect="job.implement", round=1)
    killed.passes(3)
    killed.tells(kind="request_denied", key=key, reason="path", count=1)
    killed.passes(20)
    killed.tells(kind="run_started", pid=3, host="box", version="1")
    killed.coder_rounds += 1
    killed.job("implement", "coder", 2, 40_000)
    killed.moves("candidate_committed")
    killed.checks()
    killed.reviews()
    killed.merges()
    # 9: one job's sidecar was lost: 50,000 is a lower bound. Lead 13.
    lost = Life(home, events, "web-009", 12)
    lost.codes(lost=True, lower_bound=True)
    lost.checks()
    lost.reviews()
    lost.merges(spend={"lower_bound": True, "unmetered_jobs": 1})
    # 10: a demo, which is none of theirs.
    demo = Life(home, events, "demo-010", 12, purpose="demo")
    demo.codes()
    demo.finishes(stage="implement")


def report(ten: Any, **asked: Any) -> Report:
    by = asked.pop("by", None)
    return build_report(read_rows(ten.path), Asked(**asked), by)


def test_the_headline(ten: Any) -> None:
    made = report(ten)

    # Accepted: 1, 2, 3, 4, 5, 8 and 9.
    assert (made.tasks, made.accepted, made.done_unmerged, made.not_shown) == (9, 7, 1, 1)
    # 50 + 100 + 90 + 90 + 50 + 80 + 40 + 50 + 50 = 600 thousand; over seven 85,714.28..., rounded up.
    assert made.cost_microusd == 600_000
    assert made.cost_per_accepted_microusd == 85_715
    assert (made.lower_bound, made.unmetered_parts) == (True, 1)
    assert made.unmerged_microusd == 80_000 + 40_000


def test_the_lead_time_and_its_parts(ten: Any) -> None:
    made = report(ten)

    # 13, 13, 23, 27, 33, 33, 48: the 4th of seven; 90 % of seven is 6.3, so the 7th.
    lead = made.lead_ms
    assert (lead.count, lead.total, lead.median, lead.p90) == (
        7,
        190 * MINUTE,
        27 * MINUTE,
        48 * MINUTE,
    )
    minutes = {part: spread.total / MINUTE for part, spread in made.times_ms.items() if spread.total}
    assert minutes == {
        Part.NOT_BEGUN: 7,
        Part.WORKING: 5 + 10 + 10 + 10 + 5 + (3 + 2) + 5,
        Part.CHECKING: 7 * 4 + 2,
        Part.REVIEWING: 7 * 3 + 3,
        Part.TASK: 10,
        Part.SLOT: 4,
        Part.PERSON: 30,
        Part.PROVIDER: 15,
        Part.INTERRUPTED: 20,
    }
    assert sum(minutes.values()) == 190
    # Six of seven did not wait for a person at all.
    assert (made.times_ms[Part.PERSON].median, made.times_ms[Part.PERSON].p90) == (0, 30 * MINUTE)


def test_what_persons_did(ten: Any) -> None:
    made = report(ten)

    assert (made.interventions, made.interventions_by_kind) == (1, {"ruling": 1})
    # All but 3; 4 was started again by whoever starts things, which is no word of a person.
    assert made.untouched == 6
    # 1, 5, 8 and 9.
    assert made.first_attempt == 4
    # The answer to 3, and the rerun of 4.
    answers = made.answers_ms
    assert (answers.count, answers.total, answers.median) == (2, 45 * MINUTE, 15 * MINUTE)


def test_rounds_stops_kills_and_peaks(ten: Any) -> None:
    made = report(ten)

    assert (made.coder_rounds, made.review_rounds) == (1 + 2 + 2 + 2 + 1 + 2 + 1 + 1 + 1, 8)
    assert made.stops == {"blocked": 1, "provider_rate_limited": 1, "checks_exhausted": 1}
    assert made.kills == {"memory": 1, "deadline": 1, "lost": 1}
    assert (made.peak_memory_bytes, made.peak_pids) == (300 * 1024**2, 9)
    # Thirteen coder jobs and eight reviews, each one call.
    calls = 13 + 8
    assert made.usage.input_tokens == 100 * calls
    assert made.usage.cache_read_tokens == 300 * calls


def test_filters_take_part_of_them(ten: Any) -> None:
    assert [row.task_id for row in report(ten, repo="web").rows] == ["web-008", "web-009"]
    assert [row.task_id for row in report(ten, runtime=RuntimeName.CODEX).rows] == ["api-004", "api-007"]
    assert report(ten, state="stopped").cost_microusd == 80_000
    assert report(ten, state="accepted").accepted == report(ten, state="accepted").tasks == 7
    assert report(ten, state="done").tasks == 8
    assert [row.task_id for row in report(ten, state="open", purpose=None).rows] == ["demo-010"]
    assert [row.task_id for row in report(ten, window=parse_window("2026-03-09")).rows] == [
        "api-005",
        "api-006",
    ]
    assert report(ten, purpose=Purpose.DEMO).cost_microusd == 40_000
    assert report(ten, model="claude-sonnet-4-5-20250929").tasks == 9


def test_groups_add_up_to_the_whole(ten: Any) -> None:
    made = report(ten, by="week")

    # Weeks of 2026 begin on 2 and 9 March.
    assert [(group.key, group.summary.accepted, group.summary.cost_microusd) for group in made.groups] == [
        ("2026-W10", 4, 330_000),
        ("2026-W11", 3, 270_000),
    ]
    runtimes = report(ten, by="runtime").groups
    assert [(group.key, group.summary.cost_microusd) for group in runtimes] == [
        ("claude", 470_000),
        ("codex", 130_000),
    ]
    for by in ("week", "repo", "runtime", "model"):
        assert sum(group.summary.cost_microusd or 0 for group in report(ten, by=by).groups) == 600_000


def test_two_weeks_side_by_side(ten: Any) -> None:
    weeks = (parse_window("2026-W10"), parse_window("2026-W11"))

    pair = build_comparison(read_rows(ten.path), Asked(), weeks)

    # 330,000 over four and 270,000 over three.
    assert pair.first.cost_per_accepted_microusd == 82_500
    assert pair.second.cost_per_accepted_microusd == 90_000
    # 13, 23, 33, 48 and 13, 27, 33.
    assert (pair.first.lead_ms.median, pair.second.lead_ms.median) == (23 * MINUTE, 27 * MINUTE)


def test_the_same_figures_come_from_the_index(ten: Any) -> None:
    first = report(ten, by="runtime")
    index = ten.path / "index" / "rows.jsonl"
    for folder in (ten.path / "tasks").iterdir():
        age(folder)
    list(read_rows(ten.path))
    before = index.stat().st_ino

    assert report(ten, by="runtime") == first
    assert index.stat().st_ino == before


def age(folder: Any) -> None:
    """Make a folder's files old enough for the index."""
    for path in (*folder.iterdir(), folder):
        os.utime(path, (1_772_000_000, 1_772_000_000))
