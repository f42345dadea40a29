"""Which hosts a job may reach by CONNECT, and which addresses no name may lead to.

Limits: asks the resolver it is given; connects to nothing.
"""

import asyncio
import re
import socket
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Literal

HTTPS_PORT = 443
_MOST_PORT = 65535
_LABEL = r"[a-z0-9](?:[a-z0-9_-]*[a-z0-9])?"
_RULE = re.compile(rf"(\*\.)?({_LABEL}(?:\.{_LABEL})*)\.?(?::([0-9]{{1,5}}))?(?:=([0-9a-f:.]+))?")
_TARGET = re.compile(r"(?:\[([0-9a-fA-F:.]+)\]|([^:\[\]/@?#\s]+)):([0-9]{1,5})")
_PRIVATE = tuple(
    map(ip_network, ("10.0.0.0/8", "100.64.0.0/10", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"))
)
_NOBODYS = tuple(
    map(
        ip_network,
        (
            # This host, its links, or no single host at all (RFC 6890).
            *("0.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "192.0.0.0/24", "198.18.0.0/15"),
            *("224.0.0.0/4", "240.0.0.0/4"),
            # The machine under a virtual one
            # (https://learn.microsoft.com/azure/virtual-network/what-is-ip-address-168-63-129-16).
            "168.63.129.16/32",
        ),
    )
)
_NAT64 = ip_network("64:ff9b::/96")
_HOSTS_6 = (ip_network("2000::/3"), _NAT64, ip_network("::ffff:0:0/96"))
"""All that an IPv6 address of a single host outside may be (RFC 4291, RFC 6052)."""

Place = Literal["outside", "private", "nobodys"]
Resolve = Callable[[str, int], Awaitable[list[str]]]
"""Host and port to addresses as texts; may raise `OSError`."""


class EgressDeniedError(Exception):
    """The host may not be reached; the text is one sentence for the job."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One entry of the allowlist."""

    host: str
    """Lower case, no dot at its end."""
    port: int
    has_subdomains: bool = False
    """Whether it stands for every name below `host`, and not for `host` itself."""
    address: str | None = None
    """Where it leads, whatever a resolver says; none: where the name does."""

    def covers(self, host: str, port: int) -> bool:
        """Whether this is the host and port, or one below it."""
        fits = host.endswith(f".{self.host}") if self.has_subdomains else host == self.host
        return fits and port == self.port


def parse_rule(text: str) -> Rule | None:
    """`host`, `host:port` or `*.domain`, each also with `=address`; without a port it is 443.

    An address that the entry names, as its host or behind `=`, may be a private one: it was written down by
    who wrote the list. None: it is none of these.
    """
    match = _RULE.fullmatch(text.lower())
    port = int(match[3] or HTTPS_PORT) if match else 0
    if match is None or not 0 < port <= _MOST_PORT:
        return None
    named = match[4] or match[2]
    address = named if _places(named) <= {"outside", "private"} else None
    if match[4] is not None and address is None:
        return None
    return Rule(match[2], port, match[1] is not None, address)


async def ask_system(host: str, port: int) -> list[str]:
    """Ask the system's resolver, in its own order, each address once."""
    infos = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(info[4][0]) for info in infos))


def is_closed(text: str) -> bool:
    """Whether an address is loopback, private, link-local or no single host's; so is what is none."""
    return _places(text) != {"outside"}


def _places(text: str) -> set[Place]:
    """Where an address lies, with those that it may carry; what is no address is nobody's."""
    try:
        return set(map(_place, _meant(ip_address(text.partition("%")[0]))))
    except ValueError:
        return {"nobodys"}


def _place(address: IPv4Address | IPv6Address) -> Place:
    """Where one address lies."""
    if any(address in network for network in _PRIVATE):
        return "private"
    is_host = address.version == 4 or any(address in network for network in _HOSTS_6)  # noqa: PLR2004 - IPv4
    return "outside" if is_host and not any(address in network for network in _NOBODYS) else "nobodys"


def _meant(address: IPv4Address | IPv6Address) -> Iterable[IPv4Address | IPv6Address]:
    """The address, with the IPv4 one that it may carry."""
    yield address
    if isinstance(address, IPv6Address):
        for inner in (address.ipv4_mapped, address.sixtofour, *(address.teredo or ())):
            if inner is not None:
                yield inner
        if address in _NAT64:
            yield IPv4Address(int(address) & 0xFFFFFFFF)


@dataclass(frozen=True, slots=True)
class Egress:
    """Where tunnels may lead."""

    rules: tuple[Rule, ...] = ()
    resolve: Resolve = ask_system
    is_closed: Callable[[str], bool] = is_closed

    def judge(self, target: str) -> tuple[str, int]:
        """Host and port of a CONNECT's target, as they are to be resolved.

        Raises:
            EgressDeniedError: It is no `host:port`, or no rule covers it.
        """
        match = _TARGET.fullmatch(target)
        port = int(match[3]) if match else 0
        if match is None or not 0 < port <= _MOST_PORT:
            raise EgressDeniedError("CONNECT needs a target of the form host:port.")
        host = (match[1] or match[2]).lower().removesuffix(".")
        if not any(rule.covers(host, port) for rule in self.rules):
            raise EgressDeniedError(f"{host}:{port} is not in [egress] allow of factory.toml.")
        return host, port

    async def find(self, host: str, port: int) -> list[str]:
        """The host's addresses, once none of them lies in a network that is closed to jobs.

        The connection goes to what was looked at here: a name may give another answer a moment later.
        A host whose address the list names is not asked for.

        Raises:
            EgressDeniedError: The name is unknown, or leads into a closed network.
        """
        named = [rule.address for rule in self.rules if rule.address and rule.covers(host, port)]
        if named:
            return named
        try:
            found = await self.resolve(host, port)
        except OSError:
            found = []
        if not found:
            raise EgressDeniedError(f"{host} cannot be resolved.")
        closed = [text for text in found if self.is_closed(text)]
        if closed:
            raise EgressDeniedError(f"{host} leads to {closed[0]}, an address that jobs may not reach.")
        return found


NOWHERE = Egress()
