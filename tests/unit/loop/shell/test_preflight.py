import httpx
import pytest

from loop.shell.context import Provider
from loop.shell.preflight import ask_provider

API = "https://api.example.org"


def asked(answer, **changes):
    seen: list[httpx.Request] = []

    def handle(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        if isinstance(answer, Exception):
            raise answer
        return httpx.Response(answer)

    fields = {"base_url": API, "auth": "api_key", "secret": "s3cret"} | changes
    client = httpx.Client(transport=httpx.MockTransport(handle))
    return ask_provider(Provider(**fields), client), seen


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


def test_a_scripted_provider_is_not_asked():
    found, seen = asked(500, story=b"x")
    assert found == ("ok", "")
    assert seen == []
