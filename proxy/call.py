"""A request that was let in, and a call that it became.

Limits: values only; the future of a turn belongs to the desk. Like all values that every call makes these are
plain classes of final attributes: compiled, a dataclass or a named tuple takes twenty times as long to make.
"""

import asyncio
from typing import Final

from proxy.account import Standing
from proxy.ask import Ask
from proxy.rates import Price


class Admission:
    """A request that may become calls, now or when its turn comes; its `Desk.release` is owed."""

    def __init__(
        self,
        n: int,
        ask: Ask,
        price: Price,
        reserved_microusd: int,
        path: str,
        user_agent: str,
        turn: asyncio.Future[Standing] | None,
    ) -> None:
        self.n: Final = n
        """Its place in the account; calls have a count of their own."""
        self.ask: Final = ask
        self.price: Final = price
        self.reserved_microusd: Final = reserved_microusd
        """What each call that it becomes costs at most."""
        self.path: Final = path
        self.user_agent: Final = user_agent
        self.turn: Final = turn
        """Done when its turn has come; none where it need not wait."""


class Call:
    """A request on its way to one provider: its start is in the ledger, its end is owed."""

    def __init__(
        self,
        n: int,
        ask: Ask,
        price: Price,
        reserved_microusd: int,
        started_s: float,
    ) -> None:
        self.n: Final = n
        self.ask: Final = ask
        self.price: Final = price
        self.reserved_microusd: Final = reserved_microusd
        self.started_s: Final = started_s
