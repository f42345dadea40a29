import pytest

from loop.doctor.tree import (
    look_at_case,
    look_at_filters,
    look_at_hooks,
    look_at_submodules,
    same_but_for_case,
)

CHECKS = (look_at_submodules, look_at_filters, look_at_hooks, look_at_case)


def test_a_plain_tree_has_none_of_it(office):
    assert [office.look(check)[0] for check in CHECKS] == ["ok"] * 4


def test_a_submodule_is_found(office):
    person = office.desk.person
    person.git("update-index", "--add", "--cacheinfo", f"160000,{person.head()},libs/theirs")
    person.git("commit", "--quiet", "-m", "a link")
    state, found, mend = office.look(look_at_submodules)
    assert (state, found) == ("note", "1: libs/theirs")
    assert "submodule_changed" in mend


def test_files_of_lfs_are_found(office):
    office.desk.commit(
        {".gitattributes": "*.bin filter=lfs diff=lfs -text\n", "a.bin": b"x", "b/c.bin": b"y"}
    )
    state, found, mend = office.look(look_at_filters)
    assert (state, found) == ("note", "a content filter such as LFS over 2: a.bin, b/c.bin")
    assert "unsupported_filter" in mend


def test_hooks_are_found_where_git_would_look_for_them(office):
    person = office.desk.person
    hook = person.root / ".git/hooks/pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\n")
    assert office.look(look_at_hooks)[0] == "ok", "it may not be run"
    hook.chmod(0o755)
    state, found, mend = office.look(look_at_hooks)
    assert (state, found) == ("note", "pre-commit in .git/hooks")
    assert mend == "the loop runs no hook: put what they look at into [checks]"
    (person.root / ".githooks").mkdir()
    hook.replace(person.root / ".githooks/commit-msg")
    person.git("config", "core.hooksPath", ".githooks")
    assert office.look(look_at_hooks)[1] == "commit-msg in .githooks"


def test_a_tool_that_would_install_hooks_is_found(office):
    office.desk.commit({".pre-commit-config.yaml": "repos: []\n"})
    assert office.look(look_at_hooks)[:2] == ("note", ".pre-commit-config.yaml")


def test_two_paths_that_differ_by_case_are_found(office):
    office.desk.commit({"docs/Read.md": "a\n", "docs/read.md": "b\n"})
    state, found, mend = office.look(look_at_case)
    assert (state, found) == ("note", "1: docs/Read.md and docs/read.md")
    assert "rename one of each" in mend


@pytest.mark.parametrize(
    ("paths", "twins"),
    [
        (["a/b", "a/c"], []),
        (["a/b", "A/c"], [("A", "a")]),
        (["a/b", "A/b", "A/B"], [("A", "a"), ("A/B", "A/b")]),
        (["straße", "STRASSE"], [("STRASSE", "straße")]),
        (["a", "A/b"], [("A", "a")]),
    ],
)
def test_folders_count_and_what_lies_below_is_not_told_again(paths, twins):
    assert same_but_for_case(paths) == twins
