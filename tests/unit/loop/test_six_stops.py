"""One task through six stops, by nothing but the commands that its six briefs offer."""

import shlex
from pathlib import Path

import pytest

from instrument.schema.job import AgentResult
from loop.cli import main
from loop.errors import Exit, UsageError
from loop.options import read_glob, read_grant, read_ruling
from loop.run import Ending
from support.fake_jobs import WORKED_ON, Turn, must_fix, verdict
from support.repos import TASK, TASK_TEXT, Desk, edited

KEY = "ghp" + "_" + "k3Vb9QmZ7xLr2TnWc8HdYs5FgJp1Ae6UoRi4"
"""Looks like a key; whole it stands in no file of this project."""
PROTECTED = "tasks/008-more.md"
ASKED = ("Keep the name", "Rename it to `pause`")


def offers(ending: Ending) -> list[str]:
    """What a person could type, from the brief's last part."""
    lines = ending.text.partition("To continue:\n")[2].splitlines()
    return [line.partition("   #")[0].strip() for line in lines if line.startswith("  factory run ")]


def type_it(desk: Desk, ending: Ending, words: str, decide: str | None = None) -> Ending:
    """Choose the first offered command with these words, fill in a decision, run it as the command does."""
    line = next((line for line in offers(ending) if words in line), None)
    assert line is not None, f"{words} is not offered: {offers(ending)}"
    arguments = [decide if word == "what you decide" else word for word in shlex.split(line)[2:]]
    story = desk.folder / "story.yaml"
    story.touch()
    arguments = [str(story) if word == "STORY" else str(word) for word in arguments]
    typed = main.commands["run"].make_context("run", arguments).params
    assert Path(typed["repo"]) == desk.person.root
    return desk.run(
        task=typed["task"],
        rulings=tuple(map(read_ruling, typed["rulings"])),
        grants=tuple(map(read_grant, typed["grants"])),
        allow=tuple(map(read_glob, typed["allow"])),
        park=typed["park"],
        auto_merge=typed["auto_merge"],
    )


def blocked() -> Turn:
    asks = {"outcome": "blocked", "question": "Which name shall it have?", "choices": ASKED}
    return Turn(result=AgentResult.model_validate(asks))


@pytest.fixture
def hard_desk(desk: Desk) -> Desk:
    """Little is allowed, and the coder comes against all of it."""
    desk.commit({TASK: edited(TASK_TEXT, "files:", "caps: {check: 0, review: 1}\nfiles:")})
    desk.script.failing = {"unit": b"BUG"}
    desk.script.coder = [
        blocked(),
        Turn({WORKED_ON: b"BUG\n"}),
        Turn({WORKED_ON: f"token = '{KEY}'\n".encode()}),
        Turn({WORKED_ON: b"good\n", PROTECTED: b"---\n"}),
    ]
    desk.script.reviewer = [Turn(review=must_fix("the name lies")), Turn(review=verdict("approve"))]
    return desk


def test_a_task_lands_through_six_stops_by_what_its_briefs_offer(hard_desk: Desk):
    desk = hard_desk
    told: list[tuple[str, str]] = []

    def at_stop(ending: Ending, *says: str) -> Ending:
        told.append((str(ending.result.stop_reason), ending.text))
        for part in says:
            assert part in ending.text, ending.text
        assert len(ending.text.encode()) <= 4096
        assert "So far: $0.00" in ending.text
        return ending

    ending = at_stop(desk.run(), "Which name shall it have?")
    ending = at_stop(type_it(desk, ending, "Rename it"), "unit: exit code 1", "--grant check=3")
    ending = at_stop(type_it(desk, ending, "--grant check="), f"{WORKED_ON}:1 ")
    ending = at_stop(type_it(desk, ending, "Take the value out"), PROTECTED)
    ending = at_stop(type_it(desk, ending, f"--allow {PROTECTED}"), "F1", "the name lies")
    ending = at_stop(type_it(desk, ending, "--ruling", "F1=The name stays."), "--auto-merge")
    ending = type_it(desk, ending, "--auto-merge")
    assert ending.result.done_reason == "merged"
    assert [reason for reason, _ in told] == [
        *("blocked", "checks_exhausted", "secret_found", "protected_path"),
        *("review_exhausted", "ready_to_merge"),
    ]
    assert desk.origin.ask("show", f"main:{WORKED_ON}") == "good"
    assert desk.state.counters.coder_rounds == 4
    assert desk.state.counters.interventions == 5, "each answer is one, a yes to the merge is none"
    assert_told_once(desk)
    kept = [path for path in desk.home.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]
    assert [path.name for path in kept] == ["diff.patch"], "the value is nowhere but in the job's own diff"
    assert not any(KEY in text for _, text in told)


def assert_told_once(desk: Desk) -> None:
    """Every ruling stands once in every later prompt."""
    first, second, third, fourth = desk.prompts("coder")
    counts = [prompt.count(ASKED[1]) for prompt in (first, second, third, fourth)]
    assert counts == [0, 1, 1, 1]
    assert [p.count("Take the value out; read it") for p in (third, fourth)] == [0, 1]
    asked, again = desk.prompts("reviewer")
    assert [p.count("The name stays.") for p in (asked, again)] == [0, 1]
    assert "the name lies" in again.partition("# Closed points")[2]


def test_a_parked_task_prints_its_brief_until_it_is_answered(hard_desk: Desk):
    desk = hard_desk
    asked = desk.run()
    parked = desk.run(park="after the fair")
    assert parked.result.stop_reason == "parked"
    assert "- after the fair" in parked.text
    created = desk.jobs.created()
    assert desk.run().text == parked.text
    assert desk.run(auto_merge=True).result.stop_reason == "parked", "no yes to a merge answers a question"
    assert desk.jobs.created() == created
    assert [line for line in offers(parked) if "Rename it" in line], "the question is still offered"
    assert type_it(desk, parked, "Rename it").result.stop_reason == "checks_exhausted"
    assert asked.result.stop_reason == "blocked"
    assert desk.state.parked is None


def test_what_only_looks_like_a_secret_passes_where_a_person_says_so(desk: Desk):
    desk.script.coder = [Turn({WORKED_ON: f"token = '{KEY}'\n".encode()})]
    asked = desk.run()
    assert asked.result.stop_reason == "secret_found"
    assert desk.run(allow=("docs/**", WORKED_ON, "secret:docs/**")).result.stop_reason == "secret_found"
    landed = type_it(desk, asked, f"--allow secret:{WORKED_ON}")
    assert landed.result.stop_reason == "ready_to_merge"
    assert desk.state.counters.coder_rounds == 1, "the same diff is judged again"
    desk.script.coder = [Turn({WORKED_ON: f"token = '{KEY}'\n".encode(), "src/other.py": KEY.encode()})]
    assert desk.run(rulings=("once more",)).result.stop_reason == "secret_found", "it is for that path alone"


def test_a_grant_that_is_too_small_is_refused_with_the_number_that_is_needed(hard_desk: Desk):
    desk = hard_desk
    type_it(desk, desk.run(), "Rename it")
    before = desk.state
    with pytest.raises(UsageError, match=r"--grant check: that is too little to go on; 1 is the least"):
        desk.run(grants=(("check", 0),))
    assert desk.state == before
    assert UsageError.exit_code is Exit.USAGE
