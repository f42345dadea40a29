import os

import pytest

from jobs.inside.ending import end_all, living
from jobs.inside.places import User


@pytest.mark.parametrize("uid", sorted({0, os.geteuid()}))
def test_our_own_user_and_root_are_never_ended(uid: int) -> None:
    with pytest.raises(ValueError, match="end ourselves"):
        end_all(User(uid, uid))


def test_the_living_of_a_user_are_found() -> None:
    assert os.getpid() in living(User(os.geteuid(), os.getegid()))
    assert os.getpid() not in living(User(54_321, 54_321))
