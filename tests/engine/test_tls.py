"""A server of one's own behind TLS: the dev server behind a relay that ends TLS."""

import asyncio
import ssl
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.connect import Address, address_from, connect
from engine.errors import ServerUnavailableError
from engine.namespace import ensure_namespace


def make_certificate(folder: Path) -> tuple[Path, Path]:
    """A certificate of 127.0.0.1, its key in the same file, and the one that signed it."""

    def openssl(*words: str) -> None:
        subprocess.run(["openssl", *words], check=True, capture_output=True, cwd=folder)

    new_key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    openssl(
        "req", "-x509", *new_key, "-days", "2", "-subj", "/CN=ours", "-keyout", "ca.key", "-out", "ca.pem"
    )
    openssl("req", *new_key, "-subj", "/CN=127.0.0.1", "-keyout", "own.key", "-out", "own.csr")
    (folder / "own.ext").write_text("subjectAltName=IP:127.0.0.1\n")
    signed = ("-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2", "-extfile", "own.ext")
    openssl("x509", "-req", "-in", "own.csr", *signed, "-out", "own.pem")
    own = folder / "whole.pem"
    own.write_text((folder / "own.pem").read_text() + (folder / "own.key").read_text())
    return own, folder / "ca.pem"


@pytest.fixture
def relay(address: Address, tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """`HOST:PORT` of the relay, and who signed its certificate."""
    certificate, signer = make_certificate(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    context.set_alpn_protocols(["h2"])
    loop = asyncio.new_event_loop()
    tasks: set[asyncio.Task[None]] = set()

    async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()
        finally:
            writer.close()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        host, _, port = address.host_port.rpartition(":")
        up_reader, up_writer = await asyncio.open_connection(host, int(port))
        for pair in ((reader, up_writer), (up_reader, writer)):
            task = loop.create_task(pass_on(*pair))
            tasks.add(task)
            task.add_done_callback(tasks.discard)

    server = loop.run_until_complete(asyncio.start_server(serve, "127.0.0.1", 0, ssl=context))
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}", signer

    async def end() -> None:
        server.close()
        for task in tuple(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    asyncio.run_coroutine_threadsafe(end(), loop).result(10)
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


def test_a_server_behind_tls_is_used_as_any_other(relay: tuple[str, Path]) -> None:
    host_port, signer = relay
    address = address_from({}, host_port=host_port, tls_ca=signer)
    assert address is not None

    async def ask() -> int:
        client = await connect(address)
        await ensure_namespace(client)
        return (await client.count_workflows("WorkflowType = 'none'")).count

    assert asyncio.run(ask()) == 0


def test_one_whose_certificate_nobody_known_has_signed_is_refused_in_a_sentence(
    relay: tuple[str, Path], tmp_path: Path
) -> None:
    host_port, _ = relay
    (tmp_path / "other").mkdir()
    _, other = make_certificate(tmp_path / "other")
    address = address_from({}, host_port=host_port, tls_ca=other)
    assert address is not None
    with pytest.raises(ServerUnavailableError, match=f"No Temporal server answers at {host_port}"):
        asyncio.run(connect(address))
