"""Stands between a sidecar and a provider, and writes down what the provider answers.

`python -m proxy.scripted record --to URL OUT` prints the address to put into `base_url`. OUT is a story: give
it wherever a story is taken, and the session is played again without a provider. One recording is one job's
session (`--role`, `--round`); OUT may hold several, one after the other is added.

Limits: answers only, in the order in which they ended; no key and no request is kept (`recording.py`). OUT is
written whole after each answer, for its owner's eyes alone. It holds what the provider said: keep it as you
would a transcript.
"""

import argparse
import os
import ssl
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import orjson

from proxy.address import Address, AddressError, parse_address
from proxy.scripted.recording import Read, RecordedAnswer, to_headers, to_pieces

TIMEOUT_S = 600.0
CA_VARIABLE = "FACTORY_CA_BUNDLE"
"""Names certificates that are trusted beside the system's, as for images."""
_HOP_BY_HOP = ("connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade", "host")
_SECRET_NAMES = ("key", "auth", "token", "cookie")
_SHORTEST_SECRET = 8


@dataclass(slots=True)
class Recording:
    """The file that is being written."""

    out: Path
    role: str
    round: int
    has_pauses: bool
    _answers: list[dict[str, Any]] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, answer: RecordedAnswer) -> None:
        """Write one more answer down."""
        with self._lock:
            self._answers.append(answer.model_dump(mode="json", exclude_defaults=True))
            mine = {"role": self.role, "round": self.round, "recorded": self._answers}
            story = {"rounds": [*self._others(), mine]}
            fresh = self.out.with_name(self.out.name + ".new")
            fresh.touch(0o600)
            fresh.write_bytes(orjson.dumps(story, option=orjson.OPT_INDENT_2))
            fresh.replace(self.out)

    def _others(self) -> list[dict[str, Any]]:
        """The rounds that the file holds beside this one."""
        if not self.out.exists():
            return []
        rounds: list[dict[str, Any]] = orjson.loads(self.out.read_bytes())["rounds"]
        return [each for each in rounds if (each["role"], each["round"]) != (self.role, self.round)]


