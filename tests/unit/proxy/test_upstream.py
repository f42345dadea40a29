"""TLS to a provider, with the certificates that SSL_CERT_FILE names."""

import asyncio
import shutil
import ssl
import subprocess
from pathlib import Path

import pytest

from proxy.address import Address
from proxy.headers import ResponseHead
from proxy.upstream import Upstream


class Taken:
    def __init__(self) -> None:
        self.head: ResponseHead | None = None
        self.body = b""

    def receive(self, head: ResponseHead | None, pieces: list[bytes], *, is_last: bool) -> None:
        self.head = head or self.head
        self.body += b"".join(pieces)
        assert is_last or self.head is not None


@pytest.fixture
def certificate(tmp_path: Path) -> tuple[Path, Path]:
    if shutil.which("openssl") is None:
        pytest.skip("no openssl command to make a certificate with")
    key, cert = tmp_path / "key.pem", tmp_path / "cert.pem"
    subprocess.run(
        [
            *(
                "openssl",
                "req",
                "-x509",
                "-newkey",
                "ec",
                "-pkeyopt",
                "ec_paramgen_curve:prime256v1",
                "-nodes",
            ),
            *("-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"),
            *("-keyout", str(key), "-out", str(cert)),
        ],
        check=True,
        capture_output=True,
    )
    return key, cert


async def exchange(certificate: tuple[Path, Path]) -> Taken:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi")
        await writer.drain()
        await reader.read()
        writer.close()

    served = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    served.load_cert_chain(certificate[1], certificate[0])
    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=served)
    async with server, asyncio.timeout(20):
        port = server.sockets[0].getsockname()[1]
        upstream = Upstream(Address("localhost", port, is_tls=True, prefix=b""))
        taken = Taken()
        try:
            connection = await upstream.take()
            await connection.exchange(b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n", taken)
            upstream.give_back(connection)
            assert await upstream.take() is connection
            assert connection.is_reused
            connection.close()
        finally:
            upstream.close()
            await asyncio.sleep(0.05)
        return taken


def test_a_certificate_of_ssl_cert_file_is_trusted(
    certificate: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate[1]))
    assert asyncio.run(exchange(certificate)).body == b"hi"


def test_any_other_certificate_is_refused(
    certificate: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    with pytest.raises(OSError, match=r"(?i)certificate"):
        asyncio.run(exchange(certificate))
