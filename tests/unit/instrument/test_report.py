from pathlib import Path
from typing import Any

import pytest

from instrument.asked import Asked
from instrument.figures import JobLine, Report, Row
from instrument.found import TaskNotFoundError
from instrument.report import build_report, one_task
from instrument.rows import read_rows
from instrument.schema.grants import Grants
from instrument.schema.usage import Usage
from instrument.schema.vocabulary import DoneReason, NoticeKind, Purpose, Stage, StopReason

KEY_1 = "api-007-implement-1-aaaaaaaa"
KEY_2 = "api-007-review-1-bbbbbbbb"
ASKED = "claude-sonnet-4-5"
OTHER = "another-model-1"


def report(home: Any, purpose: Purpose | None = Purpose.TASK) -> Report:
    return build_report(read_rows(home.path), Asked(purpose=purpose))


def jobs_of(home: Any) -> tuple[JobLine, ...]:
    (row,) = report(home).rows
    return one_task(home.path, row.task_id).jobs


def only(home: Any) -> Row:
    (row,) = report(home).rows
    return row


def test_cost_per_accepted_counts_failed_tasks_and_rounds_up(home: Any, events: Any) -> None:
    # 100,000 merged + 50,001 merged + 30,000 stopped = 180,001 micro-dollars over two accepted:
    # 90,000.5, rounded up 90,001.
    for name, cost in (("api-001", 100_000), ("api-002", 50_001)):
        folder = home.folder(name)
        folder.write_merged(cost)
        folder.write_events(events.call(KEY_1, 1, cost))
    folder = home.folder("api-003")
    stop = {"reason": "checks_exhausted", "stage": "check", "outcome": "checks_failed_too_often"}
    folder.write_state(stage="stopped", stop=stop, spend={"microusd": 30_000})
    folder.write_events(events.call(KEY_1, 1, 30_000), events.stopped(9, "checks_exhausted"))

    made = report(home)

    assert (made.tasks, made.accepted, made.cost_microusd) == (3, 2, 180_001)
    assert made.cost_per_accepted_microusd == 90_001
    assert not made.lower_bound
    assert made.rows[2].stop is StopReason.CHECKS_EXHAUSTED
    assert made.rows[2].lead_ms is None


def test_none_accepted_has_no_figure_beside_the_total(home: Any, events: Any) -> None:
    folder = home.folder("api-001")
    folder.write_state(stage="done", done="already_upstream", spend={"microusd": 7})
    folder.write_events(events.call(KEY_1, 1, 7))

    made = report(home)

    assert (made.accepted, made.cost_per_accepted_microusd, made.cost_microusd) == (0, None, 7)


def test_a_row_has_the_hand_computed_figures(home: Any, events: Any) -> None:
    folder = home.folder("api-007")
    folder.write_merged(1_600, coder_rounds=1, review_rounds=1, effects={"job.gate": 2})
    folder.write_events(
        events.call(KEY_1, 1, 1_000, {"input_tokens": 100, "output_tokens": 10, "reasoning_tokens": 4}),
        events.call(KEY_1, 2, 500, {"cache_read_tokens": 90, "cache_write_5m_tokens": 20}),
        events.job(KEY_1, 1_500, 2),
        events.call(KEY_2, 1, 100, {"input_tokens": 1, "cache_write_1h_tokens": 3}, role="reviewer"),
        events.job(KEY_2, 100, 1, role="reviewer", effect="job.review", folder="jobs/0003-reviewer-1"),
    )

    row = only(home)

    assert (row.stage, row.done, row.cost_microusd) == (Stage.DONE, DoneReason.MERGED, 1_600)
    assert row.lead_ms == 12 * 60_000 + 3_500
    assert (row.coder_rounds, row.review_rounds, row.gates, row.job_ms) == (1, 1, 2, 60_000)
    # 100 + 1 input; 10 output with the 4 of reasoning inside.
    assert row.usage == Usage(
        input_tokens=101,
        cache_read_tokens=90,
        cache_write_5m_tokens=20,
        cache_write_1h_tokens=3,
        output_tokens=10,
        reasoning_tokens=4,
    )
    assert row.usage_complete
    assert row.missing == ()
    assert [(job.folder, job.calls, job.cost_microusd) for job in jobs_of(home)] == [
        ("jobs/0002-coder-1", 2, 1_500),
        ("jobs/0003-reviewer-1", 1, 100),
    ]


