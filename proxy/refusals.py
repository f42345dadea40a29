"""Every answer that the proxy gives by itself; its body has the provider's error shape.

Pure: no I/O.
"""

from dataclasses import dataclass
from http import HTTPStatus
from typing import Literal

from proxy.headers import RequestHead
from proxy.protocols.wire import Fault, Wire

Reason = Literal["path", "upgrade", "encoding", "budget", "price", "deadline", "malformed", "egress"]


@dataclass(frozen=True, slots=True)
class Refusal:
    """An answer of ours; `reason` is the ledger's, none where the fault is the upstream's."""

    status: int
    fault: Fault
    message: str
    reason: Reason | None
    is_final: bool = True
    """Tells the agent not to try again."""

    def to_bytes(self, wire: Wire, *, is_last: bool, is_bodiless: bool = False) -> bytes:
        """The whole answer.

        Args:
            wire: The protocol that the client speaks.
            is_last: The connection closes after it.
            is_bodiless: It answers a HEAD: a body would be taken for the next answer.
        """
        body = wire.error_body(self.fault, self.message)
        lines = [
            f"HTTP/1.1 {self.status} {HTTPStatus(self.status).phrase}",
            "content-type: application/json",
            f"content-length: {len(body)}",
        ]
        if self.is_final:
            lines.append("x-should-retry: false")
        if self.status == HTTPStatus.UPGRADE_REQUIRED:
            lines.append("upgrade: HTTP/1.1")
        if is_last:
            lines.append("connection: close")
        return "\r\n".join([*lines, "\r\n"]).encode() + (b"" if is_bodiless else body)


def refuse_head(wire: Wire, head: RequestHead) -> Refusal | None:
    """What can be refused before the body: an upgrade, another path, a compressed body.

    A CONNECT has no path: whether its host is let out is judged elsewhere.
    """
    if head.method == "CONNECT":
        return None
    if head.is_upgrade:
        return Refusal(
            HTTPStatus.UPGRADE_REQUIRED,
            "request",
            "This proxy speaks plain HTTP/1.1 only: send the request without an upgrade.",
            "upgrade",
        )
    if head.method != "POST" or head.path not in wire.PATHS:
        return Refusal(
            HTTPStatus.NOT_FOUND,
            "path",
            f"This proxy forwards only {' and '.join(f'POST {path}' for path in wire.PATHS)}.",
            "path",
        )
    if (head.get(b"content-encoding") or b"identity").strip().lower() != b"identity":
        return Refusal(
            HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
            "request",
            "This proxy has to read the model's name: send the request body uncompressed.",
            "encoding",
        )
    return None


def no_way_out(message: str) -> Refusal:
    """A tunnel to a host that is not listed, or that leads inside."""
    return Refusal(HTTPStatus.FORBIDDEN, "path", message, "egress")


def malformed(message: str, status: int = HTTPStatus.BAD_REQUEST) -> Refusal:
    """A request that is no HTTP, too large, too slow, or whose body names no model."""
    return Refusal(status, "request", message, "malformed")


def out_of_budget() -> Refusal:
    """No money left: 400, the one answer at which the agent programs stop after one request.

    Without figures: opencode 1.18.18 tries again where an error's text holds `500`, as `$1.5000` does.
    """
    return Refusal(
        HTTPStatus.BAD_REQUEST,
        "stop",
        "The budget of this job is used up: no further model call is made.",
        "budget",
    )


def without_price(message: str) -> Refusal:
    """A model whose price is not known is never called: its cost could not be bounded."""
    return Refusal(HTTPStatus.BAD_REQUEST, "stop", message, "price")


def past_deadline() -> Refusal:
    """The job's time is over."""
    return Refusal(
        HTTPStatus.BAD_REQUEST,
        "stop",
        "The time of this job is over, so no further model call is made.",
        "deadline",
    )


def unreachable(host: str, cause: str) -> Refusal:
    """The upstream did not answer; the agent may try again."""
    return Refusal(
        HTTPStatus.BAD_GATEWAY,
        "upstream",
        f"The provider at {host} gave no answer: {cause}.",
        None,
        is_final=False,
    )
