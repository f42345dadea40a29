"""A server of one's own: the dev server behind a gateway that ends TLS and asks who calls."""

import asyncio
from pathlib import Path

import pytest

from engine.connect import Address, address_from, connect
from engine.errors import EngineError, ServerUnavailableError
from engine.namespace import ensure_namespace
from support.authority import Authority, make_authority
from support.backlog import Factory, make_repo
from support.gateway import gateway
from support.temporal import OwnServer

API_KEY = "sk-only-in-memory-7c1f"


@pytest.fixture
def ours(tmp_path: Path) -> Authority:
    return make_authority(tmp_path / "ours")


@pytest.fixture
def theirs(tmp_path: Path) -> Authority:
    return make_authority(tmp_path / "theirs")


@pytest.fixture
def factory(tmp_path: Path) -> Factory:
    (tmp_path / "desk").mkdir()
    return Factory(tmp_path / "desk/home")


def reach(host_port: str, **options: Path) -> None:
    address = address_from({}, host_port=host_port, **options)
    assert address is not None

    async def ask() -> None:
        client = await connect(address)
        await ensure_namespace(client)
        assert (await client.count_workflows("WorkflowType = 'none'")).count == 0

    asyncio.run(ask())


def test_a_server_behind_tls_is_used_as_any_other(address: Address, ours: Authority) -> None:
    with gateway(address.host_port, ours) as (host_port, _):
        reach(host_port, tls_ca=ours.certificate)


def test_one_whose_certificate_nobody_known_has_signed_is_refused_in_a_sentence(
    address: Address, ours: Authority, theirs: Authority
) -> None:
    with (
        gateway(address.host_port, ours) as (host_port, _),
        pytest.raises(
            EngineError, match=f"No connection to {host_port}: .* does not hold against --tls-ca [(]"
        ),
    ):
        reach(host_port, tls_ca=theirs.certificate)


def test_one_that_is_spoken_to_without_tls_is_told_apart_from_one_that_is_not_there(
    address: Address, ours: Authority
) -> None:
    with (
        gateway(address.host_port, ours) as (host_port, _),
        pytest.raises(ServerUnavailableError, match="it may speak TLS alone"),
    ):
        reach(host_port)


def test_who_has_no_certificate_or_anothers_is_told_what_may_be_asked_for(
    address: Address, ours: Authority, theirs: Authority, factory: Factory
) -> None:
    with gateway(address.host_port, ours, client_authority=ours) as (host_port, seen):
        options = ("--address", host_port, "--tls-ca", str(ours.certificate))
        said = factory.engine(*options, "status", code=2)
        assert said.startswith(f"No Temporal server answers at {host_port}: ")
        assert said.endswith("it may ask for a certificate of yours: --tls-cert and --tls-key.\n")
        assert said.count("\n") == 1

        certificate, key = theirs.sign("stranger")
        with pytest.raises(ServerUnavailableError, match="may not know who signed --tls-cert"):
            reach(host_port, tls_ca=ours.certificate, tls_cert=certificate, tls_key=key)
    assert not seen.authorizations, "no call came through"


def test_a_certificate_with_anothers_key_is_said(ours: Authority, address: Address) -> None:
    certificate, _ = ours.sign("us")
    _, key = ours.sign("another")
    with (
        gateway(address.host_port, ours, client_authority=ours) as (host_port, _),
        pytest.raises(EngineError, match=r"--tls-key is not the key of --tls-cert [(]KeyMismatch[)]"),
    ):
        reach(host_port, tls_ca=ours.certificate, tls_cert=certificate, tls_key=key)


def test_who_shows_a_certificate_hands_over_and_looks_on(
    own_server: OwnServer, ours: Authority, factory: Factory, tmp_path: Path
) -> None:
    ours.sign("us")
    repo = make_repo(tmp_path, "shop", 1)
    with gateway(own_server.up().host_port, ours, client_authority=ours) as (host_port, _):
        # From the current folder, as people type them.
        files = ("--tls-ca", "../ours/ca.pem", "--tls-cert", "../ours/us.pem", "--tls-key", "../ours/us.key")
        options = ("--address", host_port, *files)
        assert host_port in factory.engine(*options, "up", "--no-worker")
        told = factory.engine(*options, "submit", "tasks", "--repo", str(repo.checkout), "--phase", "one")
        assert told == "shop-001: handed over\n"
        assert "shop-001" in factory.engine(*options, "status")


@pytest.mark.docker
def test_the_worker_that_up_starts_shows_the_certificate_too(
    own_server: OwnServer, ours: Authority, factory: Factory
) -> None:
    ours.sign("us")
    with gateway(own_server.up().host_port, ours, client_authority=ours) as (host_port, _):
        files = ("--tls-ca", "../ours/ca.pem", "--tls-cert=../ours/us.pem", "--tls-key", "../ours/us.key")
        # A namespace may have the name of a command.
        options = ("--address", host_port, "--namespace", "up", *files)
        assert "worker: process" in factory.engine(*options, "up")
        assert "worker: ended" in factory.engine(*options, "down")


def test_an_api_key_reaches_the_server_and_nothing_that_is_kept(
    own_server: OwnServer, ours: Authority, factory: Factory, tmp_path: Path
) -> None:
    repo = make_repo(tmp_path, "shop", 1)
    with gateway(own_server.up().host_port, ours, api_key=API_KEY) as (host_port, seen):
        factory.extra = {
            "TEMPORAL_ADDRESS": host_port,
            "TEMPORAL_TLS_SERVER_CA_CERT_PATH": str(ours.certificate),
            "TEMPORAL_API_KEY": API_KEY,
        }
        said = factory.engine("up", "--no-worker")
        said += factory.engine("submit", "tasks", "--repo", str(repo.checkout), "--phase", "one")
        worker = factory.worker("--roles", "control")
        said += factory.engine("status")
        typed = Path(f"/proc/{worker.pid}/cmdline").read_text().split("\0")
        worker.terminate()
        worker.wait(10)

    assert "shop-001" in said
    assert seen.authorizations == {f"Bearer {API_KEY}"}
    assert API_KEY not in said
    assert "--roles" in typed
    assert not any(API_KEY in word for word in typed)
    kept = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert tmp_path / "desk/worker-0.log" in kept
    assert tmp_path / "home/engine/temporal.db" in kept
    assert [path for path in kept if API_KEY.encode() in path.read_bytes()] == []


def test_a_key_that_is_not_known_there_is_said_and_no_answer_is_kept_for_later(
    own_server: OwnServer, ours: Authority, factory: Factory
) -> None:
    with gateway(own_server.ready().host_port, ours, api_key=API_KEY) as (host_port, _):
        factory.extra = {"OUR_KEY": "sk-an-old-one"}
        options = ("--address", host_port, "--tls-ca", str(ours.certificate), "--api-key-env", "OUR_KEY")
        for words in (("status",), ("ruling", "shop-001", "Go on.")):
            assert factory.engine(*options, *words, code=2) == (
                f"The server at {host_port} does not let us in: this key is not known here. "
                "See --api-key-env.\n"
            )
    assert not (factory.home / "engine/outbox").exists()