def test_a_call_written_again_after_a_crash_counts_once(home: Any, events: Any) -> None:
    folder = home.folder("api-007")
    folder.write_merged(1_500)
    twice = [
        events.call(KEY_1, 1, 1_000, {"input_tokens": 5}),
        events.call(KEY_1, 2, 500, {"input_tokens": 7}),
        events.job(KEY_1, 1_500, 2),
    ]
    folder.write_events(*twice, events.stopped(4, "job_timeout"), *twice, events.stopped(4, "job_timeout"))

    row = only(home)

    assert row.usage.input_tokens == 5 + 7
    assert row.usage_complete
    assert [job.calls for job in jobs_of(home)] == [2]
    assert row.stops == (StopReason.JOB_TIMEOUT,)


def test_only_the_purpose_asked_for_counts(home: Any, events: Any) -> None:
    for name, purpose, cost in (("api-001", "task", 10), ("api-002", "demo", 200)):
        folder = home.folder(name, purpose)
        folder.write_merged(cost)
        folder.write_events(events.call(KEY_1, 1, cost))

    assert (report(home).cost_microusd, report(home).not_shown) == (10, 1)
    assert report(home, Purpose.DEMO).cost_microusd == 200
    assert report(home, Purpose.CANARY).tasks == 0
    everything = report(home, None)
    assert (everything.cost_microusd, everything.purpose, everything.not_shown) == (210, None, 0)


def test_unmetered_jobs_make_a_lower_bound_and_are_counted(home: Any, events: Any) -> None:
    whole = home.folder("api-001")
    whole.write_merged(10)
    whole.write_events(events.call(KEY_1, 1, 10))
    torn = home.folder("api-002")
    torn.write_state(stage="review", spend={"microusd": 5, "lower_bound": True, "unmetered_jobs": 2})
    torn.write_events(events.call(KEY_1, 1, 5), events.job(KEY_1, 5, 1, lower_bound=True))

    made = report(home)

    assert (made.lower_bound, made.unmetered_parts, made.cost_microusd) == (True, 2, 15)
    assert [row.lower_bound for row in made.rows] == [False, True]
    assert made.rows[1].missing == ("the cost of 2 jobs is not fully known",)


def test_a_job_that_is_not_collected_makes_a_lower_bound(home: Any, events: Any) -> None:
    folder = home.folder("api-001")
    folder.write_state(
        stage="implement", spend={"microusd": 5}, attempt={"key": KEY_2, "kind": "job.implement"}
    )
    folder.write_events(events.call(KEY_1, 1, 5))

    row = only(home)

    assert (row.lower_bound, row.unmetered_parts) == (True, 1)
    assert row.missing == ("the job begun last is not collected yet",)


def test_a_check_under_way_costs_nothing_and_leaves_the_total_exact(home: Any, events: Any) -> None:
    folder = home.folder("api-001")
    folder.write_state(stage="check", spend={"microusd": 5}, attempt={"key": KEY_2, "kind": "job.check"})
    folder.write_events(events.call(KEY_1, 1, 5))

    assert not only(home).lower_bound


def test_the_state_decides_where_the_record_has_less(home: Any, events: Any) -> None:
    folder = home.folder("api-001")
    folder.write_merged(1_000)
    folder.write_events(events.call(KEY_1, 1, 400, {"input_tokens": 9}))

    row = only(home)

    assert (row.cost_microusd, row.lower_bound, row.usage_complete) == (1_000, False, False)
    assert row.missing == ("events.jsonl lacks model calls that state.json counts",)


