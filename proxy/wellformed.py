"""What a request's head must keep to beyond what the parser asks for.

Pure: no I/O. Where two readers of one request could disagree about its end, its target or its sender, it is
refused: the provider, or a gateway before it, may read it the other way.
"""

import re

from proxy.headers import HOP_BY_HOP, OURS, RequestHead

# RFC 3986, 3.3 and 3.4 (read 2026-11-30), with the brackets that some clients leave as they are.
_TARGET = re.compile(r"[A-Za-z0-9\-._~!$&'()*+,;=:@/?%\[\]]+")

_ALONE = OURS | HOP_BY_HOP
"""Names that decide where a request ends, whom it is for and who pays."""


def fault_of(head: RequestHead, version: str) -> str | None:
    """What is wrong with a head, as one sentence for the job; none where nothing is.

    Args:
        head: As the parser read it.
        version: The parser's: it takes 0.9 and 2.0 in the form of 1.1.
    """
    if version not in ("1.0", "1.1"):
        return "This proxy speaks HTTP/1.1: send the request so."
    names = [name for name, _ in head.headers]
    hosts = len([name for name in names if name == b"host"])
    if hosts != 1 and not (head.is_http_10 and hosts == 0):
        return "A request has exactly one Host header."
    if head.get(b"transfer-encoding") is not None:
        codings = [value.lower() for name, value in head.headers if name == b"transfer-encoding"]
        if codings != [b"chunked"] or head.is_http_10:
            return "A body is sent with its length or chunked, in no other coding."
    if _TARGET.fullmatch(head.target) is None:
        return "The target holds a character that no URL has."
    # Looked for in all of them at once: most requests have none. Compiled, `in` is slow on bytes.
    if b" ".join(names).find(b"_") >= 0 and any(
        name not in _ALONE and name.replace(b"_", b"-") in _ALONE for name in names
    ):
        # Gateways that make variables of headers take both spellings for one.
        return "A header is spelled with _ where its name has -."
    return None
