"""The kinds of texts and numbers that `factory.toml` holds, each with the sentence for what is none.

Pure: no I/O.
"""

import re
from collections.abc import Callable
from email.utils import parseaddr
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field

from loop.globs import fault_of, fault_of_protection
from loop.taskkeys import CHECK_NAME, MODEL_ID
from proxy.egress import parse_rule

_SIZE = re.compile(r"([0-9]{1,6})([mg])")
_UNITS = {"m": 1024**2, "g": 1024**3}
SMALLEST_BYTES = 64 * 1024**2


def _like(pattern: str | re.Pattern[str], sentence: str) -> AfterValidator:
    """Accept texts that match as a whole; `sentence` follows the key's name."""

    def check(value: str) -> str:
        if not re.fullmatch(pattern, value):
            raise ValueError(sentence)
        return value

    return AfterValidator(check)


def _unless(fault: Callable[[str], str | None]) -> AfterValidator:
    """Accept texts in which `fault` finds nothing."""

    def check(value: str) -> str:
        if sentence := fault(value):
            raise ValueError(sentence)
        return value

    return AfterValidator(check)


def _branch_fault(value: str) -> str | None:
    plain = re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9._/+-]{0,199}", value)
    odd = ".." in value or "//" in value or "/." in value or value.endswith(("/", ".", ".lock"))
    return None if plain and not odd else "must be the plain name of a branch, such as main"


def _path_fault(value: str) -> str | None:
    parts = value.split("/")
    if value.isprintable() and "\\" not in value and not {"", ".", ".."} & set(parts):
        return None
    return "must be a path from the root of the repository, without ./, .. or a slash in front"


def _url_fault(value: str) -> str | None:
    sentence = "must be an address such as https://api.anthropic.com, without user name, query or fragment"
    try:
        parts = urlsplit(value)
        port_is_valid = parts.port is None or parts.port > 0
    except ValueError:
        return sentence
    plain = value.isascii() and value.isprintable() and " " not in value
    extra = "@" in parts.netloc or "?" in value or "#" in value
    is_usable = plain and port_is_valid and parts.scheme in {"http", "https"} and parts.hostname and not extra
    return None if is_usable else sentence


def _egress_fault(value: str) -> str | None:
    return None if parse_rule(value) else "must be a host, host:port or *.domain, also with =address"


def _author_fault(value: str) -> str | None:
    name, mail = parseaddr(value)
    is_usable = name and re.fullmatch(r"[^@\s<>]+@[^@\s<>]+", mail) and value == f"{name} <{mail}>"
    return None if is_usable and value.isprintable() else "must look like Name <mail@example.org>"


def _line_fault(value: str) -> str | None:
    is_clean = all(c.isprintable() or c in "\n\t" for c in value)
    return None if is_clean and value.strip() else "must be a shell command"


def _size_bytes(value: str) -> str:
    if bytes_of(value) < SMALLEST_BYTES:
        raise ValueError('must be a size from "64m" up, such as "512m" or "4g"')
    return value


def bytes_of(size: str) -> int:
    """Read a size such as `4g`; 0 where it is none."""
    match = _SIZE.fullmatch(size)
    return int(match[1]) * _UNITS[match[2]] if match else 0


Name = Annotated[
    str,
    _like(
        r"[a-z0-9]+(?:[._-][a-z0-9]+){0,20}",
        "must be small letters and digits, parted by single -, _ or ., such as my-package",
    ),
    Field(max_length=50),
]
Line = Annotated[str, _unless(_line_fault), Field(max_length=10_000)]
CheckName = Annotated[
    str,
    _like(CHECK_NAME, "is no name for a check; use small letters, digits, - and _, beginning with no sign"),
]
Variable = Annotated[
    str, _like(r"[A-Za-z_][A-Za-z0-9_]{0,199}", "must be the name of an environment variable, such as CI")
]
Value = Annotated[str, _like(r"[^\x00]*", "holds a NUL character"), Field(max_length=10_000)]
Glob = Annotated[str, _unless(fault_of)]
RepoPath = Annotated[str, _unless(_path_fault)]
Model = Annotated[str, _like(MODEL_ID, "must be a model id as the provider writes it")]
Size = Annotated[str, AfterValidator(_size_bytes)]
Number = Annotated[float, Field(allow_inf_nan=False)]
Branch = Annotated[str, _unless(_branch_fault)]
RemoteName = Annotated[
    str, _like(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", "must be a remote's name, such as origin")
]
ImageName = Annotated[
    str, _like(r"[A-Za-z0-9][A-Za-z0-9._:/@-]{0,299}", "must be an image's name, such as debian:13")
]
Protection = Annotated[str, _unless(fault_of_protection)]
Host = Annotated[str, _unless(_egress_fault)]
ContainerRuntime = Annotated[
    str,
    _like(
        r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}",
        "must be a name that `docker info` lists under Runtimes, such as runsc",
    ),
]
Author = Annotated[str, _unless(_author_fault)]
Url = Annotated[str, _unless(_url_fault)]
