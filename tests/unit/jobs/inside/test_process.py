import os
from pathlib import Path

import pytest

from jobs.inside.places import User
from jobs.inside.process import ChildError, do_as

ME = User(os.geteuid(), os.getegid())
pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")


def test_work_is_done_in_a_child(tmp_path: Path) -> None:
    target = tmp_path / "pid"
    do_as(ME, lambda: target.write_text(str(os.getpid())) and None)
    assert int(target.read_text()) != os.getpid()


def test_a_failure_in_the_child_is_one_line() -> None:
    def fail() -> None:
        raise RuntimeError("first\nsecond")

    with pytest.raises(ChildError, match=r"^RuntimeError: first second$"):
        do_as(ME, fail)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_root_becomes_the_user_without_further_groups() -> None:
    def check() -> None:
        assert os.getresuid() == (54_321,) * 3
        assert os.getresgid() == (54_322,) * 3
        assert os.getgroups() == []

    do_as(User(54_321, 54_322), check)
