"""A request that was let in, and a call that it became.

Limits: values only; the future of a turn belongs to the desk. Like all values that every call
makes these are named tuples: as fixed as a frozen dataclass, and made in less than half of its time.
"""

import asyncio
from typing import NamedTuple

from proxy.account import Standing
from proxy.ask import Ask
from proxy.rates import Price


class Admission(NamedTuple):
    """A request that may become calls, now or when its turn comes; its `Desk.release` is owed."""

    n: int
    """Its place in the account; calls have a count of their own."""
    ask: Ask
    price: Price
    reserved_microusd: int
    """What each call that it becomes costs at most."""
    path: str
    user_agent: str
    turn: asyncio.Future[Standing] | None
    """Done when its turn has come; none where it need not wait."""


class Call(NamedTuple):
    """A request on its way to one provider: its start is in the ledger, its end is owed."""

    n: int
    ask: Ask
    price: Price
    reserved_microusd: int
    started_s: float
