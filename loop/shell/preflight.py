"""Ask each provider whether the key is good before anything is spent; costs no tokens.

Limits: one GET request each, with a deadline.
"""

from collections.abc import Iterable
from typing import Literal

import httpx

from instrument.schema.vocabulary import ProviderName
from loop.shell.context import Provider

TIMEOUT_S = 20
API_VERSION = "2023-06-01"
"""https://docs.anthropic.com/en/api/versioning, read 2026-11-30."""
HTTP_DENIED = (401, 403)
HTTP_LIMITED = 429
HTTP_SERVER_ERROR = 500

Answer = Literal["ok", "limited", "denied", "failed"]


def ask_providers(providers: Iterable[Provider], client: httpx.Client | None = None) -> tuple[Answer, str]:
    """The first answer that speaks against a start, or that all is well, and one sentence about it.

    A gateway that does not know the list of models answers 404: that is no refusal of the key. A provider
    that cannot answer now is no hindrance while one of its fallbacks can; a refused key always is.
    """
    providers = tuple(providers)
    if not providers:
        return "ok", ""
    said: tuple[Answer, str] = ("ok", "")
    with client or httpx.Client(timeout=TIMEOUT_S) as http:
        for provider in providers:
            said = _judge([_ask(way, http) for way in provider.ways])
            if said[0] != "ok":
                break
    return said


def _judge(answers: list[tuple[Answer, str]]) -> tuple[Answer, str]:
    """One answer for a provider and its fallbacks, in their order."""
    denied = (said for said in answers if said[0] == "denied")
    well = (said for said in answers if said[0] == "ok")
    return next(denied, next(well, answers[0]))


def _ask(provider: Provider, http: httpx.Client) -> tuple[Answer, str]:
    said = ask_status(provider, http)
    if isinstance(said, str):
        return "failed", f"{provider.base_url} did not answer: {said}"
    return _read_status(said), f"{provider.base_url} answered HTTP {said}"


def ask_status(provider: Provider, http: httpx.Client) -> int | str:
    """The status of the answer to a request for the list of models, or the name of the error that came."""
    headers = {"anthropic-version": API_VERSION} if provider.name is ProviderName.ANTHROPIC else {}
    if provider.auth == "bearer":
        headers["authorization"] = f"Bearer {provider.secret}"
    else:
        headers["x-api-key"] = provider.secret
    limit = "?limit=1" if provider.name is ProviderName.ANTHROPIC else ""
    url = f"{provider.base_url.rstrip('/').removesuffix('/v1')}/v1/models{limit}"
    try:
        return http.get(url, headers=headers).status_code
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        return type(error).__name__


def _read_status(status: int) -> Answer:
    if status in HTTP_DENIED:
        return "denied"
    if status == HTTP_LIMITED:
        return "limited"
    return "failed" if status >= HTTP_SERVER_ERROR else "ok"
