"""A set-up with an allowlist, in a real pod: it reaches a listed host and nothing else."""

import socket
import threading
from collections.abc import Iterator
from ipaddress import ip_network

import docker
import pytest
from docker.types import IPAMConfig, IPAMPool

from instrument.ledger import read_ledger
from instrument.schema.vocabulary import Ended
from jobs.engine import Engine
from jobs.errors import ImageUnfitError
from jobs.order import Command, egress_only
from jobs.pod import OURS
from support.pods import World, shell

pytestmark = pytest.mark.docker

OUTSIDE = ip_network("198.51.100.0/24")
"""Addresses that stand for the outside world: reserved for texts, so that nobody's are meant (RFC 5737)."""
GATEWAY = str(next(OUTSIDE.hosts()))
TUNNEL = """
import os, socket, sys
from urllib.parse import urlsplit
proxy = urlsplit(os.environ["HTTPS_PROXY"])
with socket.create_connection((proxy.hostname, proxy.port), 20) as line:
    target = sys.argv[1]
    line.sendall(f"CONNECT {target} HTTP/1.1\\r\\nHost: {target}\\r\\n\\r\\n".encode())
    file = line.makefile("rb")
    status = file.readline().split()[1].decode()
    while file.readline().strip():
        pass
    if status == "200":
        line.sendall(b"parcel\\n")
        open("got", "wb").write(file.readline())
sys.exit(0 if status == sys.argv[2] else f"HTTP {status}")
"""
STRAIGHT = "import socket; socket.create_connection(('{host}', {port}), 3)"


@pytest.fixture
def host() -> Iterator[tuple[str, int]]:
    """A host outside: it answers a line with itself, turned round."""
    client = docker.from_env()
    pool = IPAMPool(subnet=str(OUTSIDE), gateway=GATEWAY)
    network = client.networks.create(
        "factory-test-outside", labels={OURS: "1"}, ipam=IPAMConfig(pool_configs=[pool])
    )
    try:
        with socket.create_server((GATEWAY, 0)) as server:
            threading.Thread(target=_serve, args=(server,), daemon=True).start()
            yield GATEWAY, server.getsockname()[1]
            server.shutdown(socket.SHUT_RDWR)
    finally:
        network.remove()
        client.close()


def _serve(server: socket.socket) -> None:
    while True:
        try:
            line, _ = server.accept()
        except OSError:
            return
        with line, line.makefile("rwb") as file:
            file.write(file.readline().strip()[::-1] + b"\n")


def python(program: str, *arguments: str) -> str:
    quoted = " ".join(arguments)
    return f"python3 - {quoted} <<'END'\n{program}\nEND"


def test_a_set_up_reaches_the_listed_host_alone(engine: Engine, world: World, host: tuple[str, int]):
    address, port = host
    straight = STRAIGHT.format(host=address, port=port)
    cached = (
        Command("listed", python(TUNNEL, f"{address}:{port}", "200") + "\ngrep -qx lecrap got"),
        Command("other port", python(TUNNEL, f"{address}:{port + 1}", "403")),
        Command("inside", python(TUNNEL, "127.0.0.1:443", "403")),
        Command("inside by a listed name", python(TUNNEL, "169.254.169.254:80", "403")),
        Command("straight", f'! python3 -c "{straight}"'),
        Command("model", "! test -e /run/factory/called"),
    )
    allow = (f"{address}:{port}", "169.254.169.254:80")
    order = world.setup_order("setup-1", cached=cached, egress=allow)
    image = world.jobs.set_up(order)
    engine.images.remove(image, force=True)
    denied = read_ledger((order.folder / "ledger.jsonl").read_bytes()).denied
    assert [(row.reason, row.path) for row in denied] == [
        ("egress", f"{address}:{port + 1}"),
        ("egress", "127.0.0.1:443"),
        ("egress", "169.254.169.254:80"),
    ]
    assert world.left() == 0


def test_an_empty_allowlist_lets_nobody_out(world: World, host: tuple[str, int]):
    address, port = host
    cached = (Command("any", python(TUNNEL, f"{address}:{port}", "200")),)
    with pytest.raises(ImageUnfitError, match="`any` ended with exit code 1"):
        world.jobs.set_up(world.setup_order("setup-1", cached=cached, egress=()))
    assert world.left() == 0


def test_an_agent_is_let_out_where_its_order_says_so_and_a_denial_stops_nothing(
    world: World, host: tuple[str, int]
):
    address, port = host
    line = f"{python(TUNNEL, f'{address}:{port}', '200')}\n{python(TUNNEL, 'other.example.org:443', '403')}"
    order = world.order("implement-1", agent=shell(line), proxy=egress_only((f"{address}:{port}",)))
    end = world.jobs.run(order, resumed=False)
    world.jobs.release(world.run_id, order.identity.key)
    assert end.report is not None
    assert (end.report.ended, end.report.exit_code) == (Ended.EXITED, 0)
    assert [row.path for row in end.ledger.denied] == ["other.example.org:443"]
    assert end.ledger.calls == ()
    assert b"lecrap" in (order.folder / "out/diff.patch").read_bytes()
