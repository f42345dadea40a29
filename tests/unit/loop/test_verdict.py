import json

import pytest

from instrument.schema.state import Finding
from instrument.schema.vocabulary import Severity
from loop.verdict import (
    OUR_MARK,
    Remark,
    Verdict,
    VerdictFault,
    number_findings,
    read_verdict,
    repeats,
    verdict_template,
)

TOKEN = "0123456789abcdef"
MUST = {"severity": "must-fix", "path": "a.py", "quote": "x = 1", "text": "wrong", "evidence": "make unit: 1"}


def review(
    verdict: str = "approve",
    *findings: dict[str, object],
    covered: tuple[str, ...] = ("a.py",),
    token: str = TOKEN,
    before: str = "I read it.\n\n",
    after: str = "",
) -> str:
    block = json.dumps({"verdict": verdict, "covered": covered, "findings": findings}, indent=1)
    return f"{before}```verdict {token}\n{block}\n```\n{after}"


def read(text: str | None, *must_cover: str) -> Verdict | VerdictFault:
    return read_verdict(text, token=TOKEN, must_cover=must_cover or ("a.py",))


def verdict_of(text: str) -> Verdict:
    verdict = read(text)
    assert isinstance(verdict, Verdict)
    return verdict


def point(**changes: object) -> Finding:
    values = {"id": "F1", "path": "a.py", "quote": "x = 1", "text": "old", "evidence": "make unit: 1"}
    return Finding.model_validate(
        {**values, "severity": Severity.MUST_FIX, "round": 1, "closed": True, **changes}
    )


def test_a_plain_approval_is_one() -> None:
    verdict = verdict_of(review())

    assert not verdict.must_fixes
    assert verdict.covered == ("a.py",)


def test_notes_do_not_stand_against_an_approval() -> None:
    assert not verdict_of(review("approve", {**MUST, "severity": "should-fix"})).must_fixes


@pytest.mark.parametrize("fence", ["````", "~~~", "  ```"])
def test_other_fences_and_line_ends_are_read(fence: str) -> None:
    text = review().replace("```", fence.strip()).replace("\n", "\r\n")

    assert not verdict_of(text).must_fixes


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (None, VerdictFault.ABSENT),
        ("", VerdictFault.EMPTY),
        (" \n", VerdictFault.EMPTY),
        ("I could not run the tests, looks fine", VerdictFault.NO_BLOCK),
        ("verdict: approve", VerdictFault.NO_BLOCK),
        ("API Error: Rate limit reached", VerdictFault.API_ERROR),
        ('{"type":"error","error":{"type":"overloaded_error"}}', VerdictFault.API_ERROR),
        (verdict_template(TOKEN), VerdictFault.TEMPLATE_ECHOED),
        (review() + review(), VerdictFault.TWO_BLOCKS),
        (review(token="f" * 16) + review(), VerdictFault.TWO_BLOCKS),
        (review(after="\nThank you."), VerdictFault.TEXT_AFTER),
        (review(token="f" * 16), VerdictFault.OTHER_TOKEN),
        (review(token=""), VerdictFault.OTHER_TOKEN),
        (review(token=f"{TOKEN} x"), VerdictFault.OTHER_TOKEN),
        (review()[:-5], VerdictFault.NOT_CLOSED),
        (review().replace("]", "", 1), VerdictFault.NOT_JSON),
        (review().replace('"findings"', '"verdict": "approve", "findings"'), VerdictFault.NOT_JSON),
        (f"```verdict {TOKEN}\n{'[' * 100_000}\n```", VerdictFault.NOT_JSON),
        (f"```verdict {TOKEN}\n[]\n```", VerdictFault.WRONG_SHAPE),
        (review("Approve"), VerdictFault.WRONG_SHAPE),
        (review("approve", {"severity": "bad", "text": "x"}), VerdictFault.WRONG_SHAPE),
        (review("approve", {**MUST, "note": "x"}), VerdictFault.WRONG_SHAPE),
        (review("approve", {**MUST, "text": ""}), VerdictFault.WRONG_SHAPE),
        (review("approve", {**MUST, "line": "12"}), VerdictFault.WRONG_SHAPE),
        (review("approve", {**MUST, "quote": "\ud800"}), VerdictFault.WRONG_SHAPE),
        (review(covered=()), VerdictFault.NOT_COVERED),
        (review(covered=("b.py",)), VerdictFault.NOT_COVERED),
        (review("changes"), VerdictFault.NOTHING_TO_FIX),
        (review("changes", {**MUST, "severity": "should-fix"}), VerdictFault.NOTHING_TO_FIX),
    ],
)
def test_case_14_what_is_no_verdict_says_why(text: str | None, fault: VerdictFault) -> None:
    assert read(text) is fault


