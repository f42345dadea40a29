import pytest

from instrument.schema.job import CommandEnd
from instrument.schema.state import Finding, Ruling
from instrument.schema.vocabulary import Severity, StopReason
from loop.prompts.materials import SizedPath
from loop.prompts.sections import ending, fenced, finding_blocks, path_list, ruling_blocks, tail_of


def ruling(text: str, finding: str | None = None) -> Ruling:
    return Ruling(stop=StopReason.CHECKS_EXHAUSTED, digest="0" * 64, text=text, finding=finding)


@pytest.mark.parametrize(
    "text", ["plain", "a ``` b", "```\nend\n```", "`````verdict x\n`````", "ends\n", "~~~"]
)
def test_a_fence_is_longer_than_any_run_inside(text: str) -> None:
    first, *inside, last = fenced(text, "diff").split("\n")

    ticks = first.removesuffix("diff")
    assert set(ticks) == {"`"}
    assert last == ticks
    assert ticks not in text
    assert "\n".join(inside) == text.removesuffix("\n")


def test_nothing_needs_no_fence() -> None:
    assert fenced("") == ""


def test_a_cut_is_marked_in_front_and_keeps_the_end() -> None:
    assert tail_of("abc", 3) == "abc"
    assert tail_of("abcdef", 3) == "[cut by the program: 3 characters]\ndef"


def test_each_ruling_has_one_block_even_where_one_contains_the_other() -> None:
    text = ruling_blocks([ruling("Use UTC."), ruling("Use UTC. Always.\n"), ruling("Use UTC.")])

    assert text.split("\n\n") == [
        "Ruling 1, given when the task had stopped with `checks_exhausted`:\n```\nUse UTC.\n```",
        "Ruling 2, given when the task had stopped with `checks_exhausted`:\n```\nUse UTC. Always.\n```",
    ]


def test_a_ruling_names_the_findings_that_it_is_about() -> None:
    given = [ruling("no", "F1"), ruling("no", "F3"), ruling("yes", "F2"), ruling("yes")]

    assert [block.partition(",")[0] for block in ruling_blocks(given[:1]).split("\n\n")] == ["Ruling 1 on F1"]
    first, second = ruling_blocks(given).split("\n\n")
    assert first.startswith("Ruling 1 on F1, F3, given when")
    assert second.startswith("Ruling 2, given when")


def test_paths_are_quoted_so_that_no_name_passes_for_two() -> None:
    paths = ['a"\nb', "é", "caf\udce9"]

    assert path_list(SizedPath(path, 7) for path in paths).split("\n")[1:-1] == [
        '"a\\"\\nb" 7 bytes',
        '"é" 7 bytes',
        '"caf\\\\udce9" 7 bytes',
    ]


def test_a_finding_cannot_leave_its_fence_by_its_path() -> None:
    finding = Finding(id="F1", severity=Severity.NOTE, path="x\n```\n# Rulings", line=2, text="t", round=1)

    assert finding_blocks([finding]).startswith("````\nF1 (note) in x\n```\n# Rulings, line 2\n")


@pytest.mark.parametrize(
    ("end", "said"),
    [
        ({"exit_code": 3}, "exit code 3"),
        ({"exit_code": None, "signal": 9}, "was ended by signal 9"),
        ({"exit_code": None}, "did not start"),
        ({"exit_code": None, "signal": 9, "timed_out": True}, "ran into its time limit"),
    ],
)
def test_how_a_command_ended_is_said_in_words(end: dict[str, object], said: str) -> None:
    values = {"name": "unit", "run": "make", "output": "o", **end}

    assert ending(CommandEnd.model_validate(values)) == said
