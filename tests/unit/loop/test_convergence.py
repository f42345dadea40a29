from dataclasses import replace

import pytest

from instrument.schema.job import Decision
from instrument.schema.state import Finding
from instrument.schema.vocabulary import Severity
from loop.convergence import Converged, Past, Since, converge
from loop.git.lines import WHOLE, LineChange
from loop.verdict import Remark, Verdict, number_findings

OLD, NEW = "    return retry(count)", "    return retry(count - 1)"
OUTPUT = "collected 3 items\nE   assert retry(0) is None\n1 failed in 0.12s\n"
CHANGED = {"a.py": LineChange(frozenset({7}), (OLD, NEW)), "new.py": WHOLE}
SINCE = Since(CHANGED, outputs=(OUTPUT,), old_outputs=("collected 3 items\n",))
DECISION = Decision(choice="keep the names in a set", why="order is free", undo="use a list")


def remark(**changes: object) -> Remark:
    values: dict[str, object] = {"id": "new", "severity": "must-fix", "path": "b.py", "text": "wrong"}
    return Remark.model_validate_json(Remark.model_validate(values | changes, strict=False).model_dump_json())


def point(number: str, **changes: object) -> Finding:
    values: dict[str, object] = {"id": number, "severity": Severity.MUST_FIX, "path": "b.py", "text": "wrong"}
    values |= {"quote": "lock = Lock()", "evidence": "make unit: exit 1", "round": 1}
    return Finding.model_validate(values | changes)


def past(*earlier: Finding, review_round: int = 2) -> Past:
    return Past(review_round, earlier, (DECISION,), dict.fromkeys(range(review_round), SINCE))


def one(found: Remark, against: Past) -> Converged:
    return converge([found], against)


def is_kept(found: Remark, against: Past) -> bool:
    converged = one(found, against)
    assert len(converged.findings) + len(converged.dropped) == 1
    return [f.severity for f in converged.findings] == [Severity.MUST_FIX]


CLOSED = point("F1", closed=True)
REPEATED = [
    {"id": "F1"},
    {"id": "F1", "path": "a.py", "quote": "other", "line": 7},
    {"quote": "lock  =\n Lock()"},
    {"quote": "lock = Lock()", "evidence": "I have new evidence: it still fails, exit 1"},
    {"id": "F1", "evidence": "make unit: exit 1"},
    {"id": "F1", "evidence": "pytest -k zero: exit 1, which was never shown before"},
    {"id": "F1", "evidence": "collected 3 items"},
]


@pytest.mark.parametrize("changes", REPEATED)
@pytest.mark.parametrize("review_round", [2, 4])
def test_a_ruled_point_without_new_evidence_is_dropped(changes: dict[str, object], review_round: int) -> None:
    found = remark(**changes)
    converged = one(found, past(CLOSED, review_round=review_round))
    assert converged == Converged((), dropped=(found,))


@pytest.mark.parametrize(
    "changes",
    [
        {"id": "F1", "evidence": "a.py now says `return retry(count - 1)`, which loops for 0"},
        {"id": "F1", "evidence": "make unit prints: E   assert retry(0) is None"},
        {"id": "F1", "evidence": "the line `return retry(count)` that guarded it was removed"},
        {"id": "F1", "path": "a.py", "quote": "return retry(count - 1)"},
        {"quote": "lock = Lock()", "evidence": "E assert retry(0) is None"},
    ],
)
def test_a_ruled_point_with_new_evidence_is_open_again_under_its_id(changes: dict[str, object]) -> None:
    converged = one(remark(**changes), past(CLOSED))
    assert [(f.id, f.severity) for f in converged.findings] == [("F1", Severity.MUST_FIX)]
    assert converged.dropped == converged.demoted == ()


def test_evidence_that_the_closed_point_had_already_is_not_new() -> None:
    had = point("F1", closed=True, evidence="E assert retry(0) is None")
    found = remark(id="F1", evidence="again: `assert retry(0) is None`\nE   assert retry(0) is None")
    assert one(found, past(had)).dropped == (found,)


def test_evidence_is_held_against_the_review_that_the_ruling_followed() -> None:
    found = remark(id="F1", evidence="`return retry(count - 1)`", path="a.py", line=7)
    late = Past(4, (CLOSED,), (), {0: SINCE, 1: SINCE, 3: Since()})
    early = replace(late, since={0: SINCE, 1: Since(), 2: SINCE, 3: SINCE})
    assert one(found, early).dropped == (found,)
    assert one(found, late).dropped == ()


@pytest.mark.parametrize(
    "changes", [{}, {"quote": "lock = RLock()"}, {"path": "c.py", "quote": "lock = Lock()"}]
)
def test_another_point_is_not_taken_for_the_ruled_one(changes: dict[str, object]) -> None:
    assert one(remark(**changes), past(CLOSED, review_round=1)).dropped == ()


def test_two_points_without_a_quote_are_not_the_same() -> None:
    assert one(remark(), past(point("F1", closed=True, quote=""))).dropped == ()


