from pathlib import Path

import pytest

from instrument.planner.places import find_place


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    folder = tmp_path / "checkout"
    (folder / ".git").mkdir(parents=True)
    (folder / "src" / "deep").mkdir(parents=True)
    return folder


def test_a_repo_is_called_as_its_tasks_are(repo: Path) -> None:
    (repo / "factory.toml").write_text('[repo]\nname = "shop"\n')

    assert find_place(str(repo / "src" / "deep"), {}) == (str(repo), "shop")


@pytest.mark.parametrize("toml", [None, "", "[repo", "[repo]\nname = 7\n", 'repo = "x"\n'])
def test_a_repo_without_a_name_is_called_as_its_folder(repo: Path, toml: str | None) -> None:
    if toml is not None:
        (repo / "factory.toml").write_text(toml)

    assert find_place(str(repo / "src"), {}) == (str(repo), "checkout")


def test_a_worktree_is_the_repo_of_its_settings(repo: Path, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / ".git").write_text(f"gitdir: {repo}/.git/worktrees/tree\n")
    (tree / "factory.toml").write_text('[repo]\nname = "shop"\n')

    assert find_place(str(tree), {}) == (str(tree), "shop")


def test_a_folder_that_is_gone_is_what_it_was(tmp_path: Path) -> None:
    gone = str(tmp_path / "gone")

    assert find_place(f"{gone}/src", {gone: "shop"}) == (gone, "shop")
    assert find_place(f"{gone}/src", {}) == (f"{gone}/src", "src")


def test_a_session_without_a_folder_is_of_no_repo() -> None:
    assert find_place("", {}) == ("", "unknown")
