from dataclasses import replace

import httpx
import pytest

from instrument.schema.vocabulary import ProviderName
from loop.shell.context import Provider
from loop.shell.preflight import ask_providers

API = "https://api.example.org"


def asked(answer, **changes):
    seen: list[httpx.Request] = []

    def handle(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        if isinstance(answer, Exception):
            raise answer
        return httpx.Response(answer)

    fields = {
        "name": ProviderName.ANTHROPIC,
        "base_url": API,
        "auth": "api_key",
        "secret": "s3cret",
    } | changes
    client = httpx.Client(transport=httpx.MockTransport(handle))
    return ask_providers([Provider(**fields | changes, key_variable="KEY")], client), seen


@pytest.mark.parametrize(
    ("status", "answer"),
    [
        (200, "ok"),
        (404, "ok"),
        (401, "denied"),
        (403, "denied"),
        (429, "limited"),
        (500, "failed"),
        (529, "failed"),
    ],
)
def test_the_status_decides(status: int, answer: str):
    (found, sentence), seen = asked(status)
    assert found == answer
    assert sentence == f"{API} answered HTTP {status}"
    assert "s3cret" not in sentence
    assert str(seen[0].url) == f"{API}/v1/models?limit=1"


@pytest.mark.parametrize("base", [API, f"{API}/", f"{API}/v1", f"{API}/v1/"])
def test_the_address_may_end_as_people_write_it(base: str):
    _, (request,) = asked(200, base_url=base)
    assert request.url.path == "/v1/models"


def test_the_key_goes_where_the_provider_wants_it():
    _, (request,) = asked(200)
    assert request.headers["x-api-key"] == "s3cret"
    assert "authorization" not in request.headers
    _, (request,) = asked(200, auth="bearer")
    assert request.headers["authorization"] == "Bearer s3cret"
    assert "x-api-key" not in request.headers


def test_no_answer_is_a_failure_with_its_kind_and_no_secret():
    (found, sentence), _ = asked(httpx.ConnectTimeout("https://user:s3cret@host"))
    assert (found, sentence) == ("failed", f"{API} did not answer: ConnectTimeout")
    (found, sentence), _ = asked(httpx.InvalidURL("no port"))
    assert found == "failed"


def test_the_first_provider_that_refuses_decides_and_each_is_asked_in_its_own_way():
    seen: list[httpx.Request] = []

    def handle(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(200 if request.url.host == "api.example.org" else 401)

    both = [
        Provider(ProviderName.ANTHROPIC, API, "api_key", "s3cret", "A_KEY"),
        Provider(ProviderName.OPENAI, "https://other.example.org/v1", "bearer", "s3cret", "O_KEY"),
    ]
    client = httpx.Client(transport=httpx.MockTransport(handle))
    answer, sentence = ask_providers(both, client)
    assert (answer, sentence) == ("denied", "https://other.example.org/v1 answered HTTP 401")
    assert str(seen[1].url) == "https://other.example.org/v1/models"
    assert "anthropic-version" not in seen[1].headers


def chain(statuses: tuple[int, ...]):
    """A provider with fallbacks at b, c and so on, each of which answers with its status."""
    first, *others = (
        Provider(ProviderName.ANTHROPIC, f"https://{host}.example.org", "api_key", "s3cret", "KEY")
        for host in "abc"[: len(statuses)]
    )
    known = {f"{host}.example.org": status for host, status in zip("abc", statuses, strict=False)}
    seen: list[str] = []

    def handle(request: httpx.Request) -> httpx.Response:
        seen.append(request.url.host)
        return httpx.Response(known[request.url.host])

    client = httpx.Client(transport=httpx.MockTransport(handle))
    return ask_providers([replace(first, fallbacks=tuple(others))], client), seen


@pytest.mark.parametrize(
    ("statuses", "answer", "sentence"),
    [
        ((200, 200), "ok", "https://a.example.org answered HTTP 200"),
        ((529, 429, 200), "ok", "https://c.example.org answered HTTP 200"),
        ((200, 500), "ok", "https://a.example.org answered HTTP 200"),
        ((429, 500), "limited", "https://a.example.org answered HTTP 429"),
        ((500, 429), "failed", "https://a.example.org answered HTTP 500"),
        ((200, 401), "denied", "https://b.example.org answered HTTP 401"),
        ((529, 200, 403), "denied", "https://c.example.org answered HTTP 403"),
    ],
)
def test_every_fallback_is_asked_and_one_that_can_answer_is_enough_while_all_keys_are_good(
    statuses: tuple[int, ...], answer: str, sentence: str
):
    found, seen = chain(statuses)
    assert found == (answer, sentence)
    assert seen == [f"{host}.example.org" for host in "abc"[: len(statuses)]]


def test_without_a_provider_nobody_is_asked():
    assert ask_providers([]) == ("ok", "")
