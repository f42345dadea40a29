"""Ask the provider whether the key is good before anything is spent; costs no tokens.

Limits: one GET request, with a deadline.
"""

from typing import Literal

import httpx

from loop.shell.context import Provider

TIMEOUT_S = 20
API_VERSION = "2023-06-01"
"""https://docs.anthropic.com/en/api/versioning, read 2026-11-30."""
HTTP_DENIED = (401, 403)
HTTP_LIMITED = 429
HTTP_SERVER_ERROR = 500

Answer = Literal["ok", "limited", "denied", "failed"]


def ask_provider(provider: Provider, client: httpx.Client | None = None) -> tuple[Answer, str]:
    """The provider's answer and one sentence about it; a scripted provider is always fine.

    A gateway that does not know the list of models answers 404: that is no refusal of the key.
    """
    if provider.story is not None:
        return "ok", ""
    headers = {"anthropic-version": API_VERSION}
    if provider.auth == "bearer":
        headers["authorization"] = f"Bearer {provider.secret}"
    else:
        headers["x-api-key"] = provider.secret
    url = f"{provider.base_url.rstrip('/').removesuffix('/v1')}/v1/models?limit=1"
    try:
        with client or httpx.Client(timeout=TIMEOUT_S) as http:
            status = http.get(url, headers=headers).status_code
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        return "failed", f"{provider.base_url} did not answer: {type(error).__name__}"
    return _read_status(status), f"{provider.base_url} answered HTTP {status}"


def _read_status(status: int) -> Answer:
    if status in HTTP_DENIED:
        return "denied"
    if status == HTTP_LIMITED:
        return "limited"
    return "failed" if status >= HTTP_SERVER_ERROR else "ok"
