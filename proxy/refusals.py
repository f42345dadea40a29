"""Every answer that the proxy gives by itself, in the provider's error shape.

Pure: no I/O.
"""

from dataclasses import dataclass
from http import HTTPStatus
from typing import Literal

import orjson

from instrument.money import show_usd
from proxy.headers import RequestHead

Reason = Literal["path", "upgrade", "encoding", "budget", "price", "deadline", "malformed"]
STOP = "billing_error"
"""The error type that ends an agent's run. Claude Code 2.1.332, tried 2026-11-30: after a 400 of this type
it sends nothing more; after an `invalid_request_error` it tries five times again with fewer betas."""
ALLOWED = {"/v1/messages", "/v1/messages/count_tokens"}


@dataclass(frozen=True, slots=True)
class Refusal:
    """An answer of ours; `reason` is the ledger's, none where the fault is the upstream's."""

    status: int
    error_type: str
    message: str
    reason: Reason | None
    is_final: bool = True
    """Tells the agent not to try again."""

    def to_bytes(self, *, is_last: bool, is_bodiless: bool = False) -> bytes:
        """The whole answer.

        Args:
            is_last: The connection closes after it.
            is_bodiless: It answers a HEAD: a body would be taken for the next answer.
        """
        body = orjson.dumps({"type": "error", "error": {"type": self.error_type, "message": self.message}})
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


def refuse_head(head: RequestHead) -> Refusal | None:
    """What can be refused before the body: an upgrade, another path, a compressed body."""
    if head.is_upgrade and head.method != "CONNECT":
        return Refusal(
            HTTPStatus.UPGRADE_REQUIRED,
            "invalid_request_error",
            "This proxy speaks plain HTTP/1.1 only: send the request without an upgrade.",
            "upgrade",
        )
    if head.method != "POST" or head.path not in ALLOWED:
        return Refusal(
            HTTPStatus.NOT_FOUND,
            "not_found_error",
            "This proxy forwards only POST /v1/messages and POST /v1/messages/count_tokens.",
            "path",
        )
    if (head.get(b"content-encoding") or b"identity").strip().lower() != b"identity":
        return Refusal(
            HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
            "invalid_request_error",
            "This proxy has to read the model's name: send the request body uncompressed.",
            "encoding",
        )
    return None


def malformed(message: str, status: int = HTTPStatus.BAD_REQUEST) -> Refusal:
    """A request that is no HTTP, too large, too slow, or whose body names no model."""
    return Refusal(status, "invalid_request_error", message, "malformed")


def out_of_budget(spent_microusd: int, budget_microusd: int) -> Refusal:
    """No money left: 400, the one answer at which the agent programs stop after one request."""
    return Refusal(
        HTTPStatus.BAD_REQUEST,
        STOP,
        f"The budget of this job is used up: {show_usd(spent_microusd)} of {show_usd(budget_microusd)}"
        " are spent or held by running calls, so no further model call is made.",
        "budget",
    )


def without_price(message: str) -> Refusal:
    """A model whose price is not known is never called: its cost could not be bounded."""
    return Refusal(HTTPStatus.BAD_REQUEST, STOP, message, "price")


def past_deadline() -> Refusal:
    """The job's time is over."""
    return Refusal(
        HTTPStatus.BAD_REQUEST,
        STOP,
        "The time of this job is over, so no further model call is made.",
        "deadline",
    )


def unreachable(host: str, cause: str) -> Refusal:
    """The upstream did not answer; the agent may try again."""
    return Refusal(
        HTTPStatus.BAD_GATEWAY,
        "api_error",
        f"The provider at {host} gave no answer: {cause}.",
        None,
        is_final=False,
    )
