"""The scripted provider's HTTP side: an ordinary server on 127.0.0.1.

Limits: decides nothing that the story does not say; one thread a connection.
"""

import socket
import struct
import sys
import time
from collections.abc import Iterator
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import islice
from typing import Any

import orjson

from proxy.scripted import messages
from proxy.scripted.answers import count_input_tokens
from proxy.scripted.form import Answer, Form
from proxy.scripted.script import Script
from proxy.scripted.story import StoryError, Turn
from proxy.scripted.table import FORMS

COUNT_TOKENS = "/v1/messages/count_tokens"


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
        if self.server.script.recorded:
            self._play(path)
            return
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
        is_stream = request.get("stream") is True
        try:
            answer = self.server.script.answer(self._form.read(request), self._n)
        except StoryError as error:
            self._note(turn=None, is_stream=is_stream)
            self._fail(HTTPStatus.BAD_REQUEST, "invalid_request_error", str(error))
            return
        self._note(turn=answer.turn_index, is_stream=is_stream)
        turn = answer.turn or Turn(finish="")
        time.sleep(turn.delay_ms / 1000)
        if turn.lost is not None and turn.cut is None:
            self._lose(turn.lost)
        elif turn.error is not None and not (is_stream and turn.error.after_events is not None):
            headers = {} if turn.error.retry_after is None else {"retry-after": str(turn.error.retry_after)}
            self._fail(turn.error.status, turn.error.type, turn.error.message, headers)
        elif is_stream:
            self._stream(answer, turn)
        else:
            self._send(HTTPStatus.OK, self._form.whole_body(answer), turn=turn)

    def _stream(self, answer: Answer, turn: Turn) -> None:
        """Send server-sent events, each as a chunk of its own."""
        self._head(HTTPStatus.OK, {"content-type": "text/event-stream; charset=utf-8"})
        left = turn.cut
        for event in self._events(answer, turn):
            piece = event if left is None else event[:left]
            self._chunk(piece)
            if left is not None:
                left -= len(piece)
                if left <= 0:
                    self._lose(turn.lost or "closed")
                    return
            time.sleep(turn.event_delay_ms / 1000)
        self.wfile.write(b"0\r\n\r\n")

    def _events(self, answer: Answer, turn: Turn) -> Iterator[bytes]:
        """The events of a stream; an error in it is its last one."""
        events = self._form.stream_events(answer)
        error = turn.error
        if error is None or error.after_events is None:
            yield from events
        else:
            yield from islice(events, error.after_events)
            yield self._form.error_event(error.type, error.message, error.after_events)

    def _play(self, path: str) -> None:
        """Answer with what a provider once said."""
        found = self.server.script.play(self.command, path)
        self._note(turn=found[0] if found else None, is_stream=False)
        if found is None:
            text = f"The recording has no further answer to {self.command} {path}: record a longer session."
            self._fail(HTTPStatus.BAD_REQUEST, "invalid_request_error", text)
            return
        answer = found[1]
        is_chunked = "content-length" not in dict(answer.headers)
        self.send_response_only(answer.status)
        for name, value in (*answer.headers, *([("transfer-encoding", "chunked")] if is_chunked else [])):
            self.send_header(name, value)
        self.end_headers()
        for piece in answer.pieces:
            time.sleep(piece.after_ms / 1000)
            if is_chunked:
                self._chunk(piece.data)
            else:
                self.wfile.write(piece.data)
        if answer.is_cut:
            self.close_connection = True
        elif is_chunked:
            self.wfile.write(b"0\r\n\r\n")

    def _chunk(self, data: bytes) -> None:
        """Send a piece of a body without a length; an empty one would be its end."""
        if data:
            self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))

    def _lose(self, how: str) -> None:
        """End the connection in mid-answer, or before it."""
        self.close_connection = True
        if how == "reset":
            # A socket that lingers for no time is reset when it closes.
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            socket.close(self.connection.detach())
        elif how == "silent":
            while self.connection.recv(1 << 16):
                pass

    def _fail(self, status: int, kind: str, message: str, headers: dict[str, str] | None = None) -> None:
        """Answer in the provider's error shape."""
        self._send(status, self._form.error_body(kind, message), headers)

    def _send(
        self, status: int, body: bytes, headers: dict[str, str] | None = None, turn: Turn | None = None
    ) -> None:
        """Answer with a body of known length, or with so much of it as the turn lets through."""
        extra = {"content-type": "application/json", "content-length": str(len(body)), **(headers or {})}
        self._head(status, extra)
        cut = turn.cut if turn else None
        if self.command != "HEAD":
            self.wfile.write(body if cut is None else body[:cut])
        if turn is not None and cut is not None:
            self._lose(turn.lost or "closed")

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
