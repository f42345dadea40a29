"""Base URLs taken apart."""

import pytest

from proxy.address import AddressError, parse_address
from proxy.headers import RequestHead, request_bytes


@pytest.mark.parametrize(
    "url",
    [
        "https://api.example.com",
        "https://api.example.com/",
        "https://api.example.com/v1",
        "https://api.example.com/v1/",
    ],
)
def test_slash_and_version_make_no_difference(url: str) -> None:
    address = parse_address(url)
    assert (address.host, address.port, address.is_tls, address.prefix) == ("api.example.com", 443, True, b"")
    assert address.host_header == b"api.example.com"


@pytest.mark.parametrize("base", ["https://api.openai.com", "https://gateway.example.com/base"])
def test_case_22_every_spelling_of_a_base_gives_the_same_upstream_path(base: str) -> None:
    head = RequestHead("POST", "/v1/responses", (), is_keep_alive=True, is_http_10=False, is_upgrade=False)
    sent = {
        request_bytes(head, b"", parse_address(base + end), (b"authorization", b"Bearer k"))
        for end in ("", "/", "/v1", "/v1/")
    }
    path = base.partition(".com")[2].encode() + b"/v1/responses"
    assert [raw.split()[1] for raw in sent] == [path]


def test_a_gateway_may_have_a_port_and_a_path() -> None:
    address = parse_address("http://[::1]:8080/anthropic/v1")
    assert (address.port, address.is_tls, address.prefix) == (8080, False, b"/anthropic")
    assert address.host_header == b"[::1]:8080"


@pytest.mark.parametrize(
    "url",
    [
        "",
        "api.example.com",
        "ftp://x",
        "https://",
        "https://u:p@x",
        "https://x?a=1",
        "https://x#f",
        "https://x:99999",
        "https://x/\r\nhost: y",
        "https://a b",
        "https://" + "a" * 64 + ".com",
        "https://[::1",
    ],
)
def test_what_cannot_be_called_is_one_sentence(url: str) -> None:
    with pytest.raises(AddressError, match="base_url"):
        parse_address(url)
