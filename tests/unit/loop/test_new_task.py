import re
from pathlib import Path

import pytest

from instrument.schema.vocabulary import RuntimeName
from loop.new_task import render_new
from loop.problems import Problems
from loop.taskfile import KNOWN_KEYS, parse_task

TEMPLATE = Path(__file__).parents[3] / "tasks" / "TEMPLATE.md"


def test_the_next_number_follows_the_highest() -> None:
    assert render_new("retry", [])[0] == "001-retry.md"
    assert render_new("retry", [0, 12, 3])[0] == "013-retry.md"
    assert render_new("retry", [999])[0] == "1000-retry.md"


def test_the_new_task_waits_for_its_files_and_then_parses() -> None:
    name, text = render_new("retry-on-429", [6])

    with pytest.raises(Problems, match="files is an empty list"):
        parse_task(text.encode(), name)
    task = parse_task(text.replace("files: []", "files: [src/**]").encode(), name)
    assert (task.number, task.title, task.status) == (7, "Retry on 429", "ready")


def test_the_template_explains_every_key_and_its_examples_parse() -> None:
    text = TEMPLATE.read_text()
    with_examples = re.sub(r"(?m)^# ([a-z_]+: (?:\S+|\[.*?\]|\{.*?\}))  .*$", r"\1", text)
    task = parse_task(with_examples.replace("files: []", "files: [a]").encode(), "tasks/009-x.md")

    assert set(task.lines) == set(KNOWN_KEYS)
    assert (task.depends, task.budget_microusd) == ((7,), 1_500_000)


def test_the_template_names_every_runtime() -> None:
    (line,) = (line for line in render_new("retry", [])[1].splitlines() if line.startswith("# runtime:"))
    said = line.partition("who codes: ")[2].partition(";")[0]
    assert re.split(r", | or ", said) == list(RuntimeName)


@pytest.mark.parametrize(
    "slug", ["", "Retry", "a_b", "-a", "a--b", "a/b", "../x", "a b", "a\n", "x" * 61, "é"]
)
def test_a_slug_that_is_no_file_name_is_refused(slug: str) -> None:
    with pytest.raises(Problems, match=r"factory new: .* is no slug; use small letters"):
        render_new(slug, [])
