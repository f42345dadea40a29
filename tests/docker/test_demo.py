"""The main job end to end: the real agent program, the real engine, the scripted provider."""

import json
from pathlib import Path
from typing import Any

import pytest

from instrument.found import find_task
from instrument.reads import read_task
from instrument.report import one_task
from instrument.schema.vocabulary import DoneReason, EffectKind, Outcome, Role, Stage
from jobs.engine import Engine
from loop.demo import EXAMPLE
from support.recorder import Recorder, creates, faults, record
from support.stand import Loop, demo_story, open_demo

pytestmark = pytest.mark.docker

EXPECTED: dict[str, Any] = json.loads((EXAMPLE.parent / "durations-story.expected.json").read_text())
ROUNDS = [(r["role"], r["round"], r["calls"], r["cost_microusd"]) for r in EXPECTED["rounds"]]
MORE_OUTPUT_TOKENS = 100
MICROUSD_PER_OUTPUT_TOKEN = 15
"""Of claude-sonnet-4-5, $15 a million; in the expected file too, as text."""


def changed_story() -> dict[str, Any]:
    """The demo's story with one usage figure changed: a hundred output tokens more in one answer."""
    story = demo_story()
    story["rounds"][1]["turns"][1]["usage"]["output"] += MORE_OUTPUT_TOKENS
    return story


@pytest.fixture(scope="module")
def demo(engine: Engine, job_image: str, tmp_path_factory: pytest.TempPathFactory) -> Any:  # noqa: ARG001
    """One demo, run with a recorder beside it; many tests look at what it left."""
    with (
        record() as recorder,
        open_demo(tmp_path_factory.mktemp("demo"), engine, changed_story()) as loop,
    ):
        loop.run()
        yield loop, recorder


@pytest.fixture
def loop(demo: tuple[Loop, Recorder]) -> Loop:
    return demo[0]


def test_the_merged_commit_is_in_the_bare_origin_and_in_the_checkout(loop: Loop) -> None:
    state = loop.state
    assert (state.stage, state.done) == (Stage.DONE, DoneReason.MERGED)
    assert loop.origin_git("rev-parse", "main") == state.merged == state.gated
    assert loop.origin_git("rev-list", "--count", "main") == "2"
    changed = loop.origin_git("diff", "--name-only", "main~1", "main").splitlines()
    assert changed == ["durations/text.py", "tasks/001-carry-rounded-seconds.md", "tests/test_text.py"]
    assert "status: done" in loop.origin_git("show", "main:tasks/001-carry-rounded-seconds.md")
    assert "Task: durations-001" in loop.origin_git("log", "-1", "--format=%(trailers)", "main")
    assert "60s" not in (loop.checkout / "durations/text.py").read_text()
    head = (loop.checkout / ".git/refs/heads/main").read_text().strip()
    assert head == state.merged


def test_the_report_shows_the_rounds_and_the_exact_cost(loop: Loop) -> None:
    report = loop.report()
    (row,) = report.rows
    assert (row.coder_rounds, row.review_rounds, row.gates, row.stops) == (3, 2, 1, ())
    by_hand = EXPECTED["cost_microusd"] + MORE_OUTPUT_TOKENS * MICROUSD_PER_OUTPUT_TOKEN
    assert by_hand == 342262 + 1500
    assert row.cost_microusd == report.cost_microusd == report.cost_per_accepted_microusd == by_hand
    assert not row.lower_bound
    assert row.usage_complete
    tokens = EXPECTED["tokens"]
    assert row.usage.input_tokens == tokens["input"]
    assert row.usage.cache_read_tokens == tokens["cache_read"]
    assert row.usage.cache_write_5m_tokens == tokens["cache_write_5m"]
    assert row.usage.cache_write_1h_tokens == tokens["cache_write_1h"]
    assert row.usage.output_tokens == tokens["output"] + MORE_OUTPUT_TOKENS


def test_each_round_costs_what_was_computed_by_hand(loop: Loop) -> None:
    jobs = [
        (job.role.value, job.round, job.calls, job.cost_microusd)
        for job in one_task(loop.home, "durations-001").jobs
        if job.role in (Role.CODER, Role.REVIEWER)
    ]
    role, number, calls, cost = ROUNDS[1]
    assert jobs == [ROUNDS[0], (role, number, calls, cost + 1500), *ROUNDS[2:]]


def test_the_task_went_back_twice_for_the_reasons_of_the_story(loop: Loop) -> None:
    outcomes = [event.outcome for event in loop.of_kind("transition")]
    assert [o for o in outcomes if o not in (Outcome.DIFF_RETURNED, Outcome.CANDIDATE_COMMITTED)] == [
        Outcome.BASE_FOUND,
        Outcome.IMAGE_READY,
        Outcome.BASELINE_PASSED,
        Outcome.CHECK_DOUBTED,
        Outcome.CHECK_FAILED,
        Outcome.CHECKS_PASSED,
        Outcome.MUST_FIX_FOUND,
        Outcome.CHECKS_PASSED,
        Outcome.TESTS_COMPARED,
        Outcome.REVIEW_APPROVED,
        Outcome.REBASED,
        Outcome.GATE_PASSED,
        Outcome.MERGED,
    ]


def test_a_failed_check_is_run_once_more_and_only_that_one(loop: Loop) -> None:
    jobs = [event for event in loop.of_kind("job_ended") if event.effect is EffectKind.CHECK]
    ran = {job.key: [] for job in jobs}
    for end in loop.of_kind("check_ended"):
        if end.key in ran:
            ran[end.key].append((end.name, end.exit_code))
    assert [(job.round, ran[job.key]) for job in jobs] == [
        (1, [("style", 0), ("unit", 1)]),
        (1, [("unit", 1)]),
        (2, [("style", 0), ("unit", 0)]),
        (3, [("style", 0), ("unit", 0)]),
    ]
    assert loop.state.flaky == loop.report().rows[0].flaky == ()