def test_a_record_with_more_than_the_state_makes_the_cost_a_lower_bound(home: Any, events: Any) -> None:
    folder = home.folder("api-001")
    folder.write_merged(400)
    folder.write_events(events.call(KEY_1, 1, 1_000))

    row = only(home)

    assert (row.cost_microusd, row.lower_bound, row.unmetered_parts) == (400, True, 1)
    assert row.missing == ("events.jsonl has model calls that state.json does not count",)


def test_a_call_without_an_end_leaves_the_tokens_open(home: Any, events: Any) -> None:
    folder = home.folder("api-001")
    folder.write_merged(9)
    folder.write_events(events.call(KEY_1, 1, 9, settled=False))

    row = only(home)

    assert (row.lower_bound, row.usage_complete) == (True, False)
    assert row.missing == ("a model call has no end on record",)


def test_restarted_runs_add_their_cost_to_the_one_task(home: Any, events: Any) -> None:
    for name, cost, rounds in (("api-007.old-1", 100, 3), ("api-007.old-2", 20, 1)):
        folder = home.folder(name)
        folder.write_state(stage="stopped", spend={"microusd": cost}, counters={"coder_rounds": rounds})
        folder.write_events(events.call(KEY_1, 1, cost), events.stopped(3, "job_timeout"))
    folder = home.folder("api-007")
    folder.write_merged(3, coder_rounds=1)
    folder.write_events(events.call(KEY_1, 1, 3))

    made = report(home)
    (row,) = made.rows

    # 100 + 20 + 3 micro-dollars; 3 + 1 + 1 rounds; one accepted task, though three folders.
    assert (made.cost_microusd, made.accepted, made.tasks) == (123, 1, 1)
    assert (row.runs, row.coder_rounds, row.done) == (3, 5, DoneReason.MERGED)
    assert row.stops == (StopReason.JOB_TIMEOUT, StopReason.JOB_TIMEOUT)
    assert [job.run for job in jobs_of(home)] == ["api-007.old-1", "api-007.old-2", "api-007"]


@pytest.mark.parametrize("called", [ASKED, OTHER])
def test_another_model_than_the_configured_is_marked_whichever_the_program_called(
    home: Any, events: Any, called: str
) -> None:
    folder = home.folder("api-001")
    folder.write_merged(5)
    folder.write_events(
        events.call(KEY_1, 1, 2),
        events.call(KEY_1, 2, 3, model_asked=called, model_answered=OTHER),
        events.differed(KEY_1, "model", ASKED, OTHER),
        events.job(KEY_1, 5, 2),
    )

    agents = only(home).agents

    assert [(agent.model_asked, agent.model_answered, agent.differs) for agent in agents] == [
        (ASKED, f"{ASKED}-20250929", False),
        (ASKED, OTHER, True),
    ]
    assert {(agent.runtime, agent.version, agent.version_pinned) for agent in agents} == {
        ("claude", "2.1.332", None)
    }


def test_a_difference_without_calls_and_without_an_end_still_shows(home: Any, events: Any) -> None:
    folder = home.folder("api-001")
    folder.write_merged(0)
    folder.write_events(
        events.differed(KEY_1, "version", "2.1.400", "2.1.332"),
        events.job(KEY_1, 0, 0),
        events.differed(KEY_2, "version", "2.1.400", "2.1.331", role="reviewer"),
    )

    row = only(home)

    assert [(job.role, job.collected) for job in jobs_of(home)] == [("coder", True), ("reviewer", False)]
    assert [(agent.version, agent.version_pinned) for agent in row.agents] == [("2.1.332", "2.1.400")]


