"""A gateway as companies put one before Temporal: it ends TLS, asks who calls, and passes calls on.

Limits: calls of one request and one answer, as all of the engine's are; they are passed on byte for byte.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field

import grpc

from engine.server import IP
from support.authority import Authority

THREADS = 40
"""A worker's waiting questions hold one each."""


@dataclass
class Gateway(grpc.GenericRpcHandler):
    """What it lets in, and what it saw."""

    channel: grpc.Channel
    api_key: str | None
    authorizations: set[str] = field(default_factory=set)
    """All that came, "" where a call had none."""

    def service(self, call: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler:
        passed_on = self.channel.unary_unary(call.method)
        said = dict(call.invocation_metadata).get("authorization", "")
        self.authorizations.add(said)
        is_let_in = self.api_key is None or said == f"Bearer {self.api_key}"

        def answer(request: bytes, context: grpc.ServicerContext) -> bytes:
            if not is_let_in:
                context.abort(grpc.StatusCode.UNAUTHENTICATED, "this key is not known here")
            try:
                return passed_on(request, timeout=context.time_remaining())
            except grpc.RpcError as error:
                # What the server says of it travels in these.
                context.set_trailing_metadata(error.trailing_metadata())
                return context.abort(error.code(), error.details())

        return grpc.unary_unary_rpc_method_handler(answer)


@contextmanager
def gateway(
    target: str,
    authority: Authority,
    *,
    client_authority: Authority | None = None,
    api_key: str | None = None,
) -> Iterator[tuple[str, Gateway]]:
    """`HOST:PORT` of a gateway before `target`, which lets in who has a certificate or a key, as asked."""
    certificate, key = authority.sign("gateway")
    credentials = grpc.ssl_server_credentials(
        [(key.read_bytes(), certificate.read_bytes())],
        root_certificates=client_authority and client_authority.certificate.read_bytes(),
        require_client_auth=client_authority is not None,
    )
    # The channel is closed first: that ends a worker's waiting questions.
    with ThreadPoolExecutor(THREADS) as threads, grpc.insecure_channel(target) as channel:
        handler = Gateway(channel, api_key)
        server = grpc.server(threads, handlers=(handler,))
        port = server.add_secure_port(f"{IP}:0", credentials)
        server.start()
        yield f"{IP}:{port}", handler
        server.stop(0).wait()
