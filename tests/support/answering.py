"""A server on this machine that answers GET requests by their path, and notes what it was asked."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from support.serving import serving

Asked = list[tuple[str, Mapping[str, str]]]


@contextmanager
def answering(answers: Mapping[str, Any], otherwise: int = 404) -> Iterator[tuple[str, Asked]]:
    """Serve until the end of the block.

    Args:
        answers: By path with its query: a status, or what is answered as JSON.
        otherwise: The status of every other path.

    Yields:
        Its address, and paths with headers in order of arrival.
    """
    asked: Asked = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append((self.path, dict(self.headers)))
            answer = answers.get(self.path, otherwise)
            body = b"{}" if isinstance(answer, int) else json.dumps(answer).encode()
            self.send_response(answer if isinstance(answer, int) else 200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with serving(ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as connection:
        yield f"http://127.0.0.1:{connection.port}", asked