def test_what_was_noticed_counts_once_a_job_over_all_runs(home: Any, events: Any) -> None:
    for name in ("api-001.old-1", "api-001"):
        folder = home.folder(name)
        folder.write_merged(0)
        folder.write_events(
            events.noticed(KEY_1, "budget_80"),
            events.noticed(KEY_1, "budget_80"),
            events.noticed(KEY_2, "auth_refused", calls=2),
        )

    assert only(home).notices == {NoticeKind.BUDGET_80: 2, NoticeKind.AUTH_REFUSED: 2}


def test_a_merge_before_its_ready_commit_has_no_lead_time(home: Any) -> None:
    folder = home.folder("api-001")
    folder.write_state(stage="done", done="merged", ended_utc="2026-03-01T09:59:59Z")
    folder.write_events()

    row = only(home)

    assert row.lead_ms is None
    assert row.missing == ("the ready commit is dated after the merge",)


def test_one_task_is_found_by_its_id(home: Any) -> None:
    home.folder("api-001").write_merged(1)
    home.folder("api-0011").write_merged(2)

    assert one_task(home.path, "api-001").row.cost_microusd == 1
    with pytest.raises(TaskNotFoundError, match="no task api-9 has begun under"):
        one_task(home.path, "api-9")


def test_the_report_is_its_own_documented_model(home: Any, events: Any) -> None:
    folder = home.folder("api-001")
    folder.write_merged(5)
    folder.write_events(events.call(KEY_1, 1, 5), events.job(KEY_1, 5, 1))

    made = report(home)

    assert Report.model_validate_json(made.model_dump_json()) == made


def test_a_folder_with_a_lock_alone_is_no_task(home: Any) -> None:
    (home.folder("api-001").path / "lock").touch()

    assert report(home).tasks == 0


def test_no_run_folder_is_no_task(tmp_path: Path) -> None:
    assert list(read_rows(tmp_path / "absent")) == []


def finding(number: int, **fields: Any) -> dict[str, Any]:
    return {
        "id": f"F{number}",
        "severity": "should-fix",
        "path": "src/retry.py",
        "text": "One form would do.",
        "round": 2,
    } | fields


def test_only_what_the_last_review_left_and_nobody_closed_is_open(home: Any) -> None:
    folder = home.folder("api-007")
    folder.write_state(
        stage="review",
        counters={"review_rounds": 2},
        findings=[
            finding(1, round=1),
            finding(2, severity="must-fix", closed=True),
            finding(3, severity="must-fix", line=7),
            finding(4),
        ],
    )

    shown = [(f.id, f.severity, f.path, f.line, f.text) for f in only(home).open_findings]

    assert shown == [
        ("F3", "must-fix", "src/retry.py", 7, "One form would do."),
        ("F4", "should-fix", "src/retry.py", None, "One form would do."),
    ]


def test_flaky_checks_and_interventions_are_those_of_all_runs(home: Any) -> None:
    old = home.folder("api-007.old-1")
    old.write_state(flaky=["unit", "style"], counters={"interventions": 2}, grants={"review": 9})
    new = home.folder("api-007")
    new.write_state(flaky=["style", "full"], counters={"interventions": 3}, grants={"review": 6})

    row = only(home)

    assert (row.flaky, row.interventions) == (("unit", "style", "full"), 5)
    assert row.grants.review == 6

    (new.path / "state.json").write_text("{}")
    row = only(home)
    assert (row.flaky, row.interventions, row.grants) == (("unit", "style"), None, Grants())
    assert row.open_findings == ()


def test_what_ended_with_nothing_to_merge_is_done_and_not_accepted(home: Any) -> None:
    home.folder("api-001").write_merged(100)
    home.folder("api-002").write_state(stage="done", done="already_satisfied", spend={"microusd": 11})
    home.folder("api-003").write_state(stage="done", done="already_upstream")
    home.folder("api-004").write_state(stage="check")

    made = report(home)

    assert (made.tasks, made.accepted, made.done_unmerged) == (4, 1, 2)
    # 100 + 11 over the one that was merged.
    assert made.cost_per_accepted_microusd == 111
