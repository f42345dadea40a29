"""The scripted provider's HTTP side: an ordinary server on 127.0.0.1.

Limits: writes only `requests.jsonl`; one thread a connection.
"""

import sys
import threading
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import orjson

from proxy.scripted import messages
from proxy.scripted.answers import answer_to, count_input_tokens
from proxy.scripted.form import Answer, Form
from proxy.scripted.story import Story, StoryError
from proxy.scripted.table import FORMS

COUNT_TOKENS = "/v1/messages/count_tokens"


@dataclass(slots=True)
class Script:
    """What every connection answers from, with the count of requests."""

    story: Story
    role: str
    round: int
    requests: Path | None
    """File that gets one line a request; none: not kept."""
    _count: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def count(self) -> int:
        """The number of a request that begins, from 1."""
        with self._lock:
            self._count += 1
            return self._count

    def note(self, n: int, line: dict[str, Any]) -> None:
        """Keep a request's line."""
        if self.requests is None:
            return
        row = {"n": n, "at_utc": datetime.now(UTC).isoformat(), **line}
        row |= {"role": self.role, "round": self.round}
        with self._lock, self.requests.open("ab") as file:
            file.write(orjson.dumps(row) + b"\n")


class Server(ThreadingHTTPServer):
    """Listens on a free port of 127.0.0.1; `server_port` says which."""

    daemon_threads = True

    def __init__(self, script: Script) -> None:
        self.script = script
        super().__init__(("127.0.0.1", 0), Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ANN401 - the base's signature
        """A client that left is no error of ours; anything else is."""
        if not isinstance(self._current(), ConnectionError):
            super().handle_error(request, client_address)

    @staticmethod
    def _current() -> BaseException | None:
        """The exception being handled."""
        return sys.exception()


class Handler(BaseHTTPRequestHandler):
    """Answers one request after the other on a connection."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Server
    _n = 0
    _form: Form = messages
    """Of the request being answered; a path of no form gets the errors of the first."""

    def do_POST(self) -> None:
        """Answer a request of whichever API its path is."""
        self._n = self.server.script.count()
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        path = self.path.partition("?")[0]
        self._form = FORMS.get(path, messages)
        try:
            request: Any = orjson.loads(body)
        except orjson.JSONDecodeError:
            request = None
        if not isinstance(request, dict) or path not in (*FORMS, COUNT_TOKENS):
            self._note(turn=None, is_stream=False)
            self._fail(HTTPStatus.NOT_FOUND, "not_found_error", "The scripted provider has no such path.")
        elif path == COUNT_TOKENS:
            self._note(turn=None, is_stream=False)
            self._send(HTTPStatus.OK, orjson.dumps({"input_tokens": count_input_tokens(body)}))
        else:
            self._answer(request)

    def do_GET(self) -> None:
        """Nothing is to be got here."""
        self._n = self.server.script.count()
        self._form = messages
        self._note(turn=None, is_stream=False)
        self._fail(HTTPStatus.NOT_FOUND, "not_found_error", "The scripted provider has no such path.")

    do_HEAD = do_GET  # noqa: N815 - the base class calls it so

    def _answer(self, request: dict[str, Any]) -> None:
        """Answer with a turn of the story."""
        script = self.server.script
        is_stream = request.get("stream") is True
        try:
            answer = answer_to(script.story, script.role, script.round, self._form.read(request), self._n)
        except StoryError as error:
            self._note(turn=None, is_stream=is_stream)
            self._fail(HTTPStatus.BAD_REQUEST, "invalid_request_error", str(error))
            return
        self._note(turn=answer.turn_index, is_stream=is_stream)
        turn = answer.turn
        if turn is not None:
            time.sleep(turn.delay_ms / 1000)
        if turn is not None and turn.error is not None:
            headers = {} if turn.error.retry_after is None else {"retry-after": str(turn.error.retry_after)}
            self._fail(turn.error.status, turn.error.type, turn.error.message, headers)
        elif is_stream:
            self._stream(answer)
        else:
            self._send(HTTPStatus.OK, self._form.whole_body(answer), cut=turn.cut if turn else None)

    def _stream(self, answer: Answer) -> None:
        """Send server-sent events, each as a chunk of its own."""
        self._head(HTTPStatus.OK, {"content-type": "text/event-stream; charset=utf-8"})
        pause_s = answer.turn.event_delay_ms / 1000 if answer.turn else 0
        left = answer.turn.cut if answer.turn else None
        for event in self._form.stream_events(answer):
            piece = event if left is None else event[:left]
            if piece:
                self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))
            if left is not None:
                left -= len(piece)
                if left <= 0:
                    self.close_connection = True
                    return
            time.sleep(pause_s)
        self.wfile.write(b"0\r\n\r\n")

    def _fail(self, status: int, kind: str, message: str, headers: dict[str, str] | None = None) -> None:
        """Answer in the provider's error shape."""
        self._send(status, self._form.error_body(kind, message), headers)

    def _send(
        self, status: int, body: bytes, headers: dict[str, str] | None = None, cut: int | None = None
    ) -> None:
        """Answer with a body of known length, or its first `cut` bytes."""
        extra = {"content-type": "application/json", "content-length": str(len(body)), **(headers or {})}
        self._head(status, extra)
        if self.command != "HEAD":
            self.wfile.write(body if cut is None else body[:cut])
        self.close_connection = self.close_connection or cut is not None

    def _head(self, status: int, headers: dict[str, str]) -> None:
        """Send the head of an answer."""
        self.send_response(status)
        self.send_header("request-id", f"req_{self._n:06d}")
        if "content-length" not in headers:
            self.send_header("transfer-encoding", "chunked")
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def _note(self, *, turn: int | None, is_stream: bool) -> None:
        """Keep a line about this request."""
        self.server.script.note(
            self._n,
            {
                "method": self.command,
                "path": self.path,
                "user_agent": self.headers.get("user-agent") or "",
                "turn": turn,
                "stream": is_stream,
            },
        )

    def log_message(self, *_: object) -> None:
        """Say nothing: `requests.jsonl` is the record."""
