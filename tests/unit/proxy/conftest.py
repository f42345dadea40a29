"""The proxy between real sockets, as a fixture."""

from pathlib import Path

import pytest

from support.proxykit import Proxy


@pytest.fixture
def proxy(tmp_path: Path) -> Proxy:
    return Proxy(tmp_path)
