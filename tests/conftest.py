"""Fixtures of more than one folder: an engine, and the proof that nothing is left on it."""

import os
from collections.abc import Iterator

import pytest

from jobs.engine import Engine
from jobs.errors import EngineUnavailableError
from jobs.pod import OURS, select_labels


@pytest.fixture(scope="session")
def engine() -> Iterator[Engine]:
    """The engine; without one the test is skipped with the reason, or fails where CI is set."""
    try:
        found = Engine.connect()
    except EngineUnavailableError as error:
        if os.environ.get("CI"):
            pytest.fail(f"CI is set: {error}", pytrace=False)
        pytest.skip(str(error))
    yield found
    found.close()


@pytest.fixture(scope="session")
def runs(engine: Engine) -> Iterator[set[str]]:
    """Put the run ids of a session's jobs in here: at its end nothing of them may be left."""
    known: set[str] = set()
    yield known
    left = [
        name
        for run_id in known
        for name in (
            *(state.name for state in engine.containers.find(select_labels(run_id))),
            *(volume for volume, _ in engine.volumes.find(select_labels(run_id))),
        )
    ]
    networks = engine.networks({OURS: "1"})
    assert not left, f"left on the engine: {left}"
    assert not networks, f"networks of ours on the engine: {networks}"
