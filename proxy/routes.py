"""The providers that may answer a job's requests, in order, and which of them is asked first.

Pure: no I/O.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from http import HTTPStatus

from proxy.upstream import Upstream

OVERLOADED = 529
"""Anthropic's, beside HTTP's own (https://docs.anthropic.com/en/api/errors, read 2026-11-30)."""
ELSEWHERE = frozenset(
    (
        HTTPStatus.TOO_MANY_REQUESTS,
        HTTPStatus.INTERNAL_SERVER_ERROR,
        HTTPStatus.BAD_GATEWAY,
        HTTPStatus.SERVICE_UNAVAILABLE,
        HTTPStatus.GATEWAY_TIMEOUT,
        OVERLOADED,
    )
)
"""Answers after which another provider may do better; any other speaks of the request itself."""


@dataclass(frozen=True, slots=True)
class Route:
    """One provider: its connections, with the header that pays it."""

    upstream: Upstream
    auth: tuple[bytes, bytes] = field(repr=False)

    @property
    def host(self) -> str:
        """As rows and errors name it."""
        return self.upstream.address.host


class Routes:
    """Begins with the first; stays with the one that answered last, for its cache is warm."""

    def __init__(self, routes: Sequence[Route]) -> None:
        """At least one."""
        self._routes = tuple(routes)
        self._first = 0

    def in_turn(self) -> tuple[Route, ...]:
        """Each of them once, in the order in which a request should try them."""
        return self._routes[self._first :] + self._routes[: self._first]

    def prefer(self, route: Route) -> None:
        """It answered: the next request begins with it."""
        self._first = self._routes.index(route)

    def avoid(self, route: Route) -> None:
        """It took a request and gave no answer: the agent's next try begins with the one after it."""
        self._first = (self._routes.index(route) + 1) % len(self._routes)

    def close(self) -> None:
        """Drop every waiting connection."""
        for route in self._routes:
            route.upstream.close()
