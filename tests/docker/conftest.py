"""A world of pods for the tests of the engine side."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from jobs.engine import Engine
from jobs.runner import DockerJobs
from support.pods import World


@pytest.fixture
def world(engine: Engine, runs: set[str], job_image: str, tmp_path: Path) -> Iterator[World]:
    """A run of its own; whatever the test leaves is removed, and the session's end says if that failed."""
    jobs = DockerJobs()
    made = World(engine, jobs, tmp_path, job_image)
    runs.add(made.run_id)
    yield made
    jobs.reap(made.run_id, keep=None)
    jobs.close()
