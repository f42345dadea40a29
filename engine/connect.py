"""A client of the engine's server: its address from options and environment, then the connection.

Limits: reads the certificates that the address names, nothing else; changes nothing on the server.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path

from temporalio.client import Client
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.envconfig import ClientConfigProfile, ClientConfigTLS

from engine.errors import EngineError
from engine.names import NAMESPACE
from engine.refusal import refusal
from loop.errors import UsageError

CONNECT_TIMEOUT = timedelta(seconds=5)


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server is, and how to speak to it."""

    host_port: str
    """`HOST:PORT` of its gRPC service."""
    namespace: str = NAMESPACE
    tls: ClientConfigTLS | None = None
    """None: plain, unless there is an API key, which is only sent under TLS."""
    api_key: str | None = field(default=None, repr=False)


def address_from(
    environment: Mapping[str, str],
    *,
    host_port: str | None = None,
    namespace: str | None = None,
    tls_ca: Path | None = None,
    tls_cert: Path | None = None,
    tls_key: Path | None = None,
    api_key_env: str | None = None,
) -> Address | None:
    """Make an address of what was typed, then of `TEMPORAL_ADDRESS` and its kind.

    Returns:
        None where neither names a server: the embedded one is meant.

    Raises:
        UsageError: Half a certificate, a key's variable that is not set, or TLS without an address.
    """
    if (tls_cert is None) != (tls_key is None):
        raise UsageError("--tls-cert and --tls-key belong together: give both or neither.")
    if api_key_env is not None and not environment.get(api_key_env):
        raise UsageError(f"--api-key-env names {api_key_env}, which is not set.")
    known = _from_environment(environment)
    where = host_port or known.address
    if where is None:
        if tls_ca or tls_cert or api_key_env:
            raise UsageError("TLS and API keys are for a server of your own: name it with --address.")
        return None
    return Address(
        host_port=where,
        namespace=namespace or known.namespace or NAMESPACE,
        tls=_tls(known.tls, tls_ca, tls_cert, tls_key),
        api_key=environment[api_key_env] if api_key_env else known.api_key,
    )


def _tls(
    known: ClientConfigTLS | None, ca: Path | None, cert: Path | None, key: Path | None
) -> ClientConfigTLS | None:
    """What was typed, and what the environment says beside it."""
    if ca is None and cert is None:
        return known
    typed = replace(known or ClientConfigTLS(), disabled=None)
    if ca is not None:
        typed = replace(typed, server_root_ca_cert=ca)
    return typed if cert is None else replace(typed, client_cert=cert, client_private_key=key)


def _from_environment(environment: Mapping[str, str]) -> ClientConfigProfile:
    """The variables that every Temporal program knows; not its file, which may be about another server."""
    try:
        return ClientConfigProfile.load(disable_file=True, override_env_vars=dict(environment))
    except RuntimeError as error:
        raise UsageError(f"The TEMPORAL_ variables do not make an address: {error}.") from error


async def connect(address: Address) -> Client:
    """Connect, and know that the server answers; whether the namespace exists is not asked.

    Raises:
        EngineError: A certificate cannot be read or used, or the server does not let us in.
        ServerUnavailableError: No server answers there in time.
    """
    profile = ClientConfigProfile(
        address=address.host_port, namespace=address.namespace, tls=address.tls, api_key=address.api_key
    )
    try:
        config = profile.to_client_connect_config()
    except OSError as error:
        raise EngineError(f"A certificate cannot be read: {error}.") from error
    try:
        return await Client.connect(
            **config, data_converter=pydantic_data_converter, connect_timeout=CONNECT_TIMEOUT
        )
    except (RuntimeError, ValueError) as error:
        tls = address.tls if address.tls and not address.tls.disabled else None
        raise refusal(
            address.host_port,
            str(error),
            has_tls=tls is not None or (address.tls is None and address.api_key is not None),
            has_certificate=tls is not None and tls.client_cert is not None,
        ) from error
