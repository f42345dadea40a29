"""Which hosts a job may reach by CONNECT, and which addresses no name may lead to.

Limits: asks the resolver it is given; connects to nothing.
"""

import asyncio
import re
import socket
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

HTTPS_PORT = 443
_MOST_PORT = 65535
_LABEL = r"[a-z0-9](?:[a-z0-9_-]*[a-z0-9])?"
_RULE = re.compile(rf"(\*\.)?({_LABEL}(?:\.{_LABEL})*)(?::([0-9]{{1,5}}))?")
_TARGET = re.compile(r"(?:\[([0-9a-fA-F:.]+)\]|([^:\[\]/@?#\s]+)):([0-9]{1,5})")
_CLOSED = tuple(
    map(
        ip_network,
        (
            # Names that lead into the host's own networks, or to no single host at all (RFC 6890).
            *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12"),
            *("192.168.0.0/16", "198.18.0.0/15", "224.0.0.0/4", "240.0.0.0/4"),
            *("::/128", "::1/128", "fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8"),
        ),
    )
)
_NAT64 = ip_network("64:ff9b::/96")

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

    def covers(self, host: str, port: int) -> bool:
        """Whether this is the host and port, or one below it."""
        fits = host.endswith(f".{self.host}") if self.has_subdomains else host == self.host
        return fits and port == self.port


def parse_rule(text: str) -> Rule | None:
    """`host`, `host:port` or `*.domain`; without a port it is 443. None: it is none of these."""
    match = _RULE.fullmatch(text.lower().removesuffix("."))
    if match is None:
        return None
    port = int(match[3]) if match[3] else HTTPS_PORT
    return Rule(match[2], port, match[1] is not None) if 0 < port <= _MOST_PORT else None


async def ask_system(host: str, port: int) -> list[str]:
    """Ask the system's resolver, in its own order, each address once."""
    infos = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(info[4][0]) for info in infos))


def is_closed(text: str) -> bool:
    """Whether an address is loopback, private, link-local or no single host's; so is what is none."""
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return True
    return any(
        each in network for each in _meant(address) for network in _CLOSED if network.version == each.version
    )


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

        Raises:
            EgressDeniedError: The name is unknown, or leads into a closed network.
        """
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
