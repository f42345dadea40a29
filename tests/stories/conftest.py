"""The stories' folders, in memory where that can be: the journal syncs after every line."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

RAM_DISK = Path("/dev/shm")


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    where = RAM_DISK if os.access(RAM_DISK, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="story-", dir=where, ignore_cleanup_errors=True) as name:
        yield Path(name)
