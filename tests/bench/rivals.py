"""The programs that the sidecar is compared with: found, or installed once.

Limits: nginx comes from the distribution, LiteLLM from its package into an environment under build/.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import distributions
from pathlib import Path

from jobs.images import SIDECAR_PACKAGES
from tests.bench.ways import ROOT

LITELLM_VERSION = "1.108.7"
LITELLM_HOME = ROOT / "build/bench/litellm"
CODE = ROOT / "build/bench/code"
_SBIN = "/usr/sbin:/usr/local/sbin"


@dataclass(frozen=True, slots=True)
class Programs:
    """What a benchmark runs."""

    python: Path
    """Of the sidecar."""
    code: Path
    """Our packages as the sidecar's image has them."""
    nginx: Path
    litellm: Path | None
    """None where it is left out."""


class MissingError(Exception):
    """A program is not there and cannot be had; the text says what to do."""


def find_nginx() -> Path:
    """nginx's program.

    Raises:
        MissingError: It is not installed, and only root could install it here.
    """
    path = os.pathsep.join((os.environ.get("PATH", ""), _SBIN))
    found = shutil.which("nginx", path=path)
    if found is None and os.geteuid() == 0 and shutil.which("apt-get"):
        _do(["apt-get", "update", "-qq"])
        _do(["apt-get", "install", "-qq", "-y", "--no-install-recommends", "nginx-light"])
        found = shutil.which("nginx", path=path)
    if found is None:
        raise MissingError("nginx is missing: install the package nginx-light, or nginx")
    return Path(found)


def find_litellm() -> Path:
    """LiteLLM's program, of the pinned version.

    Raises:
        MissingError: It cannot be installed.
    """
    program = LITELLM_HOME / "bin/litellm"
    if not program.exists() or _litellm_version() != LITELLM_VERSION:
        sys.stderr.write(f"installing litellm {LITELLM_VERSION}, once\n")
        _do([sys.executable, "-m", "venv", "--clear", str(LITELLM_HOME)])
        _do([str(LITELLM_HOME / "bin/pip"), "install", "-q", f"litellm[proxy]=={LITELLM_VERSION}"])
    return program


def find_python() -> Path:
    """The distribution's Python, which jobs run, where it can use our packages; else the one that runs this.

    One that was built without its optimisations is a seventh slower.
    """
    system = Path("/usr/bin/python3")
    said = "import sys; print(sys.version_info[:2])"
    if not system.exists() or _said_by(system, "-I", "-c", said) != str(sys.version_info[:2]):
        return Path(sys.executable)
    return system


def compile_code() -> Path:
    """Our packages as the sidecar's image has them: the proxy's data path compiled.

    Raises:
        MissingError: It does not compile here.
    """
    sys.stderr.write("compiling the proxy, which takes a minute\n")
    shutil.rmtree(CODE, ignore_errors=True)
    for package in SIDECAR_PACKAGES:
        path = package.replace(".", "/")
        shutil.copytree(ROOT / path, CODE / path, ignore=shutil.ignore_patterns("__pycache__"))
    _do(["sh", str(CODE / "proxy/compile.sh"), str(CODE), sys.executable])
    return CODE


def versions(programs: Programs) -> dict[str, str]:
    """What runs, by name."""
    return {
        "Python": _said_by(programs.python, "--version").rpartition(" ")[2],
        "nginx": _said_by(programs.nginx, "-v").rpartition("/")[2],
        **({"LiteLLM": _litellm_version()} if programs.litellm else {}),
    }


def _litellm_version() -> str:
    """Of what is installed; empty where nothing is."""
    folders = [str(folder) for folder in LITELLM_HOME.glob("lib/python*/site-packages")]
    return next((found.version for found in distributions(name="litellm", path=folders)), "")


def _said_by(program: Path, *words: str) -> str:
    """What a program says; some say their version on standard error."""
    result = subprocess.run([str(program), *words], capture_output=True, text=True, check=True)
    return (result.stdout or result.stderr).strip()


def _do(line: Sequence[str]) -> None:
    """Run an installer."""
    result = subprocess.run(list(line), capture_output=True, text=True, check=False)
    if result.returncode:
        raise MissingError(f"`{' '.join(line)}` failed: {result.stderr.strip()[-300:]}")
