"""The Unix socket that a pod's agent calls.

Limits: makes the socket's file and its folder; serves nothing.
"""

import socket
import stat
from pathlib import Path

_BACKLOG = 512


class ListenerError(Exception):
    """The socket cannot be made; the text is one sentence."""


def listen(path: Path) -> socket.socket:
    """A socket that listens at the path, open to every user that can see its folder.

    The file appears only when a connection would be taken, with its mode set: it is made under
    another name and renamed. A socket left by a dead sidecar is replaced.

    Raises:
        ListenerError: Another kind of file is there, or the folder refuses.
    """
    fresh = path.with_name(path.name + ".new")
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        _make_folder(path.parent)
        if path.exists() and not stat.S_ISSOCK(path.lstat().st_mode):
            raise FileExistsError("there is another kind of file, move it away")
        fresh.unlink(missing_ok=True)
        listener.bind(str(fresh))
        fresh.chmod(0o666)
        listener.listen(_BACKLOG)
        listener.setblocking(False)  # noqa: FBT003 - the standard library's signature
        fresh.replace(path)
    except OSError as error:
        listener.close()
        raise ListenerError(f"No socket can be made at {path}: {error}.") from None
    return listener


def _make_folder(folder: Path) -> None:
    """Make the folder where it is absent, so that another user may walk into it."""
    if not folder.exists():
        folder.mkdir(parents=True)
        folder.chmod(0o755)
