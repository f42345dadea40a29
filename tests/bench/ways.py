"""The ways from a client to the provider that a benchmark compares, each a program of its own.

Limits: starts and ends them, and measures nothing but their start.
"""

import json
import os
import socket
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.bench.loads import Address, LoadError, ask, call, connect

ROOT = Path(__file__).resolve().parents[2]
LITELLM_KEY = "sk-bench"
START_TIMEOUT_S = 90.0
_POLL_S = 0.002
_NGINX = """
daemon off; master_process off; error_log {folder}/error.log; pid {folder}/nginx.pid;
events {{ worker_connections 512; }}
http {{
  access_log {folder}/access.log;
  client_body_temp_path {folder}/t1; proxy_temp_path {folder}/t2; fastcgi_temp_path {folder}/t3;
  uwsgi_temp_path {folder}/t4; scgi_temp_path {folder}/t5;
  client_max_body_size 64m; keepalive_requests 10000000;
  upstream provider {{ server 127.0.0.1:{port}; keepalive 64; keepalive_requests 10000000; }}
  server {{
    listen unix:{folder}/nginx.sock;
    location / {{
      proxy_pass http://provider; proxy_http_version 1.1; proxy_set_header Connection "";
      proxy_buffering off; proxy_request_buffering off;
    }}
  }}
}}
"""
_LITELLM = """
model_list:
  - model_name: claude-sonnet-4-5
    litellm_params:
      model: anthropic/claude-sonnet-4-5
      api_base: http://127.0.0.1:{port}
      api_key: bench
"""


@dataclass(frozen=True, slots=True)
class Way:
    """One way that is up: where to call, and what runs there; none for the provider itself."""

    address: Address
    process: subprocess.Popen[bytes] | None
    start_ms: float
    """From the program's start to its first answer."""

    def resident_bytes(self) -> int | None:
        """The program's memory now; none where the machine does not say."""
        status = Path(f"/proc/{self.process.pid}/status") if self.process else None
        if status is None or not status.exists():
            return None
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmRSS:"))
        return int(line.split()[1]) * 1024


@contextmanager
def run(line: Sequence[str], folder: Path, stdin: bytes, **env: str) -> Iterator[subprocess.Popen[bytes]]:
    """A program that is ended at the end; what it says goes to a file in its folder."""
    with (folder / "output.log").open("ab") as output:
        process = subprocess.Popen(
            list(line),
            cwd=folder,
            env={**os.environ, **env},
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=output,
        )
    assert process.stdin is not None
    try:
        if stdin:
            process.stdin.write(stdin)
            process.stdin.flush()
        yield process
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdin.close()


def first_answer_ms(address: Address, process: subprocess.Popen[bytes], begun_s: float) -> float:
    """Ask until there is an answer.

    Raises:
        LoadError: The program ended, or gave none in time.
    """
    request = call(is_stream=False, key=LITELLM_KEY)
    while time.perf_counter() - begun_s < START_TIMEOUT_S:
        if process.poll() is not None:
            raise LoadError(f"{process.args!r} ended with exit code {process.returncode}")
        try:
            with connect(address) as sock:
                ask(sock, request)
                return (time.perf_counter() - begun_s) * 1000
        except OSError:
            time.sleep(_POLL_S)
    raise LoadError(f"{process.args!r} gave no answer in time")


@contextmanager
def up(line: Sequence[str], folder: Path, address: Address, stdin: bytes = b"", **env: str) -> Iterator[Way]:
    """A way, once it has answered."""
    folder.mkdir(parents=True, exist_ok=True)
    begun_s = time.perf_counter()
    with run(line, folder, stdin, **env) as process:
        yield Way(address, process, first_answer_ms(address, process, begun_s))


@contextmanager
def provider(folder: Path) -> Iterator[tuple[str, int]]:
    """The provider's address."""
    folder.mkdir(parents=True, exist_ok=True)
    line = [sys.executable, "-I", str(ROOT / "tests/bench/provider.py")]
    with run(line, folder, b"") as process:
        output, end_s = folder / "output.log", time.perf_counter() + START_TIMEOUT_S
        while not output.read_bytes().endswith(b"\n"):
            if process.poll() is not None or time.perf_counter() > end_s:
                raise LoadError(f"the provider did not start: {output.read_text()[:300]}")
            time.sleep(_POLL_S)
        yield "127.0.0.1", int(output.read_bytes())


def sidecar(python: Path, code: Path, sockets: Path, ledgers: Path, port: int) -> AbstractContextManager[Way]:
    """Our own program, metering for a budget that no benchmark spends; its ledger in a folder of its own."""
    sockets.mkdir(parents=True, exist_ok=True)
    ledgers.mkdir(parents=True, exist_ok=True)
    settings = {
        "socket": str(sockets / "proxy.sock"),
        "marker": str(sockets / "called"),
        "ledger": str(ledgers / "ledger.jsonl"),
        "base_url": f"http://127.0.0.1:{port}",
        "secret": "bench",
        "auth": "api_key",
        "budget_microusd": 10**15,
        "deadline_s": 3600.0,
        "story": None,
        "story_role": "coder",
        "story_round": 1,
    }
    line = [str(python), "-P", "-m", "proxy.sidecar"]
    stdin = json.dumps(settings).encode() + b"\n"
    packages = os.pathsep.join((str(code), sysconfig.get_path("platlib")))
    # In a job's image the bytecode is there.
    return up(line, sockets, settings["socket"], stdin, PYTHONPATH=packages, PYTHONDONTWRITEBYTECODE="")


def nginx(program: Path, folder: Path, port: int) -> AbstractContextManager[Way]:
    """One process of it, with its access log, as a plain reverse proxy that buffers nothing."""
    folder.mkdir(parents=True, exist_ok=True)
    config = folder / "nginx.conf"
    config.write_text(_NGINX.format(folder=folder, port=port))
    return up([str(program), "-p", str(folder), "-c", str(config)], folder, str(folder / "nginx.sock"))


def litellm(program: Path, folder: Path, port: int) -> AbstractContextManager[Way]:
    """One worker of it, told not to look for prices elsewhere."""
    folder.mkdir(parents=True, exist_ok=True)
    config = folder / "config.yaml"
    config.write_text(_LITELLM.format(port=port))
    address = ("127.0.0.1", free_port())
    line = [str(program), "--config", str(config), "--host", address[0], "--port", str(address[1])]
    return up(line, folder, address, LITELLM_MASTER_KEY=LITELLM_KEY, LITELLM_LOCAL_MODEL_COST_MAP="True")


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]
