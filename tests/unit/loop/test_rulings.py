import pytest

from instrument.schema.job import AgentResult
from loop.errors import UsageError
from loop.rulings import RulingText, parse_ruling
from support.fake_jobs import WORKED_ON, Turn, verdict
from support.repos import TASK, TASK_TEXT, Desk, edited


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


def test_the_same_words_on_another_finding_are_another_ruling(desk: Desk) -> None:
    def point(number: str, quote: str) -> dict[str, str]:
        return {"id": number, "severity": "must-fix", "path": WORKED_ON, "quote": quote, "text": "wrong"}

    desk.commit({TASK: edited(TASK_TEXT, "files:", "caps: {review: 1}\nfiles:")})
    both = verdict("changes", point("new", "one = 1"), point("new", "two = 2"))
    again = verdict("changes", point("F2", "two = 2"))
    desk.script.reviewer = [Turn(review=both), Turn(review=again), Turn(review=verdict("approve"))]
    assert desk.ends() == "review_exhausted"
    assert desk.ends(rulings=("F1=by design",)) == "review_exhausted"
    assert desk.ends(rulings=("F2=by design",)) == "ready_to_merge"
    assert [ruling.finding for ruling in desk.state.rulings] == ["F1", "F2"]
    last = desk.prompts("reviewer")[-1]
    assert "Ruling 1 on F1, F2, given" in last
    assert last.count("by design") == 1


def test_the_same_words_at_another_stop_are_another_ruling(desk: Desk) -> None:
    asks = AgentResult.model_validate({"outcome": "blocked", "question": "May I?"})
    desk.script.coder = [Turn(result=asks), Turn(), Turn({WORKED_ON: b"good\n"})]
    assert desk.ends() == "blocked"
    assert desk.ends(rulings=("Yes, go on.",)) == "no_change"
    assert desk.ends(rulings=("Yes, go on.",)) == "ready_to_merge"
    assert [ruling.stop for ruling in desk.state.rulings] == ["blocked", "no_change"]
    assert [prompt.count("Yes, go on.") for prompt in desk.prompts("coder")] == [0, 1, 1]
