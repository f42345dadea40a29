from pathlib import Path

import pytest

from support.sessions import Machine


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path / "person", tmp_path / "home")
