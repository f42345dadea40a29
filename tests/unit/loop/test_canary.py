"""The canary before the first paid call: what it leaves in the home."""

import pytest

from loop.canary import CanaryError, ensure_canary
from support.fake_jobs import Turn
from support.repos import Desk

CHANGED = "durations/human.py"


@pytest.fixture
def canary(desk: Desk) -> Desk:
    """Its one check is red until the file is written anew."""
    desk.script.looked_at = CHANGED
    desk.script.failing = {"unit": b"def "}
    desk.script.coder = (Turn({CHANGED: b"good\n"}),)
    return desk


def test_one_that_lands_leaves_its_name_alone(canary: Desk) -> None:
    for _ in range(2):
        ensure_canary(canary.world(), lambda: "engine-1")

    assert canary.said.getvalue().count("canary: landed") == 1
    assert (canary.home / "canary/landed.txt").read_text() == "engine-1\n"
    assert {path.name for path in (canary.home / "canary").iterdir()} == {"landed.txt", "lock"}


def test_one_that_stops_is_kept_with_its_place_named(canary: Desk) -> None:
    canary.script.coder = (Turn(),)

    with pytest.raises(CanaryError) as caught:
        ensure_canary(canary.world(), lambda: "engine-1")

    kept = canary.home / "canary/work/home/tasks/durations-001"
    assert str(kept) in str(caught.value)
    assert (kept / "brief.md").is_file()
    assert not (canary.home / "canary/landed.txt").exists()
