"""The reference pages: every key is explained, and what they show works."""

import re
import subprocess
from pathlib import Path

import pytest

from loop.config import parse_config
from loop.prompts.compose import reviewer_prompt
from loop.prompts.materials import ReviewerMaterials, SizedPath
from loop.verdict import Verdict, read_verdict, verdict_template
from proxy.scripted.story import Turn, load_story
from tools.readme_keys import config_tables, story_tables

DOCS = Path(__file__).resolve().parents[3] / "docs"
TOKEN = "0123456789abcdef"
TABLES = ("repo", "image", "setup", "checks", "checks.NAME", "paths", "agent", "agent.command", "reviewer")
MORE = ("limits", "caps", "egress", "job", "ladder", "ladder.caps", "merge", "prompts", "provider.openai")


def shown(page: str, language: str) -> list[str]:
    """The blocks of one language on a page, in order."""
    return re.findall(rf"(?ms)^```{language}\n(.*?)^```$", (DOCS / page).read_text())


def rows(block: str) -> list[list[str]]:
    """The cells of each key's row."""
    return [line[2:-2].split(" | ") for line in block.splitlines() if line.startswith("| `")]


def test_every_key_of_factory_toml_says_what_it_takes_and_means() -> None:
    for key, takes, default, meaning in rows(config_tables()):
        assert takes != "anything", key
        assert default, key
        assert meaning.endswith("."), key


@pytest.mark.parametrize("table", [*TABLES, *MORE])
def test_every_table_of_factory_toml_has_a_section(table: str) -> None:
    assert f"### `[{table}]`\n" in config_tables()


def test_defaults_and_limits_are_those_of_the_models() -> None:
    cells = {row[0]: row[1:3] for row in rows(config_tables())}
    assert cells["`memory`"] == ['size such as `"512m"`', '`"4g"`']
    assert cells["`job_min`"] == ["number, above 0 to 1440", "`30`"]
    assert cells["`run`"] == ["shell command", "required"]
    assert cells["`allow`"] == ["list: host", "required"]
    assert cells["`docker`"] == ["`true` or `false`", "`false`"]
    assert "`commands`" not in cells


def test_every_action_of_a_turn_is_in_the_storys_tables() -> None:
    keys = {row[0].strip("`") for row in rows(story_tables())}
    assert set(Turn.model_fields) <= keys
    assert "recorded" not in keys


def test_the_examples_of_the_reference_are_read_without_a_fault() -> None:
    whole, command = shown("factory-toml.md", "toml")
    assert parse_config(whole.encode()).gate == ("unit", "types")
    checks = '[checks]\nfast = ["a"]\n[checks.a]\nrun = "true"\n'
    assert parse_config(f'[repo]\nname = "shop"\n{checks}{command}'.encode()).agent.command.reviewer
    (story,) = shown("story.md", "yaml")
    assert load_story(story).turns_of("reviewer", 7)


def test_the_shell_lines_of_the_reference_do_a_round(tmp_path: Path) -> None:
    _, command = shown("factory-toml.md", "toml")
    agent = parse_config(f'[repo]\nname = "shop"\n{command}'.encode()).agent
    prompt, review = tmp_path / "prompt", tmp_path / "review.md"
    paths = (SizedPath("words.txt", 5),)
    prompt.write_bytes(
        reviewer_prompt(
            ReviewerMaterials(
                task="# A\n", round=1, base="b" * 40, token=TOKEN, checks=(), diff="+x\n", paths=paths
            )
        )
    )
    environment = {"PATH": "/usr/bin:/bin", "FACTORY_PROMPT": str(prompt), "FACTORY_REVIEW_FILE": str(review)}
    for line in (agent.command.coder, agent.command.reviewer):
        assert line
        subprocess.run(["bash", "-c", line], cwd=tmp_path, env=environment, check=True)
    assert (tmp_path / "words.txt").read_text() == "more\n"
    verdict = read_verdict(review.read_text(), token=TOKEN, must_cover=["words.txt"])
    assert isinstance(verdict, Verdict)
    assert verdict.says == "approve"


def test_the_verdict_that_is_shown_is_one() -> None:
    block = re.search(r"(?ms)^````\n(.*?)^````$", (DOCS / "factory-toml.md").read_text())
    assert block
    verdict = read_verdict(block[1], token=TOKEN, must_cover=["src/x.py", "tests/test_x.py"])
    assert isinstance(verdict, Verdict)
    assert verdict.says == "changes"
    assert set(re.findall(r'"(\w+)":', block[1])) == set(re.findall(r'"(\w+)":', verdict_template(TOKEN)))
