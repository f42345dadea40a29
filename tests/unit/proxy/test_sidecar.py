"""The program itself, as a process."""

import http.client
import http.server
import json
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from instrument.ledger import read_ledger
from instrument.schema.ledger import LedgerSummary
from instrument.schema.vocabulary import NoticeKind

STORY = """
rounds:
  - role: coder
    turns:
      - finish: "All done."
        usage: {input: 3, cache_write_5m: 12304, output: 550}
  - role: reviewer
    turns:
      - finish: "Slowly."
        event_delay_ms: 60000
"""
SECRET = "sk-never-on-disk"


class Caller(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=20)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(20)
        self.sock.connect(str(self._path))


class Sidecar:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.socket = folder / "proxy.sock"
        self.ledger = folder / "ledger.jsonl"
        self.marker = folder / "called"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self, **changes: Any) -> subprocess.Popen[bytes]:
        settings = {
            "socket": str(self.socket),
            "marker": str(self.marker),
            "ledger": str(self.ledger),
            "base_url": "https://api.anthropic.com",
            "secret": SECRET,
            "auth": "api_key",
            "budget_microusd": 1_000_000,
            "deadline_s": 60.0,
            "story": STORY,
            "story_role": "coder",
            "story_round": 1,
        }
        line = json.dumps({**settings, **changes}).encode() + b"\n"
        self.process = subprocess.Popen(
            [sys.executable, "-m", "proxy.sidecar"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert self.process.stdin is not None
        self.process.stdin.write(line)
        self.process.stdin.flush()
        return self.process

    def wait_until_ready(self) -> Caller:
        for _ in range(2000):
            if self.socket.exists():
                return Caller(self.socket)
            assert self.process is not None
            assert self.process.poll() is None
            time.sleep(0.01)
        raise AssertionError("no socket")

    def summary(self) -> LedgerSummary:
        return read_ledger(self.ledger.read_bytes())

    def end(self) -> tuple[int, str]:
        assert self.process is not None
        _, errors = self.process.communicate(timeout=20)
        return self.process.returncode, errors.decode()


@pytest.fixture
def sidecar(tmp_path: Path) -> Iterator[Sidecar]:
    made = Sidecar(tmp_path)
    yield made
    if made.process is not None:
        if made.process.poll() is None:
            made.process.kill()
        made.process.communicate()


def body(*, is_stream: bool = False) -> str:
    tools = [{"name": "Bash", "input_schema": {}}]
    return json.dumps(
        {"model": "claude-sonnet-4-5", "max_tokens": 9, "stream": is_stream, "messages": [], "tools": tools}
    )


def test_a_story_answers_on_the_real_path_and_sigterm_ends_it_at_once(sidecar: Sidecar) -> None:
    process = sidecar.start()
    caller = sidecar.wait_until_ready()
    assert not sidecar.marker.exists()
    caller.request("POST", "/v1/messages?beta=true", body(), {"user-agent": "agent/9"})
    answer = json.loads(caller.getresponse().read())
    assert answer["content"] == [{"type": "text", "text": "All done."}]
    assert sidecar.marker.exists()
    assert sidecar.socket.stat().st_mode & 0o777 == 0o666
    (call,) = sidecar.summary().calls
    assert call.cost_microusd == 54399
    asked = [json.loads(line) for line in (sidecar.folder / "requests.jsonl").read_text().splitlines()]
    assert [(row["n"], row["user_agent"], row["role"], row["round"], row["turn"]) for row in asked] == [
        (1, "agent/9", "coder", 1, 0)
    ]
    begun_s = time.monotonic()
    process.send_signal(signal.SIGTERM)
    assert sidecar.end() == (0, "")
    assert time.monotonic() - begun_s < 5
    caller.close()
    kept = b"".join(path.read_bytes() for path in sidecar.folder.iterdir() if path.is_file())
    assert SECRET.encode() not in kept


def test_prices_of_ones_own_are_what_it_charges(sidecar: Sidecar) -> None:
    own = {"input": 0, "cache_write_5m": 1, "output": 2}
    sidecar.start(prices={"claude-sonnet-4-5": own})
    caller = sidecar.wait_until_ready()
    caller.request("POST", "/v1/messages", body())
    caller.getresponse().read()
    caller.close()
    opened = json.loads(sidecar.ledger.read_bytes().split(b"\n")[0])
    assert opened["price_package"].endswith(", 1 of factory.toml on top")
    assert sidecar.summary().cost_microusd == 12304 * 1 + 550 * 2


def test_the_same_story_answers_in_openais_protocol(sidecar: Sidecar) -> None:
    sidecar.start(protocol="openai")
    caller = sidecar.wait_until_ready()
    tools = [{"type": "function", "name": "shell", "parameters": {}}]
    caller.request("POST", "/v1/responses", json.dumps({"model": "gpt-5", "input": "go", "tools": tools}))
    answer = json.loads(caller.getresponse().read())
    assert answer["output"][0]["content"][0]["text"] == "All done."
    caller.request("POST", "/v1/messages", body())
    assert caller.getresponse().status == 404
    caller.close()
    (call,) = sidecar.summary().calls
    # 12,307 of input at 1.25, of which 12,304 were written to a cache that costs nothing, 550 at 10.
    assert call.cost_microusd == 20884


def test_a_call_that_runs_at_sigterm_is_settled(sidecar: Sidecar) -> None:
    process = sidecar.start(story_role="reviewer")
    caller = sidecar.wait_until_ready()
    caller.request("POST", "/v1/messages", body(is_stream=True))
    response = caller.getresponse()
    assert response.read(5) == b"event"
    process.terminate()
    assert sidecar.end()[0] == 0
    (call,) = sidecar.summary().calls
    assert (call.settled, call.estimated) == (True, True)
    response.close()
    caller.close()


def test_killed_it_leaves_a_start_at_its_reservation_and_takes_its_provider_along(sidecar: Sidecar) -> None:
    process = sidecar.start(story_role="reviewer")
    caller = sidecar.wait_until_ready()
    caller.request("POST", "/v1/messages", body(is_stream=True))
    response = caller.getresponse()
    assert response.read(5) == b"event"
    children = [int(pid) for pid in _children(process.pid)]
    assert children
    process.kill()
    process.wait(timeout=20)
    (call,) = sidecar.summary().calls
    assert not call.settled
    assert call.cost_microusd > 0
    for _ in range(500):
        if not any(_is_alive(pid) for pid in children):
            break
        time.sleep(0.01)
    assert not any(_is_alive(pid) for pid in children)
    response.close()
    caller.close()


class Echo(http.server.BaseHTTPRequestHandler):
    """A provider that is overloaded, or refuses the key and repeats it in its error."""

    wbufsize = -1
    """Head and body in one piece: the body of an answer that is not passed on is not waited for."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        key = self.headers["authorization"] or self.headers["x-api-key"]
        kind = f"no_such_key {key}"
        answer = json.dumps({"type": "error", "error": {"type": kind, "message": kind}}).encode()
        self.send_response(529 if key == SECRET else 401)
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def test_fallbacks_are_asked_with_their_keys_and_no_key_that_is_echoed_stays_in_the_ledger(
    sidecar: Sidecar,
) -> None:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Echo) as provider:
        threading.Thread(target=provider.serve_forever).start()
        url = f"http://127.0.0.1:{provider.server_port}"
        fallback = {"base_url": url, "secret": "sk-of-the-fallback", "auth": "bearer"}
        sidecar.start(base_url=url, story=None, fallbacks=[fallback], masked=["env-value"])
        caller = sidecar.wait_until_ready()
        for _ in range(2):
            caller.request("POST", "/v1/messages", body(), {"user-agent": f"{SECRET} env-value"})
            answer = caller.getresponse()
            assert answer.status == 401
            assert b"sk-of-the-fallback" in answer.read()
        caller.close()
        provider.shutdown()
    summary = sidecar.summary()
    assert [(call.host, call.status) for call in summary.calls] == [("127.0.0.1", s) for s in (529, 401, 401)]
    assert [call.error_type for call in summary.calls] == ["no_such_key ***", *["no_such_key Bearer ***"] * 2]
    assert {call.user_agent for call in summary.calls} == {"*** ***"}
    assert [notice.what for notice in summary.notices] == [NoticeKind.AUTH_REFUSED]
    kept = sidecar.ledger.read_text()
    assert not any(value in kept for value in (SECRET, "sk-of-the-fallback", "env-value"))


def _children(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


def _is_alive(pid: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False


@pytest.mark.parametrize(
    ("changes", "code", "word"),
    [
        ({"story": "rounds: ["}, 2, "The story is not YAML"),
        ({"socket": "/proc/nowhere/proxy.sock"}, 2, "No socket can be made"),
        ({"ledger": "/proc/nowhere/ledger.jsonl"}, 1, "/proc/nowhere/ledger.jsonl"),
    ],
)
def test_what_cannot_start_says_so_in_one_sentence(
    sidecar: Sidecar, changes: dict[str, Any], code: int, word: str
) -> None:
    sidecar.start(**changes)
    returned, errors = sidecar.end()
    assert returned == code
    assert word in errors
    assert errors.count("\n") == 1
    assert SECRET not in errors


def test_sigterm_before_any_line_ends_it(sidecar: Sidecar) -> None:
    process = subprocess.Popen([sys.executable, "-m", "proxy.sidecar"], stdin=subprocess.PIPE)
    assert process.stdin is not None
    with process.stdin:
        for _ in range(2000):
            # Its own handler is there once the signal is caught (bit 14 of the mask).
            status = Path(f"/proc/{process.pid}/status").read_text()
            if int(status.partition("SigCgt:")[2].split()[0], 16) & 1 << (signal.SIGTERM - 1):
                break
            time.sleep(0.01)
        process.terminate()
        assert process.wait(timeout=20) == 0
    assert list(sidecar.folder.iterdir()) == []


def test_without_a_line_it_says_so(sidecar: Sidecar) -> None:
    process = subprocess.run(
        [sys.executable, "-m", "proxy.sidecar"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        timeout=30,
    )
    assert process.returncode == 2
    assert b"settings line" in process.stderr
    assert list(sidecar.folder.iterdir()) == []