def test_the_reviewer_is_told_how_the_bases_own_tests_end(loop: Loop) -> None:
    """Only the third coder round changes a test file of the base."""
    (compared,) = [e for e in loop.of_kind("job_ended") if e.effect is EffectKind.COMPARE_TESTS]
    first, second = [e for e in loop.of_kind("job_ended") if e.effect is EffectKind.REVIEW]
    assert (compared.round, compared.role, compared.cost_microusd) == (3, Role.CHECK, 0)
    assert first.folder < compared.folder < second.folder
    fact = "every check passes with the base's test files, too"
    assert loop.state.compared == (fact,)
    told = [(loop.folder / event.folder / "in" / "prompt.md").read_text() for event in (first, second)]
    assert [text.count(fact) for text in told] == [0, 1]


def test_what_the_last_review_left_open_is_in_the_report_and_in_the_commit(loop: Loop) -> None:
    (row,) = loop.report().rows
    (left,) = row.open_findings
    assert (left.severity, left.path, left.line) == ("note", "durations/text.py", 15)
    assert left.text == "round() goes to the even neighbour on a tie; the README could say so."
    body = loop.origin_git("log", "-1", "--format=%b", "main")
    assert left.id in body
    assert row.interventions == 0


def test_the_providers_own_count_equals_the_ledgers(loop: Loop) -> None:
    requests = loop.requests()
    calls = [call for summary in loop.ledgers().values() for call in summary.calls]
    assert len(requests) == len(calls) == EXPECTED["calls"]
    assert len(loop.of_kind("model_call")) == len(calls)
    assert sum(call.cost_microusd for call in calls) == loop.state.spend.microusd
    assert not any(summary.denied or summary.bad_lines for summary in loop.ledgers().values())


def test_the_calls_are_the_real_programs(loop: Loop) -> None:
    agents = {call.user_agent for summary in loop.ledgers().values() for call in summary.calls}
    assert len(agents) == 1
    (said,) = agents
    versions = {(event.runtime, event.version) for event in loop.of_kind("job_ended") if event.calls}
    assert len(versions) == 1
    ((runtime, version),) = versions
    assert runtime == "claude"
    assert said.startswith(f"claude-cli/{version} ")
    assert {request.get("user_agent", said) for request in loop.requests()} == {said}


def test_state_and_events_agree(loop: Loop) -> None:
    state, events = loop.state, loop.events
    assert [event.n for event in events] == list(range(1, len(events) + 1))
    assert {(event.run_id, event.task_id, event.purpose) for event in events} == {
        (state.run_id, state.task_id, "demo")
    }
    last = loop.of_kind("transition")[-1]
    assert (last.state_seq, last.to_stage, last.spent_microusd) == (
        state.seq,
        state.stage,
        state.spend.microusd,
    )
    begun = [event.key for event in loop.of_kind("attempt_started")]
    assert len(begun) == len(set(begun))
    assert [event.key for event in loop.of_kind("transition")] == begun
    # The image may have been there already: then nothing ran for it.
    worked = [e.key for e in loop.of_kind("attempt_started") if e.effect.is_job and e.effect != "job.setup"]
    assert [event.key for event in loop.of_kind("job_ended") if event.effect != "job.setup"] == worked
    assert events[-1].kind == "run_ended"


def test_events_hold_no_text_of_prompts_models_or_checks(loop: Loop) -> None:
    record_text = (loop.folder / "events.jsonl").read_text()
    for text in ("Seconds are rounded", "Carry a rounded second", "AssertionError", "must-fix"):
        assert text not in record_text


def test_the_record_is_for_its_owner_alone(loop: Loop) -> None:
    modes = {path: path.stat().st_mode & 0o077 for path in loop.folder.rglob("*")}
    assert [str(path) for path, mode in modes.items() if mode] == []
    assert loop.home.stat().st_mode & 0o077 == 0


def test_each_object_is_ours_and_goes_with_its_step(demo: tuple[Loop, Recorder], engine: Engine) -> None:
    loop, recorder = demo
    run_id = loop.state.run_id
    assert faults(recorder, run_id) == []
    jobs = creates(recorder, run_id)
    assert set(jobs.values()) == {1}
    assert set(jobs) == {event.key for event in loop.of_kind("job_ended")}
    agents = {
        e.key for e in loop.of_kind("job_ended") if e.effect in (EffectKind.IMPLEMENT, EffectKind.REVIEW)
    }
    assert creates(recorder, run_id, "proxy") == dict.fromkeys(agents, 1)
    assert loop.left(engine) == []


def test_the_same_command_on_a_task_that_is_done_changes_nothing(loop: Loop) -> None:
    before = (loop.folder / "state.json").read_bytes()
    printed = loop.run()
    assert printed["commit"] == loop.state.merged
    assert (loop.folder / "state.json").read_bytes() == before
    assert Path(printed["run_folder"]) == loop.folder


def test_what_the_agents_read_and_called_is_told_from_the_files(loop: Loop) -> None:
    made = read_task(find_task(loop.home, "durations-001"))

    told = [(job.calls_told, job.calls_metered) for job in made.jobs]
    assert told == [(calls, calls) for _, _, calls, _ in ROUNDS]
    assert not any(job.missing or job.differs for job in made.jobs)
    assert made.context.cost_microusd == loop.state.spend.microusd
    assert any(tool.name == "Bash" for job in made.jobs for tool in job.tools)
