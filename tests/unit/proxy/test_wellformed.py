"""Heads that the parser takes and two readers could take two ways."""

from proxy.headers import Headers, RequestHead
from proxy.wellformed import fault_of

HOST = (b"host", b"x")


def fault(
    *headers: tuple[bytes, bytes], target: str = "/v1/messages?beta=true", version: str = "1.1"
) -> str | None:
    given: Headers = headers or (HOST,)
    is_http_10 = version == "1.0"
    head = RequestHead("POST", target, given, is_keep_alive=True, is_http_10=is_http_10, is_upgrade=False)
    return fault_of(head, version)


def test_ordinary_heads_have_no_fault() -> None:
    assert fault() is None
    assert fault(HOST, (b"transfer-encoding", b"Chunked"), (b"session_id", b"1")) is None
    assert fault((b"accept", b"*/*"), version="1.0") is None
    assert fault(target="/v1/messages?a[]=%20&b=c;d") is None
    assert fault(target="[2606:4700::1111]:443") is None


def test_each_fault_is_one_sentence_about_its_cause() -> None:
    assert "HTTP/1.1" in str(fault(version="2.0"))
    assert "Host" in str(fault(HOST, HOST))
    assert "Host" in str(fault((b"accept", b"*/*")))
    assert "Host" in str(fault(HOST, HOST, version="1.0"))
    assert "coding" in str(fault(HOST, (b"transfer-encoding", b"gzip, chunked")))
    assert "coding" in str(fault(HOST, (b"transfer-encoding", b"chunked"), version="1.0"))
    assert "URL" in str(fault(target="/v1/messages?a#b"))
    assert "_" in str(fault(HOST, (b"content_length", b"1")))
