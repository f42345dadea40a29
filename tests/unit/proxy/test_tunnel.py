"""CONNECT: what passes through a tunnel, and what is never let out."""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Iterator

import pytest

from proxy.egress import Egress, Rule, is_closed
from proxy.tunnel import Tunnel
from support.proxykit import Proxy, request

HOST = "packages.example.org"
Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


async def resolve(host: str, _port: int) -> list[str]:
    """The one name that is known leads to this machine."""
    if not host.endswith("example.org"):
        raise OSError
    return ["127.0.0.1"]


async def shout(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer in capitals; go once the other side has said its last."""
    while data := await reader.read(65536):
        writer.write(data.upper())
        await writer.drain()
    writer.close()


@pytest.fixture
def listener(proxy: Proxy) -> Iterator[socket.socket]:
    """A host of a package registry; the proxy may let a job out to it."""
    with socket.create_server(("127.0.0.1", 0)) as made:
        port = made.getsockname()[1]
        proxy.egress = Egress((Rule(HOST, port), Rule("nowhere.example.net", port)), resolve, lambda _: False)
        yield made


async def ask(proxy: Proxy, target: str) -> tuple[bytes, asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await proxy.connect()
    writer.write(f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n".encode())
    return await reader.readuntil(b"\r\n\r\n"), reader, writer


def port_of(listener: socket.socket) -> int:
    return int(listener.getsockname()[1])


def test_bytes_pass_both_ways_until_both_have_said_their_last(proxy: Proxy, listener: socket.socket) -> None:
    async def story(proxy: Proxy) -> None:
        async with await asyncio.start_server(shout, sock=listener):
            head, reader, writer = await ask(proxy, f"{HOST}:{port_of(listener)}")
            assert head == b"HTTP/1.1 200 Connection established\r\n\r\n"
            writer.write(b"hello " * 100_000)
            writer.write_eof()
            assert await reader.read() == b"HELLO " * 100_000
        assert proxy.summary().denied == ()
        assert proxy.summary().calls == ()

    proxy.run(story)


def test_what_is_sent_before_the_answer_arrives_too(proxy: Proxy, listener: socket.socket) -> None:
    async def story(proxy: Proxy) -> None:
        async with await asyncio.start_server(shout, sock=listener):
            reader, writer = await proxy.connect()
            target = f"{HOST}:{port_of(listener)}"
            writer.write(f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\nvery ".encode())
            await writer.drain()
            writer.write(b"early")
            await reader.readuntil(b"\r\n\r\n")
            writer.write_eof()
            assert await reader.read() == b"VERY EARLY"

    proxy.run(story)


def test_a_second_request_in_a_tunnel_is_the_hosts_and_never_ours(
    proxy: Proxy, listener: socket.socket
) -> None:
    async def story(proxy: Proxy) -> None:
        async with await asyncio.start_server(shout, sock=listener):
            target = f"{HOST}:{port_of(listener)}"
            _, reader, writer = await ask(proxy, target)
            again = f"CONNECT {target} HTTP/1.1\r\nHost: x\r\n\r\n".encode() + request()
            writer.write(again)
            writer.write_eof()
            assert await reader.read() == again.upper()
        assert (proxy.summary().calls, proxy.summary().denied) == ((), ())
        assert proxy.provider.connections == 0

    proxy.run(story)


def test_an_address_inside_that_the_list_names_is_reached(proxy: Proxy, listener: socket.socket) -> None:
    """A real entry can name no loopback address, so this one is made by hand."""
    rule = Rule("mirror.corp", port_of(listener), address="127.0.0.1")
    proxy.egress = Egress((rule,), resolve, is_closed)

    async def story(proxy: Proxy) -> None:
        async with await asyncio.start_server(shout, sock=listener):
            head, reader, writer = await ask(proxy, f"Mirror.Corp.:{port_of(listener)}")
            assert head.startswith(b"HTTP/1.1 200 ")
            writer.write(b"hello")
            writer.write_eof()
            assert await reader.read() == b"HELLO"

    proxy.run(story)


def test_a_host_that_goes_ends_the_tunnel(proxy: Proxy, listener: socket.socket) -> None:
    async def serve(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"bye")
        writer.close()

    async def story(proxy: Proxy) -> None:
        async with await asyncio.start_server(serve, sock=listener):
            head, reader, _ = await ask(proxy, f"{HOST}:{port_of(listener)}")
            assert head.startswith(b"HTTP/1.1 200 ")
            assert await reader.read() == b"bye"

    proxy.run(story)


def test_a_job_that_goes_ends_the_hosts_side(proxy: Proxy, listener: socket.socket) -> None:
    gone = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()
        gone.set()

    async def story(proxy: Proxy) -> None:
        async with await asyncio.start_server(serve, sock=listener):
            _, _, writer = await ask(proxy, f"{HOST}:{port_of(listener)}")
            writer.transport.abort()
            await asyncio.wait_for(gone.wait(), 5)

    proxy.run(story)


@pytest.mark.parametrize(
    ("target", "says"),
    [
        ("evil.example.com:443", b"evil.example.com:443 is not in [egress] allow"),
        (f"{HOST}:1", b"packages.example.org:1 is not in"),
        ("nowhere.example.net:{port}", b"nowhere.example.net cannot be resolved"),
        ("no-target", b"host:port"),
    ],
)
def test_a_denied_host_is_a_row_with_its_name_and_never_a_connection(
    proxy: Proxy, listener: socket.socket, target: str, says: bytes
) -> None:
    target = target.format(port=port_of(listener))

    async def story(proxy: Proxy) -> None:
        head, reader, _ = await ask(proxy, target)
        assert head.startswith(b"HTTP/1.1 403 Forbidden\r\n")
        assert says in await reader.read()
        (row,) = proxy.summary().denied
        assert (row.reason, row.method, row.path) == ("egress", "CONNECT", target)

    proxy.run(story)
    listener.setblocking(False)  # noqa: FBT003 - the library's own signature
    with pytest.raises(BlockingIOError):
        listener.accept()


def test_a_name_that_leads_inside_is_denied(proxy: Proxy, listener: socket.socket) -> None:
    proxy.egress = Egress(proxy.egress.rules, resolve, is_closed)

    async def story(proxy: Proxy) -> None:
        head, reader, _ = await ask(proxy, f"{HOST}:{port_of(listener)}")
        assert head.startswith(b"HTTP/1.1 403 ")
        assert b"leads to 127.0.0.1" in await reader.read()

    proxy.run(story)


def test_a_host_that_does_not_answer_is_502(proxy: Proxy, listener: socket.socket) -> None:
    port = port_of(listener)
    listener.close()

    async def story(proxy: Proxy) -> None:
        head, _, _ = await ask(proxy, f"{HOST}:{port}")
        assert head.startswith(b"HTTP/1.1 502 ")

    proxy.run(story)


def test_by_itself_the_proxy_lets_nobody_out(proxy: Proxy) -> None:
    async def story(proxy: Proxy) -> None:
        head, _, _ = await ask(proxy, f"{HOST}:443")
        assert head.startswith(b"HTTP/1.1 403 ")

    proxy.run(story)


class Near:
    """A job's side that notes what it is told."""

    def __init__(self) -> None:
        self.got: list[bytes] = []
        self.is_closed = False

    def write(self, data: bytes) -> None:
        self.got.append(data)

    def close_after(self) -> None:
        self.is_closed = True

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...


def test_what_a_host_says_first_waits_for_the_answer_to_the_job() -> None:
    near = Near()
    tunnel = Tunnel(near)
    tunnel.data_received(b"by")
    tunnel.data_received(b"e")
    tunnel.connection_lost(None)
    assert (near.got, near.is_closed) == ([], False)
    tunnel.begin()
    assert (near.got, near.is_closed) == ([b"bye"], True)
