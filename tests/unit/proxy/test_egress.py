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
        ("mirror.example.org.:8080", RULES[2]),
        ("localhost:1", Rule("localhost", 1)),
        ("8.8.8.8", Rule("8.8.8.8", 443, address="8.8.8.8")),
        ("10.0.0.5:8081", Rule("10.0.0.5", 8081, address="10.0.0.5")),
        ("mirror.corp=10.0.0.5", Rule("mirror.corp", 443, address="10.0.0.5")),
        ("Mirror.Corp.:8443=FD00::5", Rule("mirror.corp", 8443, address="fd00::5")),
        ("*.corp=192.168.1.9", Rule("corp", 443, has_subdomains=True, address="192.168.1.9")),
        # Listed, but never reached: no entry opens what lies on the machine itself.
        ("127.0.0.1:80", Rule("127.0.0.1", 80)),
        ("169.254.169.254:80", Rule("169.254.169.254", 80)),
        ("2130706433", Rule("2130706433", 443)),
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
                "x=",
                "=10.0.0.5",
                "x=y",
                "x=10.0.0.5:80",
                "x=010.0.0.5",
                "x=127.0.0.1",
                "x=0.0.0.0",
                "x=169.254.169.254",
                "x=::1",
                "x=::ffff:127.0.0.1",
                "x=fe80::1",
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
        *("100.100.100.200", "192.0.0.192", "168.63.129.16", "198.18.0.1", "fd00:ec2::254", "fec0::1"),
        *(
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::ffff:169.254.169.254",
            "0:0:0:0:0:ffff:7f00:1",
            "::127.0.0.1",
            "::ffff:0:127.0.0.1",
            "64:ff9b::a00:1",
            "64:ff9b::169.254.169.254",
            "64:ff9b:1::a00:1",
            "2002:7f00:1::",
            "2002:a9fe:a9fe::1",
            "2001:0:4136:e378:8000:63bf:80ff:fffe",
            "ff02::1",
            "ff05::1:3",
            "100::1",
            "4000::1",
            "not an address",
            "",
            "127.1",
            "0x7f.0.0.1",
        ),
    ],
)
def test_addresses_inside_are_closed_in_every_disguise(address: str):
    assert is_closed(address)


@pytest.mark.parametrize(
    "address",
    [
        *("8.8.8.8", "172.32.0.1", "192.169.0.1", "100.128.0.1", "168.63.129.17"),
        *("2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808", "2002:808:808::1"),
    ],
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


@pytest.mark.parametrize(
    "inside",
    [
        "127.0.0.1",
        "169.254.169.254",
        "::1",
        "fe80::1%2",
        "::ffff:10.0.0.1",
        "64:ff9b::7f00:1",
        "0.0.0.0",
        "::",
    ],
)
def test_one_address_inside_among_many_denies_wherever_it_stands(inside: str):
    for answers in ([inside], [inside, "8.8.8.8"], ["8.8.8.8", "2606:4700::1111", inside]):
        with pytest.raises(EgressDeniedError, match="an address that jobs may not reach"):
            found(*answers)


@pytest.mark.parametrize(
    "name",
    ["127.1", "2130706433", "0x7f000001", "0177.0.0.1", "017700000001", "0x7f.1", "10.1", "0", "localhost"],
)
def test_a_spelling_that_the_system_takes_for_an_address_inside_is_denied_by_what_it_means(name: str):
    egress = Egress((Rule(name, 443),))
    host, port = egress.judge(f"{name.upper()}:443")
    with pytest.raises(EgressDeniedError, match="an address that jobs may not reach"):
        asyncio.run(egress.find(host, port))


def test_an_address_that_the_list_names_is_where_its_host_leads_and_nobody_is_asked():
    async def resolve(_host: str, _port: int) -> list[str]:
        raise AssertionError

    entries = ("mirror.corp:8443=10.0.0.5", "mirror.corp:8443=fd00::5", "10.0.0.6:8081", "*.corp:8443")
    egress = Egress(tuple(rule for rule in map(parse_rule, entries) if rule), resolve)
    assert asyncio.run(egress.find(*egress.judge("MIRROR.corp.:8443"))) == ["10.0.0.5", "fd00::5"]
    assert asyncio.run(egress.find(*egress.judge("10.0.0.6:8081"))) == ["10.0.0.6"]
    for target in ("mirror.corp:443", "10.0.0.6:443", "10.0.0.5:8443", "10.0.0.7:8081", "x.mirror:8443"):
        with pytest.raises(EgressDeniedError, match="is not in"):
            egress.judge(target)


def test_a_name_whose_address_is_not_named_never_leads_to_one_that_another_entry_names():
    async def resolve(_host: str, _port: int) -> list[str]:
        return ["10.0.0.5"]

    egress = Egress((Rule("mirror.corp", 443, address="10.0.0.5"), Rule("evil.example.org", 443)), resolve)
    with pytest.raises(EgressDeniedError, match=r"leads to 10\.0\.0\.5"):
        asyncio.run(egress.find("evil.example.org", 443))


def test_an_unknown_name_is_one_sentence():
    async def resolve(_host: str, _port: int) -> list[str]:
        raise OSError

    with pytest.raises(EgressDeniedError, match="cannot be resolved"):
        asyncio.run(Egress((), resolve).find("packages.example.org", 443))
