import asyncio
import socket
from pathlib import Path

import pytest
from temporalio.envconfig import ClientConfigTLS

from engine.connect import Address, address_from, connect
from engine.errors import EngineError, ServerUnavailableError
from engine.server import IP
from loop.errors import UsageError


def test_nobody_names_a_server_then_the_embedded_one_is_meant() -> None:
    assert address_from({}) is None


def test_what_is_typed_goes_before_the_environment() -> None:
    environment = {"TEMPORAL_ADDRESS": "env.example.net:1", "TEMPORAL_NAMESPACE": "theirs"}

    assert address_from(environment) == Address("env.example.net:1", "theirs")
    assert address_from(environment, host_port="typed.example.net:2", namespace="ours") == Address(
        "typed.example.net:2", "ours"
    )


def test_a_server_of_ones_own_has_our_namespace_where_none_is_named() -> None:
    assert address_from({}, host_port="typed.example.net:2") == Address("typed.example.net:2", "factory")


def test_tls_is_taken_from_files_and_the_key_from_a_named_variable() -> None:
    found = address_from(
        {"OUR_KEY": "sk-1"},
        host_port="typed.example.net:2",
        tls_ca=Path("ca.pem"),
        tls_cert=Path("cert.pem"),
        tls_key=Path("key.pem"),
        api_key_env="OUR_KEY",
    )

    assert found is not None
    assert found.tls == ClientConfigTLS(
        server_root_ca_cert=Path("ca.pem"), client_cert=Path("cert.pem"), client_private_key=Path("key.pem")
    )
    assert found.api_key == "sk-1"
    assert "sk-1" not in repr(found)


def test_a_typed_file_leaves_the_others_to_the_environment() -> None:
    environment = {
        "TEMPORAL_TLS_CLIENT_CERT_PATH": "cert.pem",
        "TEMPORAL_TLS_CLIENT_KEY_PATH": "key.pem",
        "TEMPORAL_TLS_SERVER_CA_CERT_PATH": "other.pem",
        "TEMPORAL_API_KEY": "sk-1",
    }

    found = address_from(environment, host_port="typed.example.net:2", tls_ca=Path("ca.pem"))

    assert found is not None
    assert found.tls == ClientConfigTLS(
        server_root_ca_cert=Path("ca.pem"), client_cert=Path("cert.pem"), client_private_key=Path("key.pem")
    )
    assert found.api_key == "sk-1"


def test_what_cannot_be_meant_is_said_before_anything_is_tried() -> None:
    with pytest.raises(UsageError, match="belong together"):
        address_from({}, host_port="a:1", tls_cert=Path("cert.pem"))
    with pytest.raises(UsageError, match="OUR_KEY, which is not set"):
        address_from({}, host_port="a:1", api_key_env="OUR_KEY")
    with pytest.raises(UsageError, match="with --address"):
        address_from({}, tls_ca=Path("ca.pem"))


def test_a_server_that_is_not_there_is_one_plain_sentence() -> None:
    with socket.create_server((IP, 0)) as taken:
        port = taken.getsockname()[1]

    with pytest.raises(ServerUnavailableError) as caught:
        asyncio.run(connect(Address(f"{IP}:{port}")))

    assert str(caught.value) == f"No Temporal server answers at {IP}:{port}: Connection refused."


def test_a_certificate_that_is_not_there_is_named(tmp_path: Path) -> None:
    tls = ClientConfigTLS(server_root_ca_cert=tmp_path / "ca.pem")

    with pytest.raises(EngineError, match=r"ca\.pem"):
        asyncio.run(connect(Address(f"{IP}:1", tls=tls)))
