import os
from pathlib import Path

import pytest

from jobs.inside.leftovers import Leftovers
from jobs.inside.walk import WalkError, is_git_name, survey


@pytest.mark.parametrize(
    "name", [b".git", b".GIT", b".git ", b".git...", b"GIT~1", b".git::$INDEX_ALLOCATION"]
)
def test_names_that_git_refuses_are_known(name: bytes) -> None:
    assert is_git_name(name)


@pytest.mark.parametrize("name", [b".gitignore", b"git", b".github", b"x.git", b"git~2"])
def test_names_that_git_takes_are_known(name: bytes) -> None:
    assert not is_git_name(name)


def test_the_walk_finds_what_git_must_not_meet(tmp_path: Path) -> None:
    for folder in (".git/x", "a/b/.git", "left/c/.git", "real"):
        (tmp_path / folder).mkdir(parents=True)
    os.mkfifo(tmp_path / "a" / "pipe")
    os.mkfifo(tmp_path / "left" / "pipe")
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "loop").symlink_to(".")
    found = survey(os.fsencode(tmp_path), Leftovers(frozenset({b"left"})))
    assert found.special == [b"a/pipe"]
    assert found.nested == [b"a/b"]
    assert found.unreadable == []
    assert found.entries == 7


def test_a_path_too_long_to_name_is_unreadable_and_no_crash(tmp_path: Path) -> None:
    here = os.getcwd()  # noqa: PTH109 - a path that pathlib cannot hold
    os.chdir(tmp_path)
    try:
        for _ in range(20):
            os.mkdir("d" * 250)  # noqa: PTH102 - relative to where we stand
            os.chdir("d" * 250)
    finally:
        os.chdir(here)
    assert len(survey(os.fsencode(tmp_path), Leftovers()).unreadable) == 1


def test_a_tree_without_end_is_given_up(tmp_path: Path) -> None:
    for n in range(5):
        (tmp_path / str(n)).touch()
    with pytest.raises(WalkError, match="more than 3 entries"):
        survey(os.fsencode(tmp_path), Leftovers(), most=3)
