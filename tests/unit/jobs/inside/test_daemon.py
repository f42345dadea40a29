import json
import os
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from jobs.inside.daemon import DaemonError, give_back, open_daemon
from jobs.inside.order import Order
from jobs.inside.places import Places, User
from jobs.inside.watch import Pump

ME = User(os.geteuid(), os.getegid())
ORDER = Order(
    *("repo-007-check-1-0a1b2c3d", "check", "1" * 40, "/none"),
    deadline_s=60,
    first_call_s=30,
    disk_bytes=1,
    patch_bytes=1,
    patch_files=1,
    env={"HTTPS_PROXY": "http://127.0.0.1:1", "TOKEN": "correct-horse"},
    secrets=("correct-horse",),
    docker=True,
)
SERVER = """
import json, os, socket, sys
with open(os.environ["PATH"].rsplit(":", 1)[1], "w") as noted:
    json.dump([os.getpid(), sys.argv[1:], dict(os.environ)], noted)
listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[1])
listener.listen()
while True:
    client, _ = listener.accept()
    asked = client.recv(1000)
    if b"/die" in asked:
        sys.exit("no space left")
    client.sendall(b"HTTP/1.0 200 OK\\r\\n\\r\\nOK" if b"/_ping" in asked else b"HTTP/1.0 404 No\\r\\n\\r\\n")
    client.close()
"""


@pytest.fixture
def places(tmp_path: Path) -> Places:
    made = Places(str(tmp_path), ME)
    for folder in ("repo", "run", "job/out"):
        (tmp_path / folder).mkdir(parents=True)
    return made


@pytest.fixture
def pump() -> Iterator[Pump]:
    made = Pump()
    yield made
    made.close()


@pytest.fixture
def noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the server says who it is: a daemon is told nothing but its search path and the proxies."""
    path = tmp_path / "noted"
    monkeypatch.setenv("PATH", f"{os.environ['PATH']}:{path}")
    return path


def server(places: Places) -> list[str]:
    return [sys.executable, "-c", SERVER, places.docker_socket]


def program(text: str) -> list[str]:
    return [sys.executable, "-c", text]


def ask(places: Places, line: bytes) -> None:
    with closing(socket.socket(socket.AF_UNIX)) as client:
        client.connect(places.docker_socket)
        client.sendall(line)
        client.recv(100)


def later(seconds: float = 20) -> float:
    return time.monotonic() + seconds


def test_nothing_is_started_where_the_order_asks_for_none(places: Places, pump: Pump) -> None:
    order = Order(**{**vars(ORDER), "docker": False})
    with open_daemon(order, places, pump, later(), ["/no/such/program"]):
        pass
    assert list(Path(places.out).iterdir()) == []


def test_the_work_begins_once_it_answers_and_it_is_gone_afterwards(
    places: Places, pump: Pump, noted: Path
) -> None:
    with open_daemon(ORDER, places, pump, later(), server(places)):
        ask(places, b"GET /_ping\r\n\r\n")
        pid, arguments, _ = json.loads(noted.read_text())
        os.kill(pid, 0)
    assert arguments == [places.docker_socket, f"--group={ME.gid}"]
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_it_is_told_the_jobs_proxy_and_no_variable_else(places: Places, pump: Pump, noted: Path) -> None:
    with open_daemon(ORDER, places, pump, later(), server(places)):
        _, _, environment = json.loads(noted.read_text())
    assert set(environment) - {"LC_CTYPE"} == {"PATH", "HOME", "HTTPS_PROXY"}
    assert environment["HTTPS_PROXY"] == "http://127.0.0.1:1"


def test_one_that_ends_at_once_is_named_with_its_last_words(places: Places, pump: Pump) -> None:
    text = "import sys; print('begins', flush=True); sys.exit('no bridge for correct-horse\\n')"
    with (
        pytest.raises(DaemonError, match=r"daemon did not start \(exit code 1\): no bridge for \*\*\*$"),
        open_daemon(ORDER, places, pump, later(), program(text)),
    ):
        pytest.fail("the work began")
    kept = Path(places.out, "commands", "docker-daemon.txt").read_bytes()
    assert kept.startswith(b"begins\n")


def test_one_that_says_nothing_before_it_is_killed_is_named_all_the_same(places: Places, pump: Pump) -> None:
    text = "import os; os.kill(os.getpid(), 9)"
    with (
        pytest.raises(DaemonError, match=r"did not start \(signal 9\): it said nothing$"),
        open_daemon(ORDER, places, pump, later(), program(text)),
    ):
        pytest.fail("the work began")


def test_one_that_is_not_there_is_named(places: Places, pump: Pump) -> None:
    with (
        pytest.raises(DaemonError, match=r"cannot be started: .*No such file"),
        open_daemon(ORDER, places, pump, later(), ["/no/such/program"]),
    ):
        pytest.fail("the work began")


def test_one_that_never_answers_is_given_up_and_ended(places: Places, pump: Pump, noted: Path) -> None:
    text = f"import os, time; open({str(noted)!r}, 'w').write(str(os.getpid())); time.sleep(60)"
    with (
        pytest.raises(DaemonError, match="did not answer in time"),
        open_daemon(ORDER, places, pump, later(1), program(text)),
    ):
        pytest.fail("the work began")
    with pytest.raises(ProcessLookupError):
        os.kill(int(noted.read_text()), 0)


def test_one_that_ends_during_the_work_spoils_it(places: Places, pump: Pump, noted: Path) -> None:
    with (
        pytest.raises(DaemonError, match=r"ended during the work \(exit code 1\): no space left$"),
        open_daemon(ORDER, places, pump, later(), server(places)),
    ):
        end(places, noted)


def end(places: Places, noted: Path) -> None:
    """Let it end by itself; it is our child, and stays one until the block is left."""
    ask(places, b"GET /die\r\n\r\n")
    pid = json.loads(noted.read_text())[0]
    until = later()
    while " Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2][:3]:
        assert time.monotonic() < until
        time.sleep(0.01)


def test_a_failure_of_the_work_itself_is_not_hidden(places: Places, pump: Pump, noted: Path) -> None:
    def fail() -> None:
        end(places, noted)
        raise KeyError

    with pytest.raises(KeyError), open_daemon(ORDER, places, pump, later(), server(places)):
        fail()


def test_what_an_earlier_one_left_is_cleared(places: Places, pump: Pump, noted: Path) -> None:
    state = Path(places.docker_state, "containerd")
    state.mkdir(parents=True)
    for path in (Path(places.docker_pid), Path(places.docker_socket)):
        path.write_text("1")
    with open_daemon(ORDER, places, pump, later(), server(places)):
        assert not state.exists()
        assert not Path(places.docker_pid).exists()
    assert noted.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_what_containers_wrote_as_root_is_the_users_again_and_no_link_is_followed(tmp_path: Path) -> None:
    tree, outside = tmp_path / "tree", tmp_path / "outside"
    (tree / "shut").mkdir(parents=True)
    outside.write_text("")
    (tree / "shut" / "file").write_text("")
    (tree / "link").symlink_to(outside)
    os.mkfifo(tree / "pipe")
    give_back(str(tree), User(12345, 12346))
    assert {(path.lstat().st_uid, path.lstat().st_gid) for path in tree.rglob("*")} == {(12345, 12346)}
    assert outside.stat().st_uid == 0
