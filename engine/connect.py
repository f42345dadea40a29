"""A client of the engine's server: its address from options and environment, then the connection.

Limits: reads the certificates that the address names, nothing else; changes nothing on the server.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from temporalio.client import Client
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.envconfig import ClientConfigProfile, ClientConfigTLS

from engine.errors import EngineError, ServerUnavailableError
from engine.names import NAMESPACE
from loop.errors import UsageError

CONNECT_TIMEOUT = timedelta(seconds=5)
_CAUSE = re.compile(r'(?:message|error): "([^"]+)"')
"""The words for a person in what the SDK says of a failed connection (seen with 1.35)."""


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
    typed = ClientConfigTLS(server_root_ca_cert=tls_ca, client_cert=tls_cert, client_private_key=tls_key)
    return Address(
        host_port=where,
        namespace=namespace or known.namespace or NAMESPACE,
        tls=typed if tls_ca or tls_cert else known.tls,
        api_key=environment[api_key_env] if api_key_env else known.api_key,
    )


def _from_environment(environment: Mapping[str, str]) -> ClientConfigProfile:
    """The variables that every Temporal program knows; not its file, which may be about another server."""
    try:
        return ClientConfigProfile.load(disable_file=True, override_env_vars=dict(environment))
    except RuntimeError as error:
        raise UsageError(f"The TEMPORAL_ variables do not make an address: {error}.") from error


async def connect(address: Address) -> Client:
    """Connect, and know that the server answers; whether the namespace exists is not asked.

    Raises:
        EngineError: A certificate cannot be read.
        ServerUnavailableError: No server answers there in time, or it refuses us.
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
        cause = _CAUSE.search(str(error))
        why = cause[1] if cause else str(error)
        raise ServerUnavailableError(f"No Temporal server answers at {address.host_port}: {why}.") from error
