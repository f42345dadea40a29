import stat
from pathlib import Path

import pytest

from loop.errors import BusyError, Exit
from loop.leases import hold_briefly, try_lease


def test_one_lease_at_a_time_and_free_again_after_the_block(tmp_path: Path) -> None:
    path = tmp_path / "home/x/a.lock"
    first = try_lease(path)
    assert first is not None
    with first:
        assert try_lease(path) is None
    second = try_lease(path)
    assert second is not None
    second.release()
    second.release()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_a_held_lock_is_one_sentence_and_exit_4(tmp_path: Path) -> None:
    path = tmp_path / "a.lock"
    with (
        hold_briefly(path, 1, "others work"),
        pytest.raises(BusyError, match="others work for more") as caught,
        hold_briefly(path, 0.05, "others work"),
    ):
        pytest.fail("two held it")
    assert caught.value.exit_code is Exit.BUSY


def test_an_error_inside_gives_it_back(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), hold_briefly(tmp_path / "a.lock", 1, ""):
        _ = 1 / 0
    assert try_lease(tmp_path / "a.lock") is not None