def test_case_14_an_approval_with_a_must_fix_is_none() -> None:
    verdict = verdict_of(review("approve", MUST))

    assert verdict.says == "approve"
    assert verdict.must_fixes
    assert [remark.text for remark in verdict.must_fixes] == ["wrong"]


def test_case_14_the_faults_of_its_examples_differ() -> None:
    examples = ["", "I could not run the tests, looks fine", verdict_template(TOKEN), "API Error: 500"]

    assert len({read(text) for text in examples}) == len(examples)


def test_the_template_filled_in_is_a_verdict() -> None:
    filled = verdict_template(TOKEN).replace("<approve or changes>", '"changes"')

    assert [
        remark.path for remark in verdict_of(filled.replace('"every changed path"', '"a.py"')).must_fixes
    ] == ["src/x.py"]


def test_a_path_that_is_no_utf8_can_be_covered_as_shown() -> None:
    assert isinstance(read(review(covered=("caf\\udce9.py",)), "caf\udce9.py"), Verdict)


def test_case_25_every_path_must_be_covered() -> None:
    paths = tuple(f"src/f{n}.py" for n in range(40))

    assert read(review(covered=paths), *paths) == Verdict("approve", paths, ())
    assert read(review(covered=paths[:-1]), *paths) is VerdictFault.NOT_COVERED


def test_case_25_a_remark_on_our_own_cut_is_no_finding() -> None:
    remark = {**MUST, "severity": "should-fix", "quote": f" {OUR_MARK}: 12 characters]"}

    assert verdict_of(review("approve", remark)).findings == ()
    assert read(review("changes", {**remark, "severity": "must-fix"})) is VerdictFault.NOTHING_TO_FIX


def remark_of(remark: dict[str, object]) -> Remark:
    return verdict_of(review("changes", remark)).findings[0]


@pytest.mark.parametrize(
    "remark",
    [
        {**MUST, "id": "F1", "quote": "other", "path": "b.py"},
        {**MUST, "id": "new", "quote": "x  =\n1"},
        {**MUST, "id": "F1", "quote": None},
    ],
)
def test_a_point_is_repeated_by_its_id_or_by_its_line(remark: dict[str, object]) -> None:
    assert repeats(remark_of(remark), point())


@pytest.mark.parametrize(
    "remark",
    [{**MUST, "path": "b.py"}, {**MUST, "quote": "y = 2"}, {**MUST, "quote": None}],
)
def test_another_place_is_another_point(remark: dict[str, object]) -> None:
    assert not repeats(remark_of(remark), point())


def test_two_points_without_a_quote_are_not_the_same() -> None:
    assert not repeats(remark_of({**MUST, "quote": ""}), point(quote=""))


def test_findings_get_ids_of_ours_that_go_on_from_the_last() -> None:
    verdict = verdict_of(
        review(
            "approve",
            {**MUST, "id": "F2"},
            {**MUST, "id": "F9", "line": 3},
            {"severity": "note", "text": "t"},
            {**MUST, "id": "F2"},
        )
    )
    findings = number_findings(verdict, review_round=2, known={"F1", "F2"}, last=4)

    assert [finding.id for finding in findings] == ["F2", "F5", "F6", "F7"]
    assert findings[1] == Finding(
        id="F5",
        severity=Severity.MUST_FIX,
        path="a.py",
        line=3,
        quote="x = 1",
        text="wrong",
        evidence="make unit: 1",
        round=2,
    )
    assert findings[2].path == ""
