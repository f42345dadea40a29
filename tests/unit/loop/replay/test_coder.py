from pathlib import Path

import pytest

from loop.replay.coder import write_changes
from support.gitkit import Repo, make_repo


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repo:
    made = make_repo(tmp_path / "repo")
    made.commit({".gitattributes": b"*.bat eol=crlf\n", "a": b"one\n", "deep/er/b": b"b\n"})
    monkeypatch.chdir(made.root)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("HOME", str(tmp_path))
    return made


def blob(repo: Repo, data: bytes) -> str:
    return repo.git("hash-object", "-w", "--stdin", stdin=data).decode().strip()


def test_a_file_is_written_in_place(repo: Repo) -> None:
    before = (repo.root / "a").stat().st_ino

    write_changes([("a", "100755", blob(repo, b"two\n"))])

    state = (repo.root / "a").stat()
    assert (state.st_ino, state.st_mode & 0o777) == (before, 0o755)
    assert (repo.root / "a").read_bytes() == b"two\n"


def test_the_attributes_that_lie_there_count_and_not_those_that_come(repo: Repo) -> None:
    rules, lines = blob(repo, b"* -text\n"), blob(repo, b"1\n2\n")

    write_changes(
        [(".gitattributes", "100644", rules), ("li\nne.bat", "100644", lines), ("x.bat", "100644", lines)]
    )

    assert (repo.root / "x.bat").read_bytes() == b"1\r\n2\r\n" == (repo.root / "li\nne.bat").read_bytes()


def test_folders_that_are_empty_go_and_a_link_takes_their_place(repo: Repo) -> None:
    write_changes([("deep/er/b", "000000", "0" * 40), ("deep", "120000", blob(repo, b"a"))])

    assert (repo.root / "deep").readlink() == Path("a")


def test_a_submodule_becomes_a_folder_and_a_marked_one_a_repository(repo: Repo) -> None:
    write_changes([("sub", "160000", "1" * 40)], ["sub"])

    assert [entry.name for entry in (repo.root / "sub").iterdir()] == [".git"]


def test_a_blob_that_is_not_there_is_an_error_and_nothing_is_written(repo: Repo) -> None:
    with pytest.raises(OSError, match="every blob"):
        write_changes([("a", "000000", "0" * 40), ("x", "100644", "1" * 40)])
    assert (repo.root / "a").exists()