class Recorder(ThreadingHTTPServer):
    """Listens where it is told to; `server_port` says where that is."""

    daemon_threads = True

    def __init__(
        self,
        place: tuple[str, int],
        provider: Address,
        recording: Recording,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """`tls` is for a provider behind TLS; none: what SSL_CERT_FILE or the system trusts."""
        self.provider = provider
        self.recording = recording
        self._tls = tls
        super().__init__(place, _Handler)

    def connect(self) -> HTTPConnection:
        """A connection to the provider, which is made when it is used."""
        host, port = self.provider.host, self.provider.port
        if self.provider.is_tls:
            return HTTPSConnection(host, port, timeout=TIMEOUT_S, context=self._tls)
        return HTTPConnection(host, port, timeout=TIMEOUT_S)


class _Handler(BaseHTTPRequestHandler):
    """Passes one request after the other on."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Recorder

    def do_POST(self) -> None:
        """Ask the provider, and write down what it says."""
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        connection = self.server.connect()
        try:
            answer = self._ask(connection, body)
        except ssl.SSLCertVerificationError as error:
            self.close_connection = True
            why = f"The provider's certificate is not trusted ({error.verify_message}); see {CA_VARIABLE}"
            self.send_error(HTTPStatus.BAD_GATEWAY, why)
        except (OSError, HTTPException) as error:
            self.close_connection = True
            self.send_error(HTTPStatus.BAD_GATEWAY, f"The provider gave no answer: {type(error).__name__}")
        else:
            self._pass_on(answer)
        finally:
            connection.close()

    do_GET = do_POST  # noqa: N815 - the base class calls it so

    def _ask(self, connection: HTTPConnection, body: bytes) -> HTTPResponse:
        """Send the request with all that it came with."""
        provider = self.server.provider
        target = provider.prefix.decode() + self.path
        connection.putrequest(self.command, target, skip_host=True, skip_accept_encoding=True)
        connection.putheader("host", provider.host_header)
        for name, value in self.headers.items():
            if name.lower() not in _HOP_BY_HOP:
                connection.putheader(name, value)
        connection.endheaders(body)
        return connection.getresponse()

    def _pass_on(self, answer: HTTPResponse) -> None:
        """Give the client each piece of a stream as it comes; written down before it can see the end."""
        secrets = self._secrets()
        headers = answer.getheaders()
        kept = [(name, value) for name, value in headers if name.lower() not in _HOP_BY_HOP]
        is_chunked = answer.length is None
        self.send_response_only(answer.status, answer.reason)
        for name, value in (*kept, *([("transfer-encoding", "chunked")] if is_chunked else [])):
            self.send_header(name, value)
        self.end_headers()
        reads: list[Read] = []
        is_whole = False
        try:
            for read in _reads(answer, has_pauses=self.server.recording.has_pauses):
                reads.append(read)
                self.wfile.write(_framed(read.data) if is_chunked else b"")
            is_whole = True
        except (OSError, HTTPException):
            self.close_connection = True
        self.server.recording.add(
            RecordedAnswer(
                method=self.command,
                path=self.path.partition("?")[0],
                status=answer.status,
                headers=to_headers(headers, secrets),
                pieces=to_pieces(reads, secrets),
                is_cut=not is_whole,
            )
        )
        end = b"0\r\n\r\n" if is_whole else b""
        with suppress(OSError):
            self.wfile.write(end if is_chunked else b"".join(read.data for read in reads))

    def _secrets(self) -> tuple[bytes, ...]:
        """The values by which this request pays."""
        values = (
            value.rpartition(" ")[2].encode("latin-1")
            for name, value in self.headers.items()
            if any(part in name.lower() for part in _SECRET_NAMES)
        )
        return tuple(value for value in values if len(value) >= _SHORTEST_SECRET)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def _reads(answer: HTTPResponse, *, has_pauses: bool) -> Iterator[Read]:
    """The body in the pieces that it comes in.

    Raises:
        HTTPException, OSError: It ended before its end.
    """
    last_s = time.monotonic()
    while data := answer.read1(1 << 16):
        now_s = time.monotonic()
        yield Read(data, round((now_s - last_s) * 1000) if has_pauses else 0)
        last_s = now_s
    if answer.length:
        raise HTTPException("the body is shorter than its length")


def _framed(data: bytes) -> bytes:
    """A chunk."""
    return b"%x\r\n%b\r\n" % (len(data), data)


def _trusting(bundle: str | None) -> ssl.SSLContext:
    """What the system trusts, and the certificates of a PEM file.

    Raises:
        OSError: It cannot be read, or holds none; the text names it.
    """
    tls = ssl.create_default_context()
    tls.set_alpn_protocols(["http/1.1"])
    if bundle:
        try:
            tls.load_verify_locations(cafile=bundle)
        except OSError as error:
            raise OSError(f"{CA_VARIABLE} names {bundle}, which holds no certificates: {error}") from error
    return tls


def main(arguments: Sequence[str]) -> int:
    """Record until interrupted; exit code 0, or 2 where the command is wrong."""
    parser = argparse.ArgumentParser(prog="python -m proxy.scripted record", description="Record a provider.")
    parser.add_argument("out", type=Path, help="the story to write, or to add to")
    parser.add_argument("--to", required=True, metavar="URL", help="the provider's base URL")
    parser.add_argument("--listen", default="127.0.0.1:0", metavar="HOST:PORT")
    parser.add_argument("--role", choices=("coder", "reviewer"), default="coder")
    parser.add_argument("--round", type=int, default=1)
    parser.add_argument("--pauses", action="store_true", help="keep the time between the pieces of an answer")
    options = parser.parse_args(arguments)
    host, _, port = options.listen.rpartition(":")
    try:
        provider = parse_address(options.to)
        tls = _trusting(os.environ.get(CA_VARIABLE))
    except (AddressError, OSError) as error:
        parser.error(str(error))
    recording = Recording(options.out, options.role, options.round, has_pauses=options.pauses)
    with Recorder((host, int(port)), provider, recording, tls) as server:
        print(f"http://{host}:{server.server_port}", flush=True)  # noqa: T201 - it is what was asked for
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            return 0
    return 0
