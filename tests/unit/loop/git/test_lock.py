import stat
from pathlib import Path

import pytest

from loop.git.errors import RepositoryBusyError
from loop.git.lock import repo_lock


def test_a_held_lock_is_one_sentence_and_free_again_afterwards(tmp_path: Path) -> None:
    with repo_lock(tmp_path, "r", 1):
        with pytest.raises(RepositoryBusyError, match="'r'"), repo_lock(tmp_path, "r", 0.05):
            pytest.fail("two held it")
        with repo_lock(tmp_path, "other", 0.05):
            pass
    with repo_lock(tmp_path, "r", 0.05):
        assert stat.S_IMODE((tmp_path / "repos").stat().st_mode) == 0o700


def test_an_error_inside_gives_the_lock_back(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), repo_lock(tmp_path, "r", 1):
        _ = 1 / 0
    with repo_lock(tmp_path, "r", 0.05):
        pass
