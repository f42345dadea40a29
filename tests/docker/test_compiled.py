"""The proxy's own tests over the machine code of its image: compiled, nothing may behave otherwise."""

import io
import os
import subprocess
import sys
import tarfile
from contextlib import closing
from pathlib import Path

import docker
import pytest

from jobs.engine import Engine
from jobs.images import ImageShelf
from jobs.pod import OURS
from support.own_engine import leave_out

pytestmark = pytest.mark.docker

ROOT = Path(__file__).parents[2]
TESTS = ("tests/unit/proxy", "tests/property/test_metering.py")
SUBCLASSING = ("tests/unit/proxy/test_ledger.py", "tests/unit/proxy/test_meter.py")
"""They make classes of their own out of compiled ones, which those do not allow."""
PROBE = "import proxy.desk, proxy.relay; print(proxy.desk.__file__, proxy.relay.__file__)"


def take_code(image: str, target: Path) -> None:
    """Bring our packages out of the sidecar's image, as they are in it."""
    with closing(docker.from_env()) as client:
        container = client.containers.create(image, labels={OURS: "1"})
        try:
            pieces, _stat = container.get_archive("/opt/factory")
            with tarfile.open(fileobj=io.BytesIO(b"".join(pieces))) as tar:
                tar.extractall(target, filter="data")
        finally:
            container.remove(force=True)


def run(env: dict[str, str], *line: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(line, env=env, cwd=ROOT, capture_output=True, text=True, check=False)


def test_the_compiled_proxy_passes_the_proxys_tests(engine: Engine, tmp_path: Path) -> None:
    take_code(ImageShelf(engine).sidecar(), tmp_path)
    env = {**os.environ, "PYTHONPATH": str(tmp_path / "factory"), "PYTHONDONTWRITEBYTECODE": "1"}
    probe = run(env, sys.executable, "-P", "-c", PROBE)
    if probe.returncode != 0 or not all(file.endswith(".so") for file in probe.stdout.split()):
        leave_out(f"this Python does not load the image's machine code: {probe.stdout}{probe.stderr}")
    ignored = [f"--ignore={path}" for path in SUBCLASSING]
    words = ["-q", "-n", "0", "-p", "no:cacheprovider", "-m", "not docker and not slow", *ignored, *TESTS]
    tested = run(env, str(Path(sys.executable).with_name("pytest")), *words)
    assert tested.returncode == 0, tested.stdout[-4000:]
