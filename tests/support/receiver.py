"""A service that takes notifications on loopback, as any of a person's own would."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from support.serving import serving


@dataclass
class Receiver:
    """What came in, and how it is answered."""

    port: int = 0
    status: int = 200
    is_hanging: bool = False
    messages: list[dict[str, str]] = field(default_factory=list)
    is_asked: threading.Event = field(default_factory=threading.Event)
    let_go: threading.Event = field(default_factory=threading.Event)

    def url(self, path: str) -> str:
        """An address of it for Apprise."""
        return f"json://person:{SECRET}@127.0.0.1:{self.port}/{path}"

    @property
    def titles(self) -> list[str]:
        return [message["title"] for message in self.messages]


SECRET = "MARK-notify-secret"


@contextmanager
def receiving() -> Iterator[Receiver]:
    """A receiver until the end of the block."""
    receiver = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            receiver.is_asked.set()
            if receiver.is_hanging:
                receiver.let_go.wait()
            if receiver.status == 200:
                receiver.messages.append(body)
            self.send_response(receiver.status)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Stay quiet."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        receiver.port = server.server_port
        with serving(server):
            try:
                yield receiver
            finally:
                receiver.let_go.set()
