"""Case 14 at the shell: from what a reviewer left to facts, of which only a verdict is one."""

import pytest

from instrument.schema.job import BigPath
from instrument.schema.state import Candidate, Counters, ReviewMark
from instrument.schema.vocabulary import Severity
from loop.machine.effects import Review
from loop.shell.context import Context
from loop.shell.papers import papers_of
from loop.shell.reviews import TREE_CHANGED, review_facts
from support.ends import finding, review_end, tree
from support.fake_jobs import WORKED_ON, must_fix, verdict
from support.lives import CLAUDE, new_state
from support.repos import TASK, Desk

TOKEN = "0123456789abcdef"


@pytest.fixture
def asked(context: Context, desk: Desk, base: str):
    """A review of one change, and what a text of the reviewer comes to."""
    changed = desk.commit({WORKED_ON: "good\n"})
    context.store.fetch_tips("main", "origin")
    blob = context.store.blob_id(base, TASK)
    effect = Review(
        key="k",
        round=2,
        start=changed,
        image="sha256:1",
        agent=CLAUDE,
        deadline_ms=1,
        budget_microusd=None,
        base=base,
        token=TOKEN,
    )
    candidate = Candidate(commit=changed, tree="1" * 40, base=base, n=1)

    def ask(text, *, state=None, report=None, round_=2):
        if text is not None:
            out = context.folder / "jobs/0001-x-1/out"
            out.mkdir(parents=True, exist_ok=True)
            (out / "review.md").write_text(text)
        kept = {"review_file": "absent" if text is None else "kept"}
        state = (state or new_state()).model_copy(
            update={"task_path": TASK, "task_blob": blob, "base": base, "candidate": candidate}
        )
        papers = papers_of(context, state, base)
        asked = effect.model_copy(update={"round": round_})
        return review_facts(context, state, asked, papers, review_end("k", report=kept | (report or {})))

    return ask


def text(review, token: str = TOKEN, paths=(WORKED_ON,)) -> str:
    return review(token, paths)


def test_an_approval_is_one(asked):
    facts = asked(text(verdict("approve")))
    assert (facts.fault, facts.findings, facts.dropped) == (None, (), 0)


@pytest.mark.parametrize(
    ("written", "fault"),
    [
        (None, "absent"),
        ("", "empty"),
        ("I could not run the tests, looks fine", "no_block"),
        ('API Error: 429 {"type":"error"}', "api_error"),
        (text(verdict("approve"), token="fedcba9876543210"), "other_token"),
        (text(verdict("approve"), paths=()), "not_covered"),
        (text(verdict("approve")) + "\nand so on", "text_after"),
        (text(verdict("changes")), "nothing_to_fix"),
    ],
)
def test_case_14_what_is_no_verdict_has_its_own_reason(asked, written, fault):
    facts = asked(written)
    assert facts.fault == fault
    assert facts.findings == ()


def test_case_14_a_must_fix_under_approve_is_a_finding(asked):
    finding_ = {"id": "new", "severity": "must-fix", "path": WORKED_ON, "text": "wrong"}
    facts = asked(text(verdict("approve", finding_)), round_=1)
    assert [f.severity for f in facts.findings] == [Severity.MUST_FIX]


def test_a_must_fix_that_the_first_review_could_have_raised_is_a_should_fix(asked, desk: Desk):
    seen = ReviewMark(commit=desk.person.head(), jobs=1)
    state = new_state(counters=Counters(review_rounds=1), reviews=(seen,))
    facts = asked(text(must_fix("late")), state=state)
    assert ([f.severity for f in facts.findings], facts.dropped) == ([Severity.SHOULD_FIX], 0)


def test_findings_get_the_programs_own_ids_and_a_known_point_keeps_its_own(asked):
    state = new_state(findings=(finding(1, 1),), counters=Counters(findings=4, review_rounds=1))
    again = {"id": "F1", "severity": "must-fix", "path": "src/x.py", "text": "still"}
    new = {"id": "F9", "severity": "note", "path": WORKED_ON, "text": "a thought"}
    facts = asked(text(verdict("changes", again, new)), state=state)
    assert [(f.id, f.round, f.text) for f in facts.findings] == [("F1", 2, "still"), ("F5", 2, "a thought")]


def test_a_ruled_point_raised_again_is_dropped_unless_a_check_that_ran_since_shows_it(
    asked, context: Context, desk: Desk
):
    ruled = finding(1, 1).model_copy(update={"closed": True, "path": WORKED_ON, "quote": "x"})
    seen = ReviewMark(commit=desk.person.head(), jobs=3)
    state = new_state(findings=(ruled,), counters=Counters(findings=1, review_rounds=1), reviews=(seen,))
    shown = "E   AssertionError: 4 is not 5"
    for number in (3, 4):
        again = asked(text(must_fix("once more", evidence=shown)), state=state)
        assert (again.findings, again.dropped) == ((), 1), "no check said so after the ruled review"
        printed = context.folder / f"jobs/000{number}-check-{number}/out/commands/unit.txt"
        printed.parent.mkdir(parents=True)
        printed.write_text(f"{shown if number == 4 else ''}\n")
    facts = asked(text(must_fix("once more", evidence=shown)), state=state)
    assert ([(f.id, f.severity) for f in facts.findings], facts.dropped) == ([("F1", Severity.MUST_FIX)], 0)


def test_a_reviewer_that_changed_a_tracked_file_is_not_heard(asked):
    meddled = tree(changed_paths=2, untracked=1)
    assert asked(text(verdict("approve")), report={"tree": meddled}).fault == TREE_CHANGED
    scratch = tree(changed_paths=2, untracked=2, biggest=(BigPath(path="x", size_bytes=1),))
    assert asked(text(verdict("approve")), report={"tree": scratch}).fault is None
