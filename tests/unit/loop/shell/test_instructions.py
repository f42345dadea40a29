"""Which files of a tree instruct an agent; whose they are in a review is told by `test_orders.py`."""

import pytest

from loop.shell.context import Context
from loop.shell.instructions import MOST_BYTES, MOST_NESTED, nested_instructions
from support.repos import Desk


def nested_of(context: Context, desk: Desk, files: dict[str, str]) -> dict[str, str]:
    commit = desk.commit(files)
    context.store.fetch_tips("main", "origin")
    return nested_instructions(context.store, commit)


def test_the_texts_below_the_top_are_found_with_what_they_say(context: Context, desk: Desk):
    files = {"AGENTS.md": "top", "pkg/AGENTS.md": "one", "pkg/a/CLAUDE.md": "two", "pkg/README.md": "no"}
    assert nested_of(context, desk, files) == {"pkg/AGENTS.md": "one", "pkg/a/CLAUDE.md": "two"}


@pytest.mark.parametrize("path", [".claude/CLAUDE.md", "pkg/.hidden/AGENTS.md", "pkg/b\u2028d/AGENTS.md"])
def test_settings_folders_and_strange_names_hold_none(context: Context, desk: Desk, path: str):
    assert nested_of(context, desk, {path: "no", "pkg/AGENTS.md": "yes"}) == {"pkg/AGENTS.md": "yes"}


def test_a_hundred_texts_are_taken_and_a_long_one_is_cut(context: Context, desk: Desk):
    files = {f"p{n:03}/AGENTS.md": "x" * (MOST_BYTES + 9) for n in range(MOST_NESTED + 1)}
    found = nested_of(context, desk, files)
    assert (len(found), list(found)[-1]) == (MOST_NESTED, f"p{MOST_NESTED - 1:03}/AGENTS.md")
    assert {len(text) for text in found.values()} == {MOST_BYTES}
