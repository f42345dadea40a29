"""Real servers: one for the session, and one for each test that kills it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.connect import Address
from engine.versions import BUILD_VARIABLE
from support.temporal import OwnServer


@pytest.fixture(scope="session", autouse=True)
def one_version() -> Iterator[None]:
    """Every process of these tests is of one version, even where a file is edited meanwhile."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(BUILD_VARIABLE, "tested")
        yield


@pytest.fixture(scope="session")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Address]:
    """A server of the session, its namespace ready; no test ends it."""
    server = OwnServer(tmp_path_factory.mktemp("temporal"))
    yield server.ready()
    server.stop()


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[OwnServer]:
    """A server of this test alone; not up yet."""
    server = OwnServer(tmp_path / "home")
    yield server
    server.stop()
