import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobs.inside.places import User
from jobs.inside.relay import open_relay

ME = User(os.geteuid(), os.getegid())
BIG = os.urandom(1 << 20)
SERVER = """
import socketserver, sys

class Back(socketserver.StreamRequestHandler):
    def handle(self):
        self.wfile.write(self.rfile.read() + b"!")

class Server(socketserver.ThreadingUnixStreamServer):
    request_queue_size = 200

server = Server(sys.argv[1], Back)
print("ready", flush=True)
server.serve_forever()
"""
"""It sends everything back once its client has said all, and an end of its own."""


@pytest.fixture
def port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        number: int = free.getsockname()[1]
        return number


@pytest.fixture
def target(tmp_path: Path) -> Iterator[str]:
    """A program of its own, since a process with threads should not fork."""
    path = tmp_path / "proxy.sock"
    server = subprocess.Popen([sys.executable, "-c", SERVER, str(path)], stdout=subprocess.PIPE)
    assert server.stdout is not None
    assert server.stdout.readline() == b"ready\n"
    yield str(path)
    server.kill()
    server.communicate()


def talk(port: int, data: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", port), timeout=10) as client:
        client.sendall(data)
        client.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: client.recv(65536), b""))


def test_bytes_go_both_ways_and_each_way_ends_by_itself(port: int, target: str) -> None:
    with open_relay(port, target, ME):
        assert talk(port, b"hello") == b"hello!"
        assert talk(port, b"") == b"!"
        assert talk(port, BIG) == BIG + b"!"


def test_many_connections_are_carried_at_once(port: int, target: str) -> None:
    with open_relay(port, target, ME):
        clients = [socket.create_connection(("127.0.0.1", port), timeout=10) for _ in range(150)]
        for number, client in enumerate(clients):
            client.sendall(b"%d" % number)
        for number, client in reversed(list(enumerate(clients))):
            client.shutdown(socket.SHUT_WR)
            assert b"".join(iter(lambda c=client: c.recv(100), b"")) == b"%d!" % number  # type: ignore[misc]
            client.close()


def test_a_client_that_breaks_off_ends_the_other_side_too(port: int, tmp_path: Path) -> None:
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(tmp_path / "proxy.sock"))
    listener.listen()
    with listener, open_relay(port, str(tmp_path / "proxy.sock"), ME):
        client = socket.create_connection(("127.0.0.1", port))
        client.sendall(b"x")
        # The first one is the look at the interface.
        looked, _ = listener.accept()
        assert looked.recv(1) == b""
        looked.close()
        taken, _ = listener.accept()
        assert taken.recv(1) == b"x"
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        client.close()
        taken.settimeout(10)
        assert taken.recv(1) == b""
        taken.close()


def test_it_is_gone_after_the_block(port: int, target: str) -> None:
    with open_relay(port, target, ME):
        assert talk(port, b"a") == b"a!"
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port))


def test_without_a_proxy_the_client_is_sent_away(port: int, tmp_path: Path) -> None:
    with open_relay(port, str(tmp_path / "none.sock"), ME), pytest.raises(ConnectionResetError):
        talk(port, b"a")


def test_nothing_is_started_where_none_is_asked_for(target: str, port: int) -> None:
    with open_relay(None, target, ME), open_relay(port, None, ME), pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port))


def test_a_taken_port_is_an_error(port: int, target: str) -> None:
    with (
        socket.create_server(("127.0.0.1", port)),
        pytest.raises(OSError, match="in use"),
        open_relay(port, target, ME),
    ):
        pass
