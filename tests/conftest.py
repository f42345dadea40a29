"""Fixtures of more than one folder: an engine, and the proof that nothing is left on it."""

import gc
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from jobs.engine import Engine
from jobs.errors import EngineUnavailableError
from jobs.images import ImageShelf
from jobs.pod import OURS, select_labels

RAM_DISK = Path("/dev/shm")
NEEDED_BYTES = 2 * 1024**3
# A noisy machine is no fault of the code.
settings.register_profile("calm", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("calm")


def pytest_configure() -> None:
    """Put the tests' files on a RAM disk where there is one: whatever is saved atomically is also synced."""
    if has_ram_disk():
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(RAM_DISK))


def pytest_collection_finish() -> None:
    """Take what was collected out of the collector's sight: it would walk all of it again and again."""
    gc.collect()
    gc.freeze()


def has_ram_disk() -> bool:
    """A container's is small and may not run programs, which tests write too."""
    if not os.access(RAM_DISK, os.W_OK) or os.statvfs(RAM_DISK).f_flag & os.ST_NOEXEC:
        return False
    return shutil.disk_usage(RAM_DISK).free >= NEEDED_BYTES


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


@pytest.fixture(scope="session")
def job_image(engine: Engine) -> str:
    return ImageShelf(engine).job()
