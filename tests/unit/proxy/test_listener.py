"""The Unix socket."""

import socket
from pathlib import Path

import pytest

from proxy.listener import ListenerError, listen


def test_every_user_may_connect_and_the_file_appears_listening(tmp_path: Path) -> None:
    path = tmp_path / "run" / "factory" / "proxy.sock"
    with listen(path), socket.socket(socket.AF_UNIX) as caller:
        caller.connect(str(path))
        assert path.stat().st_mode & 0o777 == 0o666
        assert path.parent.stat().st_mode & 0o777 == 0o755
        assert [file.name for file in path.parent.iterdir()] == ["proxy.sock"]


def test_a_stale_socket_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "proxy.sock"
    listen(path).close()
    assert path.is_socket()
    with listen(path), socket.socket(socket.AF_UNIX) as caller:
        caller.connect(str(path))


def test_another_kind_of_file_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "proxy.sock"
    path.write_text("mine")
    with pytest.raises(ListenerError, match="move it away"):
        listen(path)
    assert path.read_text() == "mine"


def test_a_path_too_long_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(ListenerError, match="No socket can be made at"):
        listen(tmp_path / ("x" * 120))
