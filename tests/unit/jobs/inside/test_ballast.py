from pathlib import Path

from jobs.inside.ballast import BALLAST_BYTES, drop_ballast, lay_ballast
from jobs.inside.places import Places


def test_the_room_is_really_taken_and_given_back(tmp_path: Path) -> None:
    (tmp_path / "job").mkdir()
    places = Places(str(tmp_path))
    lay_ballast(places)
    (file,) = (tmp_path / "job").iterdir()
    assert file.stat().st_blocks * 512 >= BALLAST_BYTES
    assert not drop_ballast(places)
    assert list((tmp_path / "job").iterdir()) == []


def test_a_job_that_never_came_so_far_has_nothing_to_give_back(tmp_path: Path) -> None:
    (tmp_path / "job").mkdir()
    assert not drop_ballast(Places(str(tmp_path)))
