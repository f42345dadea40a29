from pathlib import Path

import pytest
from click.testing import CliRunner

from loop.cli import main
from loop.errors import UsageError
from loop.replay.command import Asked, chosen


def asked(last: int | None = None, range_: str | None = None) -> Asked:
    return Asked(Path(), last, range_, is_jobs=False, is_restart=False, is_json=False)


def test_the_last_hundred_of_the_default_branch_are_meant_where_nothing_is_said() -> None:
    assert chosen(asked(), "main") == ("--max-count=100", "refs/heads/main")
    assert chosen(asked(last=7), "main") == ("--max-count=7", "refs/heads/main")
    assert chosen(asked(range_="a..b"), "main") == ("a..b",)


def test_a_range_cannot_be_an_option_of_git() -> None:
    with pytest.raises(UsageError, match="write it as A"):
        chosen(asked(range_="--output=x"), "main")


def test_a_folder_without_a_repository_is_exit_2_and_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FACTORY_HOME", str(tmp_path / "home"))
    done = CliRunner().invoke(main, ["replay", "--repo", str(tmp_path)])

    assert done.exit_code == 2
    assert "is in no git repository" in done.output
    assert not (tmp_path / "home").exists()


def test_last_and_range_do_not_go_together(tmp_path: Path) -> None:
    done = CliRunner().invoke(main, ["replay", "--repo", str(tmp_path), "--last", "3", "--range", "a..b"])

    assert done.exit_code == 2
    assert "not both" in done.output
