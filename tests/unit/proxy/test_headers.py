"""What passes in the heads."""

from proxy.address import parse_address
from proxy.headers import RequestHead, ResponseHead, request_bytes, response_head_bytes


def head(*headers: tuple[bytes, bytes], target: str = "/v1/messages?beta=true") -> RequestHead:
    return RequestHead("POST", target, headers, is_keep_alive=True, is_http_10=False, is_upgrade=False)


def test_the_jobs_own_keys_and_the_connections_headers_stay_behind() -> None:
    given = head(
        (b"host", b"localhost"),
        (b"x-api-key", b"placeholder"),
        (b"authorization", b"Bearer theirs"),
        (b"cookie", b"a=b"),
        (b"connection", b"keep-alive, X-Hop"),
        (b"x-hop", b"1"),
        (b"te", b"trailers"),
        (b"transfer-encoding", b"chunked"),
        (b"expect", b"100-continue"),
        (b"accept-encoding", b"gzip, br"),
        (b"content-length", b"999"),
        (b"anthropic-beta", b"a,b"),
        (b"anthropic-version", b"2023-06-01"),
    )
    address = parse_address("https://gateway.example.com/base/v1/")
    sent = request_bytes(given, b"BODY", address, (b"x-api-key", b"real"))
    assert sent == (
        b"POST /base/v1/messages?beta=true HTTP/1.1\r\n"
        b"host: gateway.example.com\r\n"
        b"anthropic-beta: a,b\r\n"
        b"anthropic-version: 2023-06-01\r\n"
        b"accept-encoding: identity\r\n"
        b"x-api-key: real\r\n"
        b"content-length: 4\r\n\r\nBODY"
    )


def test_an_answers_own_headers_pass_with_their_repetitions() -> None:
    given = ResponseHead(
        200,
        (
            (b"content-type", b"text/event-stream"),
            (b"transfer-encoding", b"chunked"),
            (b"connection", b"close"),
            (b"x-limit", b"1"),
            (b"x-limit", b"2"),
        ),
    )
    sent = response_head_bytes(given, b"OK", is_chunked=True, is_last=False)
    assert sent == (
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nx-limit: 1\r\nx-limit: 2\r\n"
        b"transfer-encoding: chunked\r\n\r\n"
    )
