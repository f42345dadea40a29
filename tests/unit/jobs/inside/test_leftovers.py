from pathlib import Path

import pytest

from jobs.inside.leftovers import Leftovers, read_leftovers, write_leftovers
from support.gitkit import make_repo

LEFT = Leftovers().plus([b".venv/", b"a/b", b"", b"odd [x]* ?", b"line\nbreak", b"trail "])


@pytest.mark.parametrize(
    ("path", "is_covered"),
    [
        (b".venv", True),
        (b".venv/lib/x", True),
        (b".venv2", False),
        (b"a", False),
        (b"a/b", True),
        (b"a/bc", False),
        (b"c/.venv", False),
    ],
)
def test_a_folder_stands_for_everything_below_it(path: bytes, is_covered: bool) -> None:  # noqa: FBT001
    assert LEFT.covers(path) == is_covered
    assert not Leftovers().covers(path)


def test_the_list_survives_its_file(tmp_path: Path) -> None:
    path = str(tmp_path / "leftovers")
    assert read_leftovers(path) == Leftovers()
    write_leftovers(path, LEFT)
    assert read_leftovers(path) == LEFT
    assert (tmp_path / "leftovers").stat().st_mode & 0o777 == 0o644


def test_git_reads_the_patterns_as_these_very_paths(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo")
    (repo.root / ".git/info").mkdir(exist_ok=True)
    (repo.root / ".git/info/exclude").write_bytes(LEFT.as_patterns())
    repo.write(
        {"odd [x]* ?": b"", "odd xyz": b"", "line\nbreak": b"", "trail ": b"", "trail": b"", "a/b": b""}
    )
    repo.write({"sub/odd [x]* ?": b"", ".venv/x": b""})
    listed = repo.git("ls-files", "-z", "--others", "--exclude-standard").split(b"\0")
    assert sorted(listed[:-1]) == [b"odd xyz", b"sub/odd [x]* ?", b"trail"]