def test_below_a_must_fix_nothing_is_dropped_and_no_ruled_point_is_opened() -> None:
    converged = one(remark(id="F1", severity="note"), past(CLOSED))
    assert [(f.id, f.severity) for f in converged.findings] == [(None, Severity.NOTE)]


@pytest.mark.parametrize(
    "changes",
    [
        {"path": "a.py", "line": 7},
        {"path": "a.py", "quote": "return retry(count - 1)", "line": 12},
        {"path": "a.py", "quote": "return retry(count)"},
        {"path": "new.py"},
        {"evidence": "it calls `return retry(count - 1)` with 0"},
        {"evidence": "make unit: E assert retry(0) is None", "path": None},
    ],
)
def test_a_new_must_fix_on_what_changed_or_with_new_evidence_counts(changes: dict[str, object]) -> None:
    assert is_kept(remark(**changes), past())


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"path": None},
        {"path": "a.py"},
        {"path": "a.py", "line": 8},
        {"path": "a.py", "quote": "import os", "line": 1},
        {"path": "b.py", "line": 7},
        {"path": "b.py", "quote": "return retry(count - 1)"},
        {"evidence": "new evidence: python -c 'import b' fails"},
        {"evidence": "collected 3 items"},
        {"id": "F9"},
    ],
)
def test_a_new_must_fix_that_comes_too_late_is_a_should_fix(changes: dict[str, object]) -> None:
    found = remark(**changes)
    converged = one(found, past())
    assert converged.demoted == (found,)
    assert converged.findings == (found.model_copy(update={"id": None, "severity": Severity.SHOULD_FIX}),)
    assert is_kept(found, past(review_round=1))


def test_no_must_fix_is_too_late_where_a_claim_about_the_base_is_judged() -> None:
    found = remark()
    assert is_kept(found, replace(past(), judges_base=True))
    assert one(remark(id="F1"), replace(past(CLOSED), judges_base=True)).findings == ()


@pytest.mark.parametrize("changes", [{"id": "F2"}, {"id": "F2", "path": "z.py"}, {"quote": "lock=Lock()"}])
def test_an_open_must_fix_raised_again_stays_one_under_its_id(changes: dict[str, object]) -> None:
    converged = one(remark(**changes), past(point("F2")))
    assert [(f.id, f.severity) for f in converged.findings] == [("F2", Severity.MUST_FIX)]
    assert converged.demoted == ()


def test_an_open_point_stays_although_its_neighbour_on_the_same_line_was_ruled_on() -> None:
    converged = one(remark(id="F2", quote="lock = Lock()"), past(CLOSED, point("F2")))
    assert [f.id for f in converged.findings] == ["F2"]


@pytest.mark.parametrize(
    "before",
    [
        point("F2", severity=Severity.SHOULD_FIX, round=2),
        point("F2", round=1),
    ],
)
def test_what_was_not_open_as_a_must_fix_is_no_must_fix_by_its_id(before: Finding) -> None:
    converged = one(remark(id="F2"), past(before, review_round=3))
    assert [(f.id, f.severity) for f in converged.findings] == [("F2", Severity.SHOULD_FIX)]
    assert is_kept(remark(id="F2", path="a.py", line=7), past(before, review_round=3))


@pytest.mark.parametrize("changes", [{"id": "D1"}, {"quote": "keep the names  in a set"}])
@pytest.mark.parametrize("review_round", [1, 3])
def test_a_logged_choice_is_disputed_with_new_evidence_or_dropped(
    changes: dict[str, object], review_round: int
) -> None:
    against = past(review_round=review_round)
    found = remark(**changes)
    assert one(found, against).dropped == (found,)
    assert is_kept(remark(**changes, evidence="E   assert retry(0) is None"), against)


def test_an_id_beyond_the_log_is_no_choice() -> None:
    assert is_kept(remark(id="D2"), past(review_round=1))


def test_a_path_that_is_no_utf8_is_found_as_the_reviewer_was_shown_it() -> None:
    since = Since({"caf\udce9.py": LineChange(frozenset({1}), ("x",))})
    against = Past(2, (), (), {0: since, 1: since})
    assert is_kept(remark(path="caf\\udce9.py", line=1), against)


def test_order_is_kept_and_the_ids_that_go_on_are_numbered_as_before() -> None:
    remarks = [remark(id="F1"), remark(id="F2"), remark(path="a.py", line=7), remark(severity="note")]
    earlier = (CLOSED, point("F2"))
    converged = converge([*remarks, remark(path="b.py", line=1)], past(*earlier))
    verdict = Verdict("changes", (), converged.findings)

    findings = number_findings(verdict, review_round=2, known={f.id for f in earlier}, last=2)

    assert [(f.id, f.severity) for f in findings] == [
        ("F2", Severity.MUST_FIX),
        ("F3", Severity.MUST_FIX),
        ("F4", Severity.NOTE),
        ("F5", Severity.SHOULD_FIX),
    ]
    assert (len(converged.dropped), len(converged.demoted)) == (1, 1)
