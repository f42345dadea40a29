"""Which hosts are let out, by name and by address."""

import asyncio

import pytest

from proxy.egress import Egress, EgressDeniedError, Rule, is_closed, parse_rule

RULES = [
    Rule("packages.example.org", 443),
    Rule("example.net", 443, has_subdomains=True),
    Rule("mirror.example.org", 8080),
]
EGRESS = Egress(tuple(RULES))


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("packages.example.org", RULES[0]),
        ("Packages.Example.ORG.", RULES[0]),
        ("*.example.net", RULES[1]),
        ("mirror.example.org:8080", RULES[2]),
        ("localhost:1", Rule("localhost", 1)),
        *(
            (bad, None)
            for bad in (
                "",
                "*",
                "*.",
                "https://x.org",
                "x.org/",
                "x.org:0",
                "x.org:65536",
                "a b",
                "x..y",
                "*.*.x",
            )
        ),
    ],
)
def test_an_entry_is_a_host_a_port_or_all_below_a_domain(text: str, rule: Rule | None):
    assert parse_rule(text) == rule


@pytest.mark.parametrize(
    ("target", "found"),
    [
        ("packages.example.org:443", ("packages.example.org", 443)),
        ("PACKAGES.example.ORG.:443", ("packages.example.org", 443)),
        ("a.b.example.net:443", ("a.b.example.net", 443)),
        ("mirror.example.org:8080", ("mirror.example.org", 8080)),
    ],
)
def test_a_listed_host_is_let_out_however_its_name_is_written(target: str, found: tuple[str, int]):
    assert EGRESS.judge(target) == found


@pytest.mark.parametrize(
    "target",
    [
        *("packages.example.org:80", "example.net:443", "badexample.net:443", "mirror.example.org:443"),
        *("packages.example.org.evil.org:443", "evil.org:443", "1.2.3.4:443", "[::1]:443"),
    ],
)
def test_any_other_host_or_port_is_denied_by_name(target: str):
    with pytest.raises(EgressDeniedError, match=r"is not in \[egress\] allow"):
        EGRESS.judge(target)


@pytest.mark.parametrize(
    "target",
    [
        "",
        "packages.example.org",
        "http://packages.example.org:443",
        "a@packages.example.org:443",
        "x:0",
        "x:99999",
    ],
)
def test_what_is_no_target_is_denied(target: str):
    with pytest.raises(EgressDeniedError, match="host:port"):
        EGRESS.judge(target)


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "127.9.9.9", "0.0.0.0", "10.1.2.3", "172.16.0.1", "172.31.255.255", "192.168.1.1"),
        *(
            "169.254.169.254",
            "100.64.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "::1",
            "::",
            "fe80::1%eth0",
            "fd00::1",
        ),
        *(
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "64:ff9b::a00:1",
            "2002:7f00:1::",
            "ff02::1",
            "not an address",
        ),
    ],
)
def test_addresses_inside_are_closed_in_every_disguise(address: str):
    assert is_closed(address)


@pytest.mark.parametrize(
    "address",
    ["8.8.8.8", "172.32.0.1", "192.169.0.1", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808"],
)
def test_addresses_outside_are_open(address: str):
    assert not is_closed(address)


def found(*answers: str) -> list[str]:
    async def resolve(_host: str, _port: int) -> list[str]:
        return list(answers)

    return asyncio.run(Egress((), resolve).find("packages.example.org", 443))


def test_a_name_with_one_address_inside_is_denied_whole():
    assert found("8.8.8.8", "8.8.4.4") == ["8.8.8.8", "8.8.4.4"]
    with pytest.raises(EgressDeniedError, match=r"leads to 10\.0\.0\.1"):
        found("8.8.8.8", "10.0.0.1")


def test_an_unknown_name_is_one_sentence():
    async def resolve(_host: str, _port: int) -> list[str]:
        raise OSError

    with pytest.raises(EgressDeniedError, match="cannot be resolved"):
        asyncio.run(Egress((), resolve).find("packages.example.org", 443))
