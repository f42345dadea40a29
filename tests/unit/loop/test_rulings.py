import pytest

from instrument.schema.state import Finding
from instrument.schema.vocabulary import Severity
from loop.errors import UsageError
from loop.rulings import RulingText, closed_by, parse_ruling


def finding(number: str, severity: Severity = Severity.MUST_FIX, round_: int = 2, **more: object) -> Finding:
    values = {"id": number, "severity": severity, "path": "a.py", "text": "t", "round": round_, **more}
    return Finding.model_validate(values)


@pytest.mark.parametrize(
    ("typed", "ruling"),
    [
        ("F3=use UTC", RulingText("F3", "use UTC")),
        ("f12 = use UTC\n\nalways", RulingText("F12", "use UTC\n\nalways")),
        ("F3=a=b  ", RulingText("F3", "a=b  ")),
        ("F3=@notes.md", RulingText("F3", "@notes.md")),
        ("Use UTC. F3=is wrong", RulingText(None, "Use UTC. F3=is wrong")),
        ("  Use UTC.\n", RulingText(None, "  Use UTC.\n")),
        ("F3 == F4 is what I want", RulingText(None, "F3 == F4 is what I want")),
        ("F0=x", RulingText(None, "F0=x")),
        ("F3 and F4=x", RulingText(None, "F3 and F4=x")),
        ("DEF3=x", RulingText(None, "DEF3=x")),
    ],
)
def test_a_ruling_names_a_finding_or_none(typed: str, ruling: RulingText) -> None:
    assert parse_ruling(typed) == ruling


@pytest.mark.parametrize(
    ("typed", "said"), [("F3=", "--ruling F3= says nothing"), ("F3= \n", "F3="), (" \n", "--ruling is empty")]
)
def test_a_ruling_that_says_nothing_is_one_sentence(typed: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        parse_ruling(typed)


FINDINGS = (
    finding("F1", round_=1),
    finding("F2"),
    finding("F3"),
    finding("F4", Severity.SHOULD_FIX),
    finding("F5", closed=True),
)


def test_a_named_finding_is_the_only_one_closed() -> None:
    assert closed_by("F3", FINDINGS, review_round=2) == {"F3"}
    assert closed_by("F1", FINDINGS, review_round=2) == {"F1"}


def test_without_an_id_every_must_fix_open_at_that_stop_is_closed() -> None:
    assert closed_by(None, FINDINGS, review_round=2) == {"F2", "F3"}


def test_a_finding_that_no_review_raised_is_one_sentence() -> None:
    with pytest.raises(UsageError, match=r"no finding F9 \(raised so far: F1, F2, F3, F4, F5\)"):
        closed_by("F9", FINDINGS, review_round=2)
    with pytest.raises(UsageError, match="none"):
        closed_by("F9", (), review_round=0)
