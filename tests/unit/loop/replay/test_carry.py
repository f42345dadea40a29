from pathlib import Path

import pytest

from loop.git.checkout import find_checkout
from loop.replay.carry import lane_count, place_name
from support.gitkit import make_repo


@pytest.mark.parametrize(("cpus", "steps", "lanes"), [(1, 500, 1), (8, 500, 4), (2, 30, 1), (8, 0, 1)])
def test_a_lane_is_made_where_it_is_worth_its_laying(cpus: int, steps: int, lanes: int) -> None:
    assert lane_count(cpus, steps) == lanes


def test_a_folder_of_any_name_gives_a_name_for_ours(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "my repo.git", "--bare")

    assert place_name(find_checkout(repo.root)) == "my-repo"
