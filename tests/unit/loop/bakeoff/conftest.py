"""A bake-off of three tasks on a person's desk."""

import pytest

from support.bakeoffs import Bakeoff, with_tasks
from support.repos import Desk


@pytest.fixture
def bakeoff(desk: Desk) -> Bakeoff:
    return Bakeoff(with_tasks(desk))
