"""A whole proxy in this process between real sockets: a Unix socket in, a loopback provider behind."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
import uvloop

from instrument.ledger import read_ledger
from instrument.schema.ledger import LedgerSummary
from proxy.address import Address
from proxy.books import Clock
from proxy.client import ClientConnection
from proxy.desk import Desk, Terms
from proxy.egress import NOWHERE
from proxy.ledger import Ledger
from proxy.listener import listen
from proxy.masking import Masker
from proxy.protocols import anthropic
from proxy.protocols.wire import Wire
from proxy.rates import Price
from proxy.relay import House
from proxy.routes import Route, Routes
from proxy.upstream import Upstream

MODEL = "claude-sonnet-4-5"
Answerer = Callable[[asyncio.StreamReader, asyncio.StreamWriter, bytes], Awaitable[None]]


def sse(kind: str, **fields: Any) -> bytes:
    return b"event: %b\ndata: %b\n\n" % (kind.encode(), orjson.dumps({"type": kind, **fields}))


def message_stream(model: str = MODEL, *, output: int = 15, **usage: Any) -> bytes:
    opened = {"model": model, "usage": {"input_tokens": 25, "output_tokens": 1, **usage}}
    return b"".join(
        (
            sse("message_start", message=opened),
            sse("content_block_start", index=0, content_block={"type": "text", "text": ""}),
            sse("ping"),
            sse("content_block_delta", index=0, delta={"type": "text_delta", "text": "hello"}),
            sse("message_delta", delta={}, usage={"output_tokens": 10}),
            sse("message_delta", delta={"stop_reason": "end_turn"}, usage={"output_tokens": output}),
            sse("message_stop"),
        )
    )


def response_stream(model: str = "gpt-5", end: str = "response.completed", **response: Any) -> bytes:
    """A stream of the Responses API; its usage stands in its last event alone."""
    details = {"input_tokens_details": {"cached_tokens": 8000}}
    usage = {"input_tokens": 10000, **details, "output_tokens": 100}
    return b"".join(
        (
            sse("response.created", response={"model": model, "status": "in_progress", "usage": None}),
            sse("response.output_item.added", output_index=0, item={"type": "message", "content": []}),
            sse("response.output_text.delta", output_index=0, delta="hello"),
            sse("response.output_item.done", output_index=0, item={"type": "message", "content": []}),
            sse(end, response={"model": model, "error": None, "usage": usage, **response}),
        )
    )


def chunk(*deltas: Any, **fields: Any) -> bytes:
    """One chunk of a Chat Completions stream, with a choice a delta."""
    choices = [{"index": 0, "delta": delta} for delta in deltas]
    body = {"object": "chat.completion.chunk", "model": "gpt-5", "choices": choices, "usage": None, **fields}
    return b"data: %b\n\n" % orjson.dumps(body)


CHAT_USAGE = {
    "prompt_tokens": 10000,
    "prompt_tokens_details": {"cached_tokens": 8000},
    "completion_tokens": 100,
}
CHAT_DONE = b"data: [DONE]\n\n"


def chat_stream(*, has_usage: bool = True) -> bytes:
    """A stream of the Chat Completions API, as it comes with and without `include_usage`."""
    said = chunk({"role": "assistant"}) + chunk({"content": "hello"})
    return said + (chunk(usage=CHAT_USAGE) if has_usage else b"") + CHAT_DONE


def chunked(body: bytes, size: int = 37) -> bytes:
    pieces = [body[start : start + size] for start in range(0, len(body), size)]
    return b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"


def stream_answer(body: bytes) -> bytes:
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
    return head + chunked(body)


def json_answer(value: Any, status: bytes = b"200 OK", extra: bytes = b"") -> bytes:
    body = orjson.dumps(value)
    head = b"HTTP/1.1 %b\r\ncontent-type: application/json\r\n%bcontent-length: %d\r\n\r\n"
    return head % (status, extra, len(body)) + body


def request(
    body: bytes | None = None, target: str = "/v1/messages?beta=true", extra: bytes = b"", **fields: Any
) -> bytes:
    if body is None:
        body = orjson.dumps({"model": MODEL, "max_tokens": 100, "stream": True, "messages": [], **fields})
    head = b"POST %b HTTP/1.1\r\nhost: localhost\r\nx-api-key: placeholder\r\n%bcontent-length: %d\r\n\r\n"
    return head % (target.encode(), extra, len(body)) + body


async def read_message(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    """Head and raw body (chunk frames taken off) of one HTTP message."""
    head = await reader.readuntil(b"\r\n\r\n")
    lower = head.lower()
    if b"transfer-encoding: chunked" in lower:
        body = b""
        while size := int(await reader.readline(), 16):
            body += await reader.readexactly(size)
            await reader.readexactly(2)
        await reader.readexactly(2)
        return head, body
    if b"content-length: " in lower:
        length = int(lower.partition(b"content-length: ")[2].partition(b"\r\n")[0])
        return head, await reader.readexactly(length)
    return head, b""


class Provider:
    """A loopback upstream: answers each request with the next of its answers, the last one again."""

    def __init__(self) -> None:
        self.answers: list[bytes | Answerer] = [stream_answer(message_stream())]
        self.heads: list[bytes] = []
        self.bodies: list[bytes] = []
        self.connections = 0
        self.port = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while True:
                head, body = await read_message(reader)
                self.heads.append(head)
                self.bodies.append(body)
                answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
                if isinstance(answer, bytes):
                    writer.write(answer)
                    await writer.drain()
                else:
                    await answer(reader, writer, body)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


class Proxy:
    """The proxy under test, with its provider and what it wrote."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.socket = folder / "proxy.sock"
        self.ledger_path = folder / "ledger.jsonl"
        self.ledger_class: type[Ledger] = Ledger
        self.wire: Wire = anthropic
        self.egress = NOWHERE
        self.provider = Provider()
        self.fallbacks: list[Provider] = []
        """The first is at 127.0.0.2, the next at 127.0.0.3, and so on."""
        self.connections: set[ClientConnection] = set()
        self.failures: list[BaseException] = []
        self.marks = 0
        self.budget_microusd = 1_000_000
        self.deadline_s = 100.0
        self.now_s = 0.0
        self.is_provider_dead = False
        self.known_secrets = ["real-key"]
        self.own_prices: dict[str, Price] = {}
        self.request_timeout_s = 60.0
        self._writers: list[asyncio.StreamWriter] = []

    def mark(self) -> None:
        self.marks += 1

    @asynccontextmanager
    async def running(self) -> AsyncIterator["Proxy"]:
        routes, servers = await self._start_providers()
        if self.is_provider_dead:
            servers[0].close()
        ledger = self.ledger_class(self.ledger_path)
        clock = Clock(utc=lambda: datetime(2026, 11, 30, tzinfo=UTC), monotonic=lambda: self.now_s)
        terms = Terms(self.budget_microusd, self.deadline_s, self.own_prices)
        desk = Desk(self.wire, terms, ledger, clock, self.mark, Masker(self.known_secrets))
        desk.open()
        house = House(self.wire, desk, routes, self.failures.append, self.egress)
        loop = asyncio.get_running_loop()
        # By default an error in a callback is merely logged.
        loop.set_exception_handler(lambda _, context: self.failures.append(RuntimeError(str(context))))
        server = await loop.create_unix_server(
            lambda: ClientConnection(house, self.connections, self.request_timeout_s),
            sock=listen(self.socket),
        )
        try:
            async with asyncio.timeout(20):
                yield self
        finally:
            for writer in self._writers:
                writer.transport.abort()
            server.close()
            for connection in list(self.connections):
                connection.cut()
            routes.close()
            for tcp in servers:
                tcp.close()
            # One turn for each side to notice: what is not closed by then is a warning, so an error.
            await asyncio.sleep(0.01)
            ledger.close()

    async def _start_providers(self) -> tuple[Routes, list[asyncio.Server]]:
        """Each provider at a loopback address of its own, with a key of its own."""
        routes, servers = [], []
        for n, provider in enumerate((self.provider, *self.fallbacks), start=1):
            host, key = f"127.0.0.{n}", b"real-key" if n == 1 else b"key-%d" % n
            server = await asyncio.start_server(provider.serve, host, 0)
            provider.port = server.sockets[0].getsockname()[1]
            upstream = Upstream(Address(host, provider.port, is_tls=False, prefix=b""))
            routes.append(Route(upstream, self.wire.auth_header(key, is_bearer=False)))
            servers.append(server)
        return Routes(routes), servers

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_unix_connection(str(self.socket), limit=1 << 24)
        self._writers.append(writer)
        return reader, writer

    def keep(self, writer: asyncio.StreamWriter) -> None:
        """Have a connection closed at the end."""
        self._writers.append(writer)

    async def ask(self, raw: bytes) -> tuple[bytes, bytes]:
        """One request on a connection of its own; head and body of the answer."""
        reader, writer = await self.connect()
        try:
            writer.write(raw)
            return await read_message(reader)
        finally:
            writer.close()

    def summary(self) -> LedgerSummary:
        return read_ledger(self.ledger_path.read_bytes())

    async def settled(self, count: int = 1) -> LedgerSummary:
        """The ledger, once this many calls have ended."""
        while True:
            summary = self.summary()
            if sum(call.settled for call in summary.calls) >= count:
                return summary
            await asyncio.sleep(0.005)

    def run(self, story: Callable[["Proxy"], Awaitable[None]]) -> None:
        async def main() -> None:
            async with self.running():
                await story(self)

        uvloop.run(main())
